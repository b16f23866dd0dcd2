// What compactions hid, what the user laid down, what is pinned; and the commands that change it.
import { useEffect, useRef, useState } from "preact/hooks";
import { post, query } from "./api";
import type { Place } from "./app";
import { below, linkTo, useEvents, useLoad, useOption, type Loaded } from "./hooks";
import { useKeys } from "./keys";
import { language, say } from "./phrases";
import { oneLine, short, visible, when, whole } from "./text";
import type { CompactionFacts, CompactionLoss, Compactions, Constraints, ItemFacts, Pins, ReportFacts } from "./types";
import { ActionButton, Busy, Empty, Failure, Kind, Panel, Stat, Text, type JSX } from "./ui";

const LOST = ["constraints", "paths", "identifiers", "numbers", "errors"] as const;
const SENTENCES = new Set<string>(["constraints", "errors"]); // the others are found where they are no part of a longer name

export function ChangesView({ session, branch }: Place) {
  const compactions = useLoad<Compactions>(below(session, "/compactions", branch));
  const constraints = useLoad<Constraints>(below(session, "/constraints", branch));
  const pins = useLoad<Pins>(below(session, "/pins", branch));
  const list = compactions.data?.compactions ?? [];
  const isMeasured = list.every((each) => each.loss);
  const report = useLoad<ReportFacts>(
    isMeasured ? null : below(session, `/report${query({ lang: language() })}`, branch),
  );
  const measured = report.data?.report.compactions ?? [];
  const reload = () => [compactions, constraints, pins, report].forEach((each) => each.reload());
  useEvents(session, ["compaction", "mark", "append"], reload);
  const box = useRef<HTMLDivElement>(null);
  const [at, setAt] = useOption("at"); // the boundary of the chosen one
  const newest = [...list].reverse();
  const chosen = newest.findIndex((each) => String(each.boundary) === at);
  const choose = (index: number) => setAt(newest[Math.max(0, Math.min(newest.length - 1, index))]?.boundary ?? null);
  useKeys({
    j: { says: "key next row", act: () => choose(chosen + 1) },
    k: { says: "key previous row", act: () => choose(chosen - 1) },
    Enter: {
      says: "show summary",
      act: () => box.current?.querySelector<HTMLElement>(".chosen-row > button")?.click(),
    },
  });
  useEffect(() => box.current?.querySelector<HTMLElement>(".chosen-row")?.focus(), [at, list.length]);
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
    <div class="page" ref={box}>
      <Panel title={say("compactions")} side={commands}>
        <Shown of={compactions} />
        {compactions.data && !list.length ? (
          <Empty title={say("no compactions")}>
            <p>{say("no compactions advice")}</p>
          </Empty>
        ) : null}
        {newest.map((each, index) => (
          <OneCompaction
            key={each.boundary}
            compaction={each}
            isChosen={index === chosen}
            measured={measured.length === list.length ? measured[list.length - 1 - index] : undefined}
            busy={report.busy}
            session={session}
            branch={branch}
          />
        ))}
      </Panel>
      <div class="sides even">
        <Rows of={pins} rows={pins.data?.items} title={say("pins")} none={say("no pins")}>
          {(item) => <Pin key={item.id} item={item} session={session} branch={branch} onDone={reload} />}
        </Rows>
        <Rows
          of={constraints}
          rows={constraints.data?.constraints}
          title={say("constraints")}
          none={say("no constraints")}
        >
          {(each, index) => (
            <li key={index} class={`change-row ${each.revoked ? "revoked" : ""}`}>
              <span class="wrap">
                <a class="id" href={linkTo(session, "items", each.id, { branch })}>
                  #{each.id}
                </a>{" "}
                {visible(each.text)}
              </span>
              {each.revoked ? <span class="tag">{say("revoked")}</span> : null}
            </li>
          )}
        </Rows>
      </div>
    </div>
  );
}

interface RowsProps<T> {
  of: Loaded<unknown>;
  rows: T[] | undefined;
  title: string;
  none: string; // said where there are none
  children: (row: T, index: number) => JSX.Element;
}

/** Rows below a title. Where there are none, one line says so. */
function Rows<T>({ of, rows, title, none, children }: RowsProps<T>) {
  return (
    <Panel title={title} class={rows?.length === 0 ? "line" : ""}>
      <Shown of={of} />
      {rows?.length === 0 ? <p class="muted">{none}</p> : null}
      <ul class="rows">{rows?.map(children)}</ul>
    </Panel>
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
  isChosen: boolean;
  measured: CompactionLoss | undefined; // as the report counts it: that of a compaction which another program made
  busy: boolean; // it is being counted
  session: string;
  branch: string;
}

function OneCompaction({ compaction, isChosen, measured, busy, session, branch }: OneProps) {
  const [open, setOpen] = useState(false);
  const state = compaction.state as "holds";
  const before = compaction.pre_tokens || measured?.tokens;
  return (
    <article class={`compaction ${isChosen ? "chosen-row" : ""}`} tabIndex={-1}>
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
        <Stat label={say("before")} value={before ? short(before) : "–"} note={say("tokens")} />
        {compaction.post_tokens === null ? null : (
          <Stat label={say("after")} value={short(compaction.post_tokens)} note={say("tokens")} />
        )}
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
      {!compaction.loss && !measured && busy ? (
        <Busy />
      ) : (
        <Losses compaction={compaction} measured={measured} session={session} branch={branch} />
      )}
      <button class="plain" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? say("hide summary") : say("show summary")}
      </button>
      {open ? <Text text={compaction.text} /> : null}
    </article>
  );
}

/** What a compaction hid: by the log, else as the report finds it. Each name leads to the message where it stood. */
function Losses({ compaction, measured, session, branch }: Omit<OneProps, "isChosen" | "busy">) {
  const { loss } = compaction;
  const place = (kind: (typeof LOST)[number], name: string) =>
    linkTo(session, "transcript", compaction.first, { branch, find: name, alone: SENTENCES.has(kind) ? null : 1 });
  const losses = LOST.map((kind) => ({
    kind,
    count: loss ? (loss[kind]?.count ?? 0) : (measured?.[kind] ?? 0),
    named: (loss ? loss[kind]?.named : measured?.names?.[kind]) ?? [],
  })).filter((each) => each.count);
  const nothing = loss || measured ? say("nothing lost") : say("loss unknown");
  return (
    <>
      {losses.length ? (
        <dl class="losses">
          {losses.map(({ kind, count, named }) => (
            <div key={kind}>
              <dt>
                {say(`lost ${kind}`)} <b>{whole(count)}</b>
              </dt>
              <dd>
                {named.map((name, index) => (
                  <a key={index} href={place(kind, name)}>
                    <code>{oneLine(name, 160)}</code>
                  </a>
                ))}
                {count > named.length && named.length ? (
                  <span class="muted">{say("and more", { count: whole(count - named.length) })}</span>
                ) : null}
              </dd>
            </div>
          ))}
        </dl>
      ) : (
        <p class="muted">{nothing}</p>
      )}
      {measured?.needed ? (
        <p>{say("needed later", { count: whole(measured.needed), tokens: whole(measured.needed_tokens) })}</p>
      ) : null}
    </>
  );
}
