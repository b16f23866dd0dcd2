// What compactions hid, what the user laid down, what is pinned; and the commands that change it.
import { useState } from "preact/hooks";
import { post } from "./api";
import type { Place } from "./app";
import { below, linkTo, useEvents, useLoad, type Loaded } from "./hooks";
import { say } from "./phrases";
import { oneLine, short, visible, when, whole } from "./text";
import type { CompactionFacts, Compactions, Constraints, ItemFacts, Pins } from "./types";
import { ActionButton, Busy, Empty, Failure, Kind, Panel, Stat, Text } from "./ui";

const LOST = ["constraints", "paths", "identifiers", "numbers", "errors"] as const;

export function ChangesView({ session, branch }: Place) {
  const compactions = useLoad<Compactions>(below(session, "/compactions", branch));
  const constraints = useLoad<Constraints>(below(session, "/constraints", branch));
  const pins = useLoad<Pins>(below(session, "/pins", branch));
  const reload = () => [compactions, constraints, pins].forEach((each) => each.reload());
  useEvents(session, ["compaction", "mark", "append"], reload);
  const list = compactions.data?.compactions ?? [];
  const holds = list.some((each) => each.state === "holds");
  const commands = (
    <div class="toolbar-inline">
      <ActionButton
        primary
        label={say("compact now")}
        title={say("compact about")}
        run={() => post(below(session, "/compactions", branch), {})}
        done={reload}
      />
      <ActionButton
        label={say("undo")}
        disabled={!holds}
        title={say("undo about")}
        run={() => post(below(session, "/compactions/undo", branch), {})}
        done={reload}
      />
    </div>
  );
  return (
    <div class="page">
      <Panel title={say("compactions")} side={commands}>
        <Shown of={compactions} />
        {compactions.data && !list.length ? (
          <Empty title={say("no compactions")}>
            <p>{say("no compactions advice")}</p>
          </Empty>
        ) : null}
        {[...list].reverse().map((each) => (
          <OneCompaction key={each.boundary} compaction={each} session={session} branch={branch} />
        ))}
      </Panel>
      <div class="sides even">
        <Panel title={say("pins")}>
          <Shown of={pins} />
          {pins.data && !pins.data.items.length ? <p class="muted">{say("no pins")}</p> : null}
          <ul class="rows">
            {pins.data?.items.map((item) => (
              <Pin key={item.id} item={item} session={session} branch={branch} onDone={reload} />
            ))}
          </ul>
        </Panel>
        <Panel title={say("constraints")}>
          <Shown of={constraints} />
          {constraints.data && !constraints.data.constraints.length ? (
            <p class="muted">{say("no constraints")}</p>
          ) : null}
          <ul class="rows">
            {constraints.data?.constraints.map((each, index) => (
              <li key={index} class={`change-row ${each.revoked ? "revoked" : ""}`}>
                <span class="wrap">
                  <a class="id" href={linkTo(session, "items", each.id, { branch })}>
                    #{each.id}
                  </a>{" "}
                  {visible(each.text)}
                </span>
                {each.revoked ? <span class="tag">{say("revoked")}</span> : null}
              </li>
            ))}
          </ul>
        </Panel>
      </div>
    </div>
  );
}

function Shown<T>({ of: loaded }: { of: Loaded<T> }) {
  if (loaded.error && !loaded.data) return <Failure error={loaded.error} retry={loaded.reload} />;
  return loaded.data ? null : <Busy />;
}

function Pin({
  item,
  session,
  branch,
  onDone,
}: {
  item: ItemFacts;
  session: string;
  branch: string;
  onDone: () => void;
}) {
  return (
    <li class="change-row">
      <span class="row-first">
        <Kind kind={item.kind} />
        <a class="id" href={linkTo(session, "items", item.id, { branch })}>
          #{item.id}
        </a>
        <span class="cut">{oneLine(item.text, 120)}</span>
      </span>
      <span class="number">{whole(item.tokens)}</span>
      <ActionButton
        label={say("unpin")}
        run={() => post(below(session, `/items/${encodeURIComponent(item.id)}/unpin`, branch))}
        done={onDone}
      />
    </li>
  );
}

interface OneProps {
  compaction: CompactionFacts;
  session: string;
  branch: string;
}

function OneCompaction({ compaction, session, branch }: OneProps) {
  const [open, setOpen] = useState(false);
  const losses = LOST.filter((kind) => compaction.loss?.[kind]?.count);
  const state = compaction.state as "holds";
  return (
    <article class="compaction">
      <header>
        <h3>
          {say("compaction of", { count: whole(compaction.messages) })}{" "}
          <span class={`tag ${state === "holds" ? "on" : ""}`}>{say(`state ${state}`)}</span>
        </h3>
        <span class="muted">
          {when(compaction.timestamp)} · {compaction.by_rule ? say("by rule") : say("by model")}
        </span>
      </header>
      <dl class="stats small">
        <Stat label={say("before")} value={short(compaction.pre_tokens)} note={say("tokens")} />
        <Stat
          label={say("after")}
          value={compaction.post_tokens === null ? "–" : short(compaction.post_tokens)}
          note={say("tokens")}
        />
        <Stat
          label={say("hid")}
          value={short(compaction.tokens)}
          note={say("n messages", { count: whole(compaction.messages) })}
        />
        <Stat
          label={say("from to")}
          value={
            <>
              <a href={linkTo(session, "items", compaction.first, { branch })}>#{compaction.first}</a> –{" "}
              <a href={linkTo(session, "items", compaction.last, { branch })}>#{compaction.last}</a>
            </>
          }
        />
      </dl>
      <h4>{say("not visible")}</h4>
      {losses.length ? (
        <dl class="losses">
          {losses.map((kind) => (
            <div key={kind}>
              <dt>
                {say(`lost ${kind}`)} <b>{whole(compaction.loss![kind]!.count)}</b>
              </dt>
              <dd>
                {(compaction.loss![kind]!.named ?? []).map((name, index) => (
                  <code key={index}>{oneLine(name, 160)}</code>
                ))}
              </dd>
            </div>
          ))}
        </dl>
      ) : (
        <p class="muted">{compaction.loss ? say("nothing lost") : say("loss unknown")}</p>
      )}
      <button class="plain" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? say("hide summary") : say("show summary")}
      </button>
      {open ? <Text text={compaction.text} /> : null}
    </article>
  );
}
