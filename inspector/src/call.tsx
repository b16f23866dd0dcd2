// One call: the payload as the model got it, item by item; what changed since the call before; two calls compared.
import { useEffect, useRef, useState } from "preact/hooks";
import { query } from "./api";
import type { Place } from "./app";
import { marksText } from "./context_chart";
import { DiffPanel } from "./difference";
import { CallExport } from "./export";
import { FilterFields, useAsked, useFilters, type Filters } from "./filters";
import { below, changeAddress, linkTo, readRoute, useDetail, useEvents, useLoad, useNarrow, useOption } from "./hooks";
import { ItemPane, LongText } from "./item";
import { useKeys } from "./keys";
import { LongList, usePages } from "./list";
import { KINDS, LEVELS } from "./kinds";
import { kindName, levelName, reasonText, say } from "./phrases";
import { bytes, dollars, oneLine, percent, short, when, whole } from "./text";
import type { CallDetails, CallRow, Change, ContentLine } from "./types";
import { Busy, Empty, Failure, Kind, Level, Stat, Text } from "./ui";

export function CallView({ session, branch, server, number, compare }: Place & { number: number; compare: number }) {
  return (
    <OneCall
      key={`${session} ${branch} ${number}`}
      session={session}
      branch={branch}
      asked={number}
      compare={compare}
      wires={server?.wires ?? []}
    />
  );
}

interface Props {
  session: string;
  branch: string;
  number: number;
  total: number;
  compare: number;
  wires: string[];
}

interface Asked {
  session: string;
  branch: string;
  asked: number; // 0: the last one
  compare: number;
  wires: string[]; // in which the request can be exported
}

type Answered = CallDetails & { call: CallRow };

function OneCall({ session, branch, asked, compare, wires }: Asked) {
  const shown = useRef(asked); // the last one stays the one that was shown, also when others follow it
  const [filters, change] = useFilters(["kind", "tool", "path", "level", "errors"]);
  const wanted = useAsked(filters);
  const pages = usePages<ContentLine>(
    (start, limit) => below(session, `/calls/${shown.current || "last"}${query({ start, limit, ...wanted })}`, branch),
    JSON.stringify([session, branch, asked, wanted]),
    (answer: CallDetails) => ({ rows: answer.lines, total: answer.total }),
    200,
  );
  const before = useRef<CallDetails>(undefined); // what stands beside the list stays while another filter is asked for
  const answer = (pages.first as CallDetails | undefined) ?? before.current;
  before.current = answer;
  if (answer?.call) shown.current = answer.call.number;
  useEffect(() => {
    const route = readRoute();
    if (route.view === "call" && !route.arg && shown.current) changeAddress({}, shown.current);
  });
  const waits = answer !== undefined && (!answer.call || answer.call.reply === null);
  useEvents(session, waits ? ["mark", "append", "payload"] : ["mark"], pages.reload);
  const [chosen, setChosen] = useOption("line");
  const selected = (Number(chosen) || 0) - 1;
  const detail = useDetail(selected);
  if (pages.error && !answer)
    return (
      <div class="page">
        <Failure error={pages.error} retry={pages.reload} />
      </div>
    );
  if (!answer)
    return (
      <div class="page">
        <Busy />
      </div>
    );
  if (!answer.call)
    return (
      <div class="page">
        <Empty title={say("no calls")}>
          <p>{say("no calls advice")}</p>
        </Empty>
      </div>
    );
  const page: Answered = { ...answer, call: answer.call };
  const number = page.call.number;
  const other = compare === number ? 0 : compare;
  const line = selected >= 0 ? pages.row(selected) : undefined;
  return (
    <div class="call">
      <CallHead
        filters={filters}
        page={page}
        session={session}
        branch={branch}
        number={number}
        total={page.calls}
        compare={other}
        wires={wires}
      />
      {other ? (
        <DiffPanel session={session} branch={branch} a={other} b={number} />
      ) : (
        <div class={`split ${line ? "" : "wide-list"}`}>
          <section class="side-list" aria-label={say("payload")}>
            <div class="toolbar">
              <FilterFields
                filters={filters}
                onChange={(part) => (change(part), setChosen(null))}
                kinds={KINDS}
                kindName={kindName}
                levels={LEVELS}
                levelName={levelName}
              />
            </div>
            <Lines pages={pages} page={page} selected={selected} onSelect={(index) => setChosen(index + 1)} />
          </section>
          <section class="detail" ref={detail} aria-label={say("item")}>
            {line ? (
              <LineDetail
                session={session}
                branch={branch}
                line={line}
                reason={page.call.reason}
                path={below(
                  session,
                  `/calls/${number}${query({ start: selected, limit: 1, text: "full", ...wanted })}`,
                  branch,
                )}
              />
            ) : (
              <Overview page={page} session={session} branch={branch} />
            )}
          </section>
        </div>
      )}
    </div>
  );
}

/** Whether the provider says that it had nothing of this prompt in its cache, though calls had been made before. */
function hadNoCache(call: CallRow): boolean {
  return call.number > 1 && call.cached_from === "usage" && !call.cached;
}

/** What the log's agent took out of its prompt before this call, or what else the provider did not count. */
function Missing({ call }: { call: CallRow }) {
  const marks = call.marks.filter((mark) => mark.kind === "cleared");
  return marks.length ? <p class="mark-words">{marksText({ ...call, marks })}</p> : null;
}

type HeadProps = Props & { page: Answered; filters: Filters };

function CallHead({ page, filters, session, branch, number, total, compare, wires }: HeadProps) {
  const { call } = page;
  const go = (to: number, other = compare) => linkTo(session, "call", to, { branch, with: other || null, ...filters });
  useKeys({
    h: { says: "previous call", act: () => (location.hash = go(Math.max(1, number - 1))) },
    l: { says: "next call", act: () => (location.hash = go(Math.min(total, number + 1))) },
  });
  const [other, setOther] = useState(String(compare || (number > 1 ? number - 1 : Math.min(total, 2))));
  useEffect(() => setOther((old) => (compare ? String(compare) : old)), [compare]);
  const onCompare = (event: Event) => {
    event.preventDefault();
    const wanted = Number(other);
    if (wanted >= 1 && wanted <= total && wanted !== number) location.hash = go(number, wanted);
  };
  return (
    <div class="call-head">
      <div class="toolbar">
        <span class="pager">
          <a
            class="button"
            href={go(Math.max(1, number - 1))}
            aria-disabled={number <= 1}
            aria-label={say("previous call")}
          >
            ←
          </a>
          <b>{say("call n of", { number: whole(number), total: whole(total) })}</b>
          <a
            class="button"
            href={go(Math.min(total, number + 1))}
            aria-disabled={number >= total}
            aria-label={say("next call")}
          >
            →
          </a>
        </span>
        <span class={`tag ${page.same === false ? "bad" : ""}`} title={say(`same ${page.same} about`)}>
          {say(`same ${page.same}`)}
        </span>
        <span class="muted when">
          {when(call.timestamp)}
          {call.model ? ` · ${oneLine(call.model, 40)}` : ""}
        </span>
        <span class="grow" />
        <form class="compare" onSubmit={onCompare}>
          <label class="choice">
            <span>{say("compare with")}</span>
            <input
              type="number"
              min={1}
              max={total}
              value={other}
              onInput={(event) => setOther((event.currentTarget as HTMLInputElement).value)}
            />
          </label>
          <button disabled={total < 2}>{say("compare")}</button>
          {compare ? (
            <a class="button" href={linkTo(session, "call", number, { branch })}>
              {say("stop comparing")}
            </a>
          ) : null}
        </form>
        <CallExport session={session} branch={branch} number={number} wire={page.wire} wires={wires} />
      </div>
      <CallStats call={call} page={page} />
      <Missing call={call} />
    </div>
  );
}

function CallStats({ call, page }: { call: CallRow; page: Answered }) {
  const share = (tokens: number) =>
    call.limit ? say("of limit", { share: percent(tokens / call.limit), limit: short(call.limit) }) : "";
  const counts = !call.composed && call.reported !== null; // then the log lacks a part, and the provider knows all
  return (
    <dl class="stats">
      <Stat
        label={say("column tokens")}
        value={whole(call.total)}
        note={counts ? say("in the log") : share(call.total)}
      />
      {call.reported !== null ? (
        <Stat
          label={say("provider counted")}
          value={whole(call.reported)}
          note={call.reported < call.total ? say("counted fewer") : counts ? share(call.reported) : ""}
        />
      ) : null}
      {call.cleared ? (
        <Stat
          label={say("cleared by agent")}
          value={whole(call.cleared_tokens)}
          note={say("cleared results", { count: whole(call.cleared) })}
        />
      ) : null}
      <Stat
        label={say("cached")}
        value={whole(call.cached)}
        note={call.cached_from ? say(`from ${call.cached_from as "usage"}`) : ""}
      />
      <Stat
        label={say("price of input")}
        value={call.input_cost !== null ? dollars(call.input_cost) : short(call.relative_cost)}
        note={
          call.input_cost === null ? say("fresh worth") : call.cost_from ? say(`from ${call.cost_from as "usage"}`) : ""
        }
      />
      <Stat
        label={say("request")}
        value={page.bytes === null ? whole(page.messages) : bytes(page.bytes)}
        note={page.bytes === null ? say("messages") : say("n messages", { count: whole(page.messages) })}
      />
      <Stat
        label={say("first change")}
        value={page.change ? say("byte n", { byte: whole(page.change.byte) }) : say("none")}
        note={page.change ? changeCost(page.change) : say("begins as before")}
      />
    </dl>
  );
}

function changeCost(change: Change): string {
  return change.cost !== null
    ? say("paid again", { cost: dollars(change.cost) })
    : say("paid again tokens", { count: whole(change.lost_tokens) });
}

function Lines({
  pages,
  page,
  selected,
  onSelect,
}: {
  pages: ReturnType<typeof usePages<ContentLine>>;
  page: Answered;
  selected: number;
  onSelect: (index: number) => void;
}) {
  const narrow = useNarrow();
  const biggest = Math.max(1, ...page.lines.map((line) => line.tokens));
  const isEdge = (index: number) => pages.row(index)?.cached === false && pages.row(index - 1)?.cached === true;
  if (pages.error && pages.total === undefined) return <Failure error={pages.error} retry={pages.reload} />;
  if (pages.total === 0)
    return (
      <Empty title={say("nothing found")}>
        <p>{say("filter advice")}</p>
      </Empty>
    );
  return (
    <LongList
      id="line"
      label={say("payload")}
      count={pages.total ?? 0}
      rowHeight={narrow ? 56 : 48}
      selected={selected}
      onSelect={onSelect}
      onRange={pages.want}
      row={(index) => <LineRow line={pages.row(index)} biggest={biggest} edge={isEdge(index)} />}
    />
  );
}

function LineRow({ line, biggest, edge }: { line: ContentLine | undefined; biggest: number; edge: boolean }) {
  if (!line)
    return (
      <div class="row-two waiting">
        <span class="ghost" />
      </div>
    );
  const about = line.subject || line.text || "";
  return (
    <div class={`row-two ${line.cached ? "is-cached" : ""} ${edge ? "edge" : ""}`}>
      <span class="row-first">
        <Kind kind={line.kind} />
        {line.id ? <span class="id">#{line.id}</span> : null}
        {line.tool ? <code class="cut">{oneLine(line.tool, 40)}</code> : null}
        {line.level === "full" ? null : <Level level={line.level} />}
        <span class="grow" />
        {line.cached ? <span class="cached-note">{say("cached short")}</span> : null}
        <span class="size" aria-hidden="true">
          <i class={`kind-${line.kind}`} style={{ width: `${Math.min(1, line.tokens / biggest) * 100}%` }} />
        </span>
        <span class="number">{whole(line.tokens)}</span>
      </span>
      <span class="row-second cut">
        {oneLine(about, 160)}
        {line.why ? <em> · {reasonText(line.why)}</em> : null}
      </span>
    </div>
  );
}

interface LineProps {
  session: string;
  branch: string;
  line: ContentLine;
  reason: string;
  path: string; // of the line alone, with all of its text
}

/** A line of the payload. The engine's own texts have no item behind them. */
function LineDetail({ session, branch, line, reason, path }: LineProps) {
  if (line.id) return <ItemPane session={session} branch={branch} id={line.id} line={line} reason={reason} />;
  return <OwnText key={path} line={line} path={path} />;
}

function OwnText({ line, path }: { line: ContentLine; path: string }) {
  const cut = (line.characters ?? 0) > (line.text?.length ?? 0);
  const whole_ = useLoad<CallDetails>(cut ? path : null);
  return (
    <article class="item">
      <header class="item-head">
        <h3>
          <Kind kind={line.kind} />
        </h3>
        <p class="muted">
          {say("n tokens", { count: whole(line.tokens) })} · {say("own text", { kind: kindName(line.kind) })}
        </p>
      </header>
      <LongText text={whole_.data?.lines[0]?.text ?? line.text ?? ""} />
      {cut && !whole_.data ? (
        <p class="muted">{say("beginning only", { count: whole(line.characters ?? 0) })}</p>
      ) : null}
    </article>
  );
}

/** What the call cost, and which part of it the lines are. */
function Costs({ page }: { page: Answered }) {
  const { call } = page;
  const price = (cost: number | null, relative: number) =>
    cost !== null ? dollars(cost) : say("n fresh", { count: whole(relative) });
  const parts = page.costs.filter((part) => part.tokens);
  const relative = page.costs.reduce((sum, part) => sum + part.relative_cost, 0);
  return (
    <>
      <h3>{say("price of call")}</h3>
      <dl class="facts prices">
        {parts.map((part) => (
          <div key={part.name}>
            <dt>{say(`price ${part.name}`)}</dt>
            <dd>
              {price(part.cost, part.relative_cost)}{" "}
              <span class="muted">{say("n tokens", { count: whole(part.tokens) })}</span>
            </dd>
          </div>
        ))}
        <div>
          <dt>{say("all")}</dt>
          <dd>
            <b>{price(call.cost, relative)}</b>{" "}
            {call.cost_from === "forecast" ? <span class="muted">{say("forecast")}</span> : null}
          </dd>
        </div>
      </dl>
    </>
  );
}

function Overview({ page, session, branch }: { page: Answered; session: string; branch: string }) {
  const { change } = page;
  return (
    <div class="overview">
      <p class="muted">{say("choose line")}</p>
      <Costs page={page} />
      {change ? (
        <>
          <h3>{say("prefix changed")}</h3>
          <p>
            {say("change told", {
              place:
                say("byte n", { byte: whole(change.byte) }) + (change.reason ? ` (${reasonText(change.reason)})` : ""),
              kept: whole(change.kept_tokens),
              lost: whole(change.lost_tokens),
            })}{" "}
            <b>{changeCost(change)}</b>
          </p>
          {change.item ? (
            <p>
              <a href={linkTo(session, "items", change.item, { branch })}>
                {kindName(change.kind)} #{change.item}
              </a>
            </p>
          ) : null}
          <div class="sides">
            <section aria-label={say("before")}>
              <h4>{say("before")}</h4>
              <Text text={change.before} class="removed" />
            </section>
            <section aria-label={say("after")}>
              <h4>{say("after")}</h4>
              <Text text={change.after} class="added" />
            </section>
          </div>
        </>
      ) : (
        <p>{say(hadNoCache(page.call) ? "begins as before cold" : "begins as before long")}</p>
      )}
    </div>
  );
}
