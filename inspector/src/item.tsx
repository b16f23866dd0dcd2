// One item: what the model saw of it beside its full text, and what can be done with it.
import { useEffect, useState } from "preact/hooks";
import { post } from "./api";
import { below, linkTo, useEvents, useLoad } from "./hooks";
import { levelName, reasonText, say } from "./phrases";
import { dollars, when, whole } from "./text";
import type { ContentLine, Created, ItemDetails } from "./types";
import { ActionButton, Busy, Failure, Kind, Level, Text } from "./ui";

export const MOST = 60_000; // characters that are shown at once: a page of ten million would stand still

interface Props {
  session: string;
  branch: string;
  id: string;
  line?: ContentLine; // how the item stands in a call
  reason?: string; // why the prompt of that call changed
}

export function ItemPane({ session, branch, id, line, reason = "" }: Props) {
  const path = below(session, `/items/${encodeURIComponent(id)}`, branch);
  const item = useLoad<ItemDetails>(path);
  useEvents(session, ["mark", "compaction"], item.reload);
  if (item.error && !item.data) return <Failure error={item.error} retry={item.reload} />;
  if (!item.data) return <Busy />;
  const facts = item.data.item;
  const act = (what: string, body = {}) =>
    post(below(session, `/items/${encodeURIComponent(id)}/${what}`, branch), body);
  return (
    <article class="item" aria-label={say("item n", { id })}>
      <header class="item-head">
        <h3>
          <Kind kind={line?.kind ?? facts.kind} /> <span class="id">#{facts.id}</span>
          {facts.pinned ? <span class="tag on">{say("pinned")}</span> : null}
        </h3>
        <p class="muted">
          {line?.tool ? <code>{line.tool}</code> : null} {line?.subject ? <code>{line.subject}</code> : null}{" "}
          {when(facts.timestamp)}
        </p>
        <p class="actions">
          {facts.pinned ? (
            <ActionButton label={say("unpin")} run={() => act("unpin")} done={item.reload} />
          ) : (
            <ActionButton label={say("pin")} run={() => act("pin")} done={item.reload} title={say("pin about")} />
          )}
          <ActionButton
            label={say("collapse")}
            run={() => act("collapse")}
            done={item.reload}
            title={say("collapse about")}
            told={say("from next call")}
          />
          <ActionButton
            label={say("expand")}
            run={() => act("expand", { now: true })}
            done={item.reload}
            title={say("expand about")}
            told={say("from next call")}
          />
          {item.data.compacted_by !== null ? (
            <ActionButton
              label={say("undo item")}
              run={() => post(below(session, "/compactions/undo", branch), { item: id })}
              done={item.reload}
              title={say("undo item about")}
              told={say("from next call")}
            />
          ) : null}
          <ForkButton session={session} branch={branch} id={id} />
        </p>
      </header>
      {line ? <LineFacts line={line} reason={reason} pinned={facts.pinned} /> : null}
      {item.data.compacted_by !== null ? <p class="note">{say("compacted by")}</p> : null}
      <Sides details={item.data} line={line} />
    </article>
  );
}

/** Why an item is at its level. The log notes it for a whole call, so an item without a reason of its own has that one. */
function why(line: ContentLine, reason: string, pinned: boolean): string {
  if (line.why) return reasonText(line.why);
  if (line.level === "full") return pinned ? say("pinned") : say("why full");
  return reason ? reasonText(reason) : say("why earlier");
}

function LineFacts({ line, reason, pinned }: { line: ContentLine; reason: string; pinned: boolean }) {
  return (
    <dl class="facts">
      <div>
        <dt>{say("level")}</dt>
        <dd>
          <Level level={line.level} />
        </dd>
      </div>
      <div>
        <dt>{say("tokens")}</dt>
        <dd>
          {whole(line.tokens)}
          {line.tokens !== line.full_tokens ? ` ${say("of full", { count: whole(line.full_tokens) })}` : ""}
        </dd>
      </div>
      <div>
        <dt>{say("price")}</dt>
        <dd>{line.cost !== null ? dollars(line.cost) : say("n fresh", { count: whole(line.relative_cost) })}</dd>
      </div>
      <div>
        <dt>{say("cached")}</dt>
        <dd>{line.cached ? say("yes") : say("no")}</dd>
      </div>
      <div>
        <dt>{say("why")}</dt>
        <dd>{why(line, reason, pinned)}</dd>
      </div>
    </dl>
  );
}

function Sides({ details, line }: { details: ItemDetails; line?: ContentLine }) {
  const levels = (["gist", "summary"] as const).filter((level) => details.levels[level] !== undefined);
  const shown = line?.level === "gist" || line?.level === "summary" ? line.level : undefined;
  const [level, setLevel] = useState<"gist" | "summary">(shown ?? levels[0] ?? "gist");
  useEffect(() => setLevel(shown ?? levels[0] ?? "gist"), [details.item.id, shown]);
  const full = details.levels.full ?? details.item.text;
  const short = details.levels[level] ?? (shown ? line?.text : undefined);
  return (
    <div class={`sides ${short === undefined ? "one" : ""}`}>
      {short === undefined ? null : (
        <section aria-label={levelName(level)}>
          <h4>
            {levels.length > 1
              ? levels.map((each) => (
                  <button key={each} class="toggle" aria-pressed={each === level} onClick={() => setLevel(each)}>
                    {levelName(each)}
                  </button>
                ))
              : levelName(level)}
            {shown === level ? <span class="tag on">{say("model saw this")}</span> : null}
          </h4>
          <LongText key={`${details.item.id} ${level}`} text={short} />
        </section>
      )}
      <section aria-label={levelName("full")}>
        <h4>
          {levelName("full")}
          <span class="muted">{say("n tokens", { count: whole(details.item.tokens) })}</span>
          {line && !shown ? <span class="tag on">{say("model saw this")}</span> : null}
        </h4>
        <LongText key={details.item.id} text={full} />
      </section>
    </div>
  );
}

/** A text of any length; what is beyond the first part is shown when it is asked for. */
export function LongText({ text }: { text: string }) {
  const [most, setMost] = useState(MOST);
  if (!text) return <p class="muted">{say("no text")}</p>;
  return (
    <>
      <Text text={beginning(text, most)} />
      {text.length > most ? (
        <button onClick={() => setMost(most * 4)}>{say("show more", { count: whole(text.length - most) })}</button>
      ) : null}
    </>
  );
}

/** The first so many characters of a text, without half of the last one. */
export function beginning(text: string, most: number): string {
  const last = text.charCodeAt(most - 1);
  return text.slice(0, text.length > most && last >= 0xd800 && last < 0xdc00 ? most - 1 : most);
}

function ForkButton({ session, branch, id }: { session: string; branch: string; id: string }) {
  const fork = async () => {
    const made = await post<Created>(below(session, "/fork", branch), { at: id });
    location.hash = linkTo(made.id, "context", "", { branch: made.branch });
  };
  return <ActionButton label={say("fork")} run={fork} title={say("fork about")} />;
}
