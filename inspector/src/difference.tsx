// Two calls side by side: what came, what went, and what is at another level of detail.
import { below, linkTo, useLoad } from "./hooks";
import { reasonText, say } from "./phrases";
import { oneLine, whole } from "./text";
import type { CallDifference, ChangedLine, ContentLine } from "./types";
import { Busy, Failure, Kind, Level, Panel, Stat, Text } from "./ui";

const MOST = 200; // rows of one list: the counts above are whole

export function DiffPanel({ session, branch, a, b }: { session: string; branch: string; a: number; b: number }) {
  const diff = useLoad<CallDifference>(below(session, `/calls/${a}/diff/${b}`, branch));
  if (diff.error && !diff.data) return <Failure error={diff.error} retry={diff.reload} />;
  if (!diff.data) return <Busy />;
  const { data } = diff;
  const item = (id: string) => linkTo(session, "items", id, { branch });
  return (
    <div class="page diff">
      <dl class="stats small">
        <Stat label={say("call n", { number: a })} value={whole(data.a.total)} note={say("tokens")} />
        <Stat label={say("call n", { number: b })} value={whole(data.b.total)} note={say("tokens")} />
        <Stat label={say("added")} value={whole(data.added_total)} />
        <Stat label={say("removed")} value={whole(data.removed_total)} />
        <Stat label={say("other level")} value={whole(data.changed_total)} />
        <Stat label={say("unchanged")} value={whole(data.same)} />
      </dl>
      {data.first ? (
        <Panel
          title={say("first change at", { byte: whole(data.first.byte) })}
          side={<span class="muted">{reasonText(data.first.reason)}</span>}
        >
          <div class="sides">
            <section aria-label={say("call n", { number: a })}>
              <h4>{say("call n", { number: a })}</h4>
              <Text text={data.first.before} class="removed" />
            </section>
            <section aria-label={say("call n", { number: b })}>
              <h4>{say("call n", { number: b })}</h4>
              <Text text={data.first.after} class="added" />
            </section>
          </div>
        </Panel>
      ) : null}
      <Panel title={`${say("other level")} (${whole(data.changed_total)})`}>
        {data.changed.length ? (
          <ul class="rows">
            {data.changed.slice(0, MOST).map((each) => (
              <Changed key={each.id || each.kind} row={each} link={item(each.id)} />
            ))}
          </ul>
        ) : (
          <p class="muted">{say("none")}</p>
        )}
      </Panel>
      <div class="sides even">
        <LineList title={`+ ${say("added")} (${whole(data.added_total)})`} lines={data.added} link={item} />
        <LineList title={`− ${say("removed")} (${whole(data.removed_total)})`} lines={data.removed} link={item} />
      </div>
    </div>
  );
}

function Changed({ row, link }: { row: ChangedLine; link: string }) {
  return (
    <li class="change-row">
      <span class="row-first">
        <Kind kind={row.kind} />
        {row.id ? (
          <a class="id" href={link}>
            #{row.id}
          </a>
        ) : null}
        <code class="cut">{oneLine([row.tool, row.subject].filter(Boolean).join(" "), 120)}</code>
      </span>
      <span class="change-levels">
        <Level level={row.level_a} /> {whole(row.tokens_a)} → <Level level={row.level_b} /> {whole(row.tokens_b)}
      </span>
    </li>
  );
}

function LineList({ title, lines, link }: { title: string; lines: ContentLine[]; link: (id: string) => string }) {
  return (
    <Panel title={title}>
      {lines.length ? (
        <ul class="rows">
          {lines.slice(0, MOST).map((line, index) => (
            <li key={index} class="change-row">
              <span class="row-first">
                <Kind kind={line.kind} />
                {line.id ? (
                  <a class="id" href={link(line.id)}>
                    #{line.id}
                  </a>
                ) : null}
                <span class="cut">{oneLine(line.subject || line.text || "", 120)}</span>
              </span>
              <span class="number">{whole(line.tokens)}</span>
            </li>
          ))}
        </ul>
      ) : (
        <p class="muted">{say("none")}</p>
      )}
    </Panel>
  );
}
