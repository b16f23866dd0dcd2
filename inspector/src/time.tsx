// Where the time of a run went: a row for each model call, tool call and wait for the user, as bars on an axis of time.
import { useEffect, useRef, useState } from "preact/hooks";
import { query } from "./api";
import type { Place } from "./app";
import { FilterFields, isFiltered, useAsked, useFilters } from "./filters";
import { below, linkTo, useChange, useEvents, useNarrow, useOption } from "./hooks";
import { LongList, usePages, type Pages } from "./list";
import { say, type Key } from "./phrases";
import { duration, oneLine, pathEnd, percent, when, whole } from "./text";
import { axisOf, type Axis } from "./time_axis";
import type { TimePage, TimeStep, TimeSums } from "./types";
import { Busy, Choice, Empty, Failure, LegendLine, Stat } from "./ui";

const SORTS = ["order", "longest"] as const;
const LOOK = { model: "kind-assistant", tool: "kind-call", user: "kind-user" } as const;
const stepName = (kind: string) => say(`step ${kind}` as Key);

export function TimeView({ session, branch, details }: Place) {
  const [filters, change] = useFilters(["kind", "tool", "path", "errors", "sort"]);
  const asked = useAsked(filters);
  const [row, setRow] = useOption("row");
  useChange(JSON.stringify(asked), () => setRow(null));
  const known = useRef(0); // items of the session, once they are known
  const pages = usePages<TimeStep>(
    (start, limit) => below(session, `/time${query({ start, limit, ...asked })}`, branch),
    JSON.stringify([session, branch, asked]),
    (answer: TimePage) => ({ rows: answer.steps, total: answer.total }),
  );
  useEvents(session, ["append", "payload", "import"], pages.reload);
  const items = details?.facts.items ?? 0;
  useChange(items, () => known.current && pages.reload()); // a session that another program writes sends no events
  useEffect(() => void (known.current = items), [items]);
  const page = pages.first as TimePage | undefined;
  const longest = filters.sort === "longest";
  return (
    <div class="run">
      <div class="toolbar">
        <Choice
          label={say("sort time")}
          value={longest ? "longest" : "order"}
          values={SORTS}
          onChange={(sort) => change({ sort: sort === "longest" ? sort : "" })}
          name={(sort) => say(`sort ${sort}`)}
        />
        <FilterFields filters={filters} onChange={change} kinds={["model", "tool"]} kindName={stepName} />
      </div>
      {page ? <Sums sums={page.sums} /> : null}
      {pages.error && !page ? <Failure error={pages.error} retry={pages.reload} /> : null}
      {!page && !pages.error ? <Busy /> : null}
      {page && !page.total ? (
        <Empty title={say(isFiltered(asked) ? "nothing found" : "no calls")}>
          <p>{say(isFiltered(asked) ? "filter advice" : "no calls advice")}</p>
        </Empty>
      ) : null}
      {page?.total ? (
        <Steps
          pages={pages}
          page={page}
          session={session}
          branch={branch}
          selected={(Number(row) || 0) - 1}
          onSelect={(index) => setRow(index + 1)}
        />
      ) : null}
    </div>
  );
}

function Sums({ sums }: { sums: TimeSums }) {
  const work = sums.model + sums.tools;
  if (!sums.timed) return sums.calls ? <p class="note">{say("no times")}</p> : null;
  const stat = (name: "model" | "tools" | "user" | "rest" | "length") => (
    <Stat
      label={say(`time ${name}`)}
      title={say(`time ${name} about`)}
      value={duration(sums[name])}
      note={
        (name !== "model" && name !== "tools") || !work
          ? ""
          : say("share of work", { share: percent(sums[name] / work) })
      }
    />
  );
  return (
    <>
      <dl class="stats">
        {stat("model")}
        {stat("tools")}
        {stat("user")}
        {sums.rest >= 0.5 ? stat("rest") : null}
        {stat("length")}
      </dl>
      {sums.timed < sums.calls ? (
        <p class="muted">{say("some times", { count: whole(sums.calls - sums.timed), total: whole(sums.calls) })}</p>
      ) : null}
    </>
  );
}

interface StepsProps {
  pages: Pages<TimeStep>;
  page: TimePage;
  session: string;
  branch: string;
  selected: number;
  onSelect: (index: number) => void;
}

function Steps({ pages, page, session, branch, selected, onSelect }: StepsProps) {
  const { longest } = page;
  const hasTimes = page.sums.timed > 0;
  const [hovered, setHovered] = useState<number>();
  const [[first, last], setSeen] = useState<[number, number]>([0, 0]);
  const narrow = useNarrow();
  const seen = Array.from({ length: last - first + 1 }, (_, at) => pages.row(first + at)).filter((step) => !!step);
  const axis = axisOf(seen, longest);
  const open = (index: number) => {
    const step = pages.row(index);
    if (step) location.hash = linkTo(session, "transcript", step.id, { branch });
  };
  const chosen = pages.row(hovered ?? selected);
  return (
    <>
      {hasTimes ? <AxisLine axis={axis} /> : null}
      <LongList
        id="step"
        label={say("view time")}
        count={pages.total ?? 0}
        rowHeight={narrow ? 48 : 30}
        selected={selected}
        onSelect={onSelect}
        onOpen={open}
        opensAtClick
        onRange={pages.want}
        onSeen={(from, to) => setSeen([from, to])}
        row={(index) => (
          <div class="step" onPointerEnter={() => setHovered(index)} onPointerLeave={() => setHovered(undefined)}>
            <Step step={pages.row(index)} axis={axis} place={index} />
          </div>
        )}
      />
      <p class="chosen" aria-live="polite">
        {chosen ? <Told step={chosen} /> : null}
      </p>
      <ul class="legend" aria-label={say("legend")}>
        <LegendLine look="kind-assistant">{say("step model")}</LegendLine>
        <LegendLine look="kind-call">{say("step tool")}</LegendLine>
        {hasTimes ? <li>{say(longest === null ? "axis about" : "axis longest about")}</li> : null}
      </ul>
    </>
  );
}

function AxisLine({ axis }: { axis: Axis }) {
  return (
    <div class="step axis" aria-hidden="true">
      <span class="muted cut">{axis.began === null ? "" : when(new Date(axis.began * 1000).toISOString())}</span>
      <span class="track">
        {axis.ticks.map((tick) => (
          <small key={tick} style={{ left: `${(tick / axis.length) * 100}%` }}>
            {tick < 60 ? say("n seconds", { seconds: Number(tick.toFixed(2)) }) : duration(tick)}
          </small>
        ))}
      </span>
      <span />
    </div>
  );
}

function Step({ step, axis, place }: { step: TimeStep | undefined; axis: Axis; place: number }) {
  if (!step) return <span class="ghost" aria-label={say("row n", { number: whole(place + 1) })} />;
  const began = step.began === null ? 0 : axis.place(step.began);
  return (
    <>
      <span class="step-name cut">
        <i class={`swatch ${LOOK[step.kind]}`} aria-hidden="true" />
        <b>{step.kind === "user" ? say("step user") : oneLine(step.name, 60) || stepName(step.kind)}</b>
        {step.error ? <span class="tag bad">{say("failed")}</span> : null}
        {step.open ? <span class="tag">{say("no result")}</span> : null}
        <span class="muted">{pathEnd(oneLine(step.about, 200))}</span>
      </span>
      <span class={`track ${step.kind === "user" ? "gap" : ""}`}>
        {step.kind === "user" ? (
          <small>{lengthText(step)}</small>
        ) : step.seconds === null ? null : (
          <i
            class={`bar ${LOOK[step.kind]} ${step.error ? "went-wrong" : ""}`}
            style={{ left: `${(began / axis.length) * 100}%`, width: `${(step.seconds / axis.length) * 100}%` }}
          />
        )}
      </span>
      <span class="number">{step.seconds === null ? "–" : duration(step.seconds)}</span>
    </>
  );
}

function lengthText({ kind, seconds }: TimeStep): string {
  if (kind === "user") return seconds === null ? "" : say("waited for user", { time: duration(seconds) });
  return seconds === null ? say("no time known") : duration(seconds);
}

/** A step in words: what the pointer or the arrow keys are at. */
function Told({ step }: { step: TimeStep }) {
  return (
    <>
      <b>{stepName(step.kind)}</b>
      {step.name ? <code>{oneLine(step.name, 60)}</code> : null}
      <span>{lengthText(step)}</span>
      {step.error ? <span class="bad">{say("failed")}</span> : null}
      <span class="muted">{step.began === null ? "" : when(new Date(step.began * 1000).toISOString())}</span>
      <span class="cut">{oneLine(step.about, 200)}</span>
    </>
  );
}
