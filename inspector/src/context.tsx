// The context window over time: one bar for each call of the model.
import type { EChartsType } from "./echarts";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Place } from "./app";
import { AdvicePanel } from "./advice";
import { Chart } from "./chart";
import { contextChart, GLYPHS, highestLimit, levelsText, marksText, missing, uncached } from "./context_chart";
import { query } from "./api";
import { below, linkTo, useChange, useEvents, useLoad, useOption } from "./hooks";
import { useKeys } from "./keys";
import { callCount, isShortened, KINDS, LEVELS, useTotal } from "./kinds";
import { kindName, say } from "./phrases";
import { dollars, oneLine, percent, short, when, whole } from "./text";
import type { CallRow, SessionFacts, TimelinePage } from "./types";
import { AsTable, Busy, Empty, Failure, Kind, LegendLine, Panel, Stat } from "./ui";

interface ZoomOption {
  startValue?: number;
  endValue?: number;
}

const MOST_BARS = 400; // of one picture; of more calls, each second, third, … one is shown

export function ContextView({ session, branch, details }: Place) {
  const facts = details!.facts;
  useEffect(() => void import("./echarts"), []); // comes while the calls are read
  const total = useTotal(session, branch, facts, "timeline");
  const every = Math.max(1, Math.ceil((total ?? 0) / MOST_BARS));
  const path =
    total === undefined ? null : below(session, `/timeline${query({ start: 0, limit: 1000, every })}`, branch);
  const timeline = useLoad<TimelinePage>(path);
  useEvents(session, ["append", "payload", "compaction", "mark"], timeline.reload);
  const counted = `${facts.calls} ${facts.composed} ${facts.items}`; // a session that another program writes sends no events
  useChange(counted, timeline.reload);
  const calls = timeline.data?.calls ?? [];
  return (
    <div class="page">
      <Facts facts={facts} calls={calls} />
      {timeline.error && !timeline.data ? <Failure error={timeline.error} retry={timeline.reload} /> : null}
      {!timeline.data && !timeline.error ? <Busy /> : null}
      {timeline.data && !calls.length ? (
        <Empty title={say("no calls")}>
          <p>{say("no calls advice")}</p>
          <p>
            <a href={linkTo(session, "items", "", { branch })}>{say("view items")}</a> ·{" "}
            <a href={linkTo(session, "try", "", { branch })}>{say("next call")}</a>
          </p>
        </Empty>
      ) : null}
      {calls.length ? (
        <Window session={session} branch={branch} calls={calls} total={timeline.data!.total} every={every} />
      ) : null}
      {calls.length ? <AdvicePanel session={session} branch={branch} calls={total ?? 0} items={facts.items} /> : null}
    </div>
  );
}

function Facts({ facts, calls }: { facts: SessionFacts; calls: CallRow[] }) {
  const usage = facts.usage;
  const cached = usage && usage.input_tokens ? (usage.cached_tokens ?? 0) / usage.input_tokens : null;
  const last = calls[calls.length - 1];
  return (
    <dl class="stats">
      <Stat label={say("column turns")} value={whole(facts.turns)} />
      <Stat
        label={say("column calls")}
        value={whole(callCount(facts))}
        note={facts.composed && facts.composed < facts.calls ? say("n composed", { count: whole(facts.composed) }) : ""}
      />
      <Stat
        label={say("all tokens")}
        value={short(facts.tokens)}
        note={say("n items", { count: whole(facts.items) })}
      />
      {last ? (
        <Stat
          label={say("in window now")}
          value={short(last.reported ?? last.total)}
          note={
            last.limit
              ? say("of limit", {
                  share: percent((last.reported ?? last.total) / last.limit),
                  limit: short(last.limit),
                })
              : ""
          }
        />
      ) : null}
      <Stat
        label={say("column cost")}
        value={dollars(facts.cost)}
        note={facts.cost === null ? say("no price") : oneLine(facts.model, 40)}
      />
      {cached === null ? null : <Stat label={say("from cache")} value={percent(cached)} note={say("of input")} />}
      <Stat label={say("column compactions")} value={whole(facts.compactions)} />
      <Stat
        label={say("column rereads")}
        value={whole(facts.rereads)}
        note={facts.faults ? say("n faults", { count: whole(facts.faults) }) : ""}
      />
    </dl>
  );
}

function Window({
  session,
  branch,
  calls,
  total,
  every,
}: {
  session: string;
  branch: string;
  calls: CallRow[];
  total: number;
  every: number;
}) {
  const [chosen, setChosen] = useOption("call");
  const [pointed, setPointed] = useState<number>(); // the pointer is there
  const [from, setFrom] = useOption("from");
  const [to, setTo] = useOption("to");
  const kept = chosen ? calls.findLastIndex((each) => each.number <= Number(chosen)) : -1;
  const at = Math.min(pointed ?? (kept < 0 ? calls.length : kept), calls.length - 1); // at first the last one, also when more calls come
  const open = useCallback(
    (index: number) => {
      const call = latest.current[index];
      if (call) location.hash = linkTo(session, "call", call.number, { branch });
    },
    [session, branch],
  );
  const latest = useRef(calls);
  latest.current = calls;
  const onReady = useCallback(
    (chart: EChartsType) => {
      const column = (event: { offsetX: number; offsetY: number }) => {
        const point = [event.offsetX, event.offsetY];
        if (!chart.containPixel({ gridIndex: 0 }, point)) return -1;
        return (chart.convertFromPixel({ gridIndex: 0 }, point) as number[])[0] ?? -1;
      };
      chart.getZr().on("click", (event) => open(column(event)));
      chart.getZr().on("mousemove", (event) => {
        const index = column(event);
        chart.getZr().setCursorStyle(index >= 0 ? "pointer" : "default");
        if (index >= 0) setPointed(index);
      });
      chart.on("datazoom", () => {
        const { startValue = 0, endValue = 0 } = (chart.getOption().dataZoom as ZoomOption[])[0] ?? {};
        const last = latest.current.length - 1;
        setFrom(startValue > 0 ? latest.current[startValue]!.number : null);
        setTo(endValue < last ? latest.current[endValue]!.number : null);
      });
    },
    [open],
  );
  const choose = (index: number) => {
    setPointed(undefined);
    setChosen(calls[Math.max(0, Math.min(calls.length - 1, index))]!.number);
  };
  useKeys({
    j: { says: "next call", act: () => choose(at + 1) },
    k: { says: "previous call", act: () => choose(at - 1) },
    Enter: { says: "key open row", act: () => open(at) },
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: calls.length - 1 };
    if (!(event.key in steps)) return;
    choose(steps[event.key]!);
    event.preventDefault();
  };
  const present = useMemo(
    () => KINDS.filter((kind) => calls.some((call) => LEVELS.some((level) => call.tokens[kind]?.[level]))),
    [calls],
  );
  const unlogged = calls.some((each) => missing(each) > 0);
  const call = calls[at];
  return (
    <Panel
      title={say("window over time")}
      side={
        every > 1 ? (
          <span class="muted">{say("each nth call", { every: whole(every), total: whole(total) })}</span>
        ) : null
      }
      class="grow-panel"
    >
      <div class="chart-keys" role="group" tabIndex={0} aria-label={say("chart keys")} onKeyDown={onKeyDown}>
        <Chart
          class="timeline"
          label={say("chart label", { count: whole(calls.length) })}
          option={() => contextChart(calls, present, [Number(from), Number(to) || Infinity])}
          deps={[calls, present]}
          onReady={onReady}
        />
      </div>
      {call ? <Chosen call={call} session={session} branch={branch} /> : null}
      <Legend kinds={present} calls={calls} />
      <AsTable
        caption={say("window over time")}
        head={[
          say("call"),
          say("column all tokens"),
          say("limit"),
          say("cached"),
          say("column cost"),
          say("marks"),
          ...present.map(kindName),
          ...(unlogged ? [say("not in log")] : []),
        ]}
        rows={calls.map((each) => [
          <a href={linkTo(session, "call", each.number, { branch })}>{each.number}</a>,
          whole(each.total + missing(each)),
          whole(each.limit),
          whole(each.cached),
          dollars(each.cost),
          marksText(each),
          ...present.map((kind) => levelsText(each, kind)),
          ...(unlogged ? [missing(each) ? whole(missing(each)) : "–"] : []),
        ])}
      />
    </Panel>
  );
}

/** One call in words: what the pointer or the arrow keys are at. */
function Chosen({ call, session, branch }: { call: CallRow; session: string; branch: string }) {
  const tokens = call.total + missing(call);
  return (
    <p class="chosen" aria-live="polite">
      <a class="button" href={linkTo(session, "call", call.number, { branch })}>
        {say("open call", { number: call.number })}
      </a>
      <span>
        <b>{whole(tokens)}</b> {say("tokens")}
        {call.limit ? ` · ${say("of limit", { share: percent(tokens / call.limit), limit: whole(call.limit) })}` : ""}
      </span>
      {call.cached ? (
        <span>
          {say("n cached", { count: whole(call.cached) })}
          {call.cached_from === "forecast" ? ` (${say("forecast")})` : ""}
        </span>
      ) : null}
      {call.cost !== null ? <span>{dollars(call.cost)}</span> : null}
      {call.marks.length ? <span class="mark-words">{marksText(call)}</span> : null}
      <span class="muted">{when(call.timestamp)}</span>
    </p>
  );
}

function Legend({ kinds, calls }: { kinds: string[]; calls: CallRow[] }) {
  const marks = new Set(calls.flatMap((call) => call.marks.map((mark) => mark.kind)));
  const unlogged = calls.some((call) => missing(call) > 0);
  return (
    <ul class="legend" aria-label={say("legend")}>
      {kinds.map((kind) => (
        <li key={kind}>
          <Kind kind={kind} />
        </li>
      ))}
      {unlogged ? <LegendLine look="kind-unlogged">{say("not in log")}</LegendLine> : null}
      {calls.some((call) => isShortened(call.tokens)) ? <LegendLine look="faded">{say("paler")}</LegendLine> : null}
      {calls.some(uncached) ? <LegendLine look="hatched">{say("not cached")}</LegendLine> : null}
      {highestLimit(calls) ? <LegendLine look="budget">{say("limit")}</LegendLine> : null}
      {[...marks].map((kind) => (
        <li key={kind}>
          <span class="kind">
            <i class={`glyph mark-${kind}`} aria-hidden="true">
              {GLYPHS[kind]}
            </i>
            {say(`legend ${kind}`)}
          </span>
        </li>
      ))}
    </ul>
  );
}
