// The context window over time: one bar for each call of the model.
import type { EChartsCoreOption, EChartsType } from "./echarts";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Place } from "./app";
import { AdvicePanel } from "./advice";
import { Chart, tooltip } from "./chart";
import { query } from "./api";
import { below, linkTo, useEvents, useLoad } from "./hooks";
import { callCount, FADED, KINDS, LEVELS, useTotal } from "./kinds";
import { kindName, levelName, reasonText, say } from "./phrases";
import { dollars, oneLine, percent, short, when, whole } from "./text";
import { colour } from "./theme";
import type { CallRow, SessionRow, Timeline } from "./types";
import { AsTable, Busy, Empty, Failure, Kind, Panel, Stat } from "./ui";

const MOST_BARS = 400; // of one picture; of more calls, each second, third, … one is shown
const LIVE = 3000; // milliseconds between two looks at a session that another program writes

export function ContextView({ session, branch, details }: Place) {
  const facts = details!.facts;
  const total = useTotal(session, branch, facts, "timeline");
  const every = Math.max(1, Math.ceil((total ?? 0) / MOST_BARS));
  const path = total === undefined ? null : below(session, `/timeline${query({ start: 0, limit: 1000, every })}`, branch);
  const timeline = useLoad<Timeline>(path);
  useEvents(session, ["append", "payload", "compaction", "mark"], timeline.reload);
  useEffect(() => {
    if (!facts.live) return undefined;
    const timer = setInterval(timeline.reload, LIVE);
    return () => clearInterval(timer);
  }, [facts.live, timeline.reload]);
  const calls = timeline.data?.calls ?? [];
  return (
    <div class="page">
      <Facts facts={facts} calls={calls} />
      {timeline.error && !timeline.data ? <Failure error={timeline.error} retry={timeline.reload} /> : null}
      {!timeline.data && !timeline.error ? <Busy /> : null}
      {timeline.data && !calls.length ? (
        <Empty title={say("no calls")}>
          <p>{say("no calls advice")}</p>
          <p><a href={linkTo(session, "items", "", { branch })}>{say("view items")}</a> · <a href={linkTo(session, "try", "", { branch })}>{say("next call")}</a></p>
        </Empty>
      ) : null}
      {calls.length ? <Window session={session} branch={branch} calls={calls} total={timeline.data!.total} every={every} /> : null}
      {calls.length ? <AdvicePanel session={session} branch={branch} /> : null}
    </div>
  );
}

function Facts({ facts, calls }: { facts: SessionRow; calls: CallRow[] }) {
  const usage = facts.usage;
  const cached = usage && usage.input_tokens ? (usage.cached_tokens ?? 0) / usage.input_tokens : null;
  const last = calls[calls.length - 1];
  return (
    <dl class="stats">
      <Stat label={say("column turns")} value={whole(facts.turns)} />
      <Stat label={say("column calls")} value={whole(callCount(facts))} note={facts.composed && facts.composed < facts.calls ? say("n composed", { count: whole(facts.composed) }) : ""} />
      <Stat label={say("all tokens")} value={short(facts.tokens)} note={say("n items", { count: whole(facts.items) })} />
      {last ? <Stat label={say("in window now")} value={short(last.reported ?? last.total)} note={last.limit ? say("of limit", { share: percent((last.reported ?? last.total) / last.limit), limit: short(last.limit) }) : ""} /> : null}
      <Stat label={say("column cost")} value={dollars(facts.cost)} note={facts.cost === null ? say("no price") : oneLine(facts.model, 40)} />
      {cached === null ? null : <Stat label={say("from cache")} value={percent(cached)} note={say("of input")} />}
      <Stat label={say("column compactions")} value={whole(facts.compactions)} />
      <Stat label={say("column rereads")} value={whole(facts.rereads)} note={facts.faults ? say("n faults", { count: whole(facts.faults) }) : ""} />
    </dl>
  );
}

function Window({ session, branch, calls, total, every }: { session: string; branch: string; calls: CallRow[]; total: number; every: number }) {
  const [chosen, setChosen] = useState(calls.length - 1);
  const at = Math.min(chosen, calls.length - 1);
  const open = useCallback((index: number) => {
    const call = latest.current[index];
    if (call) location.hash = linkTo(session, "call", call.number, { branch });
  }, [session, branch]);
  const latest = useRef(calls);
  latest.current = calls;
  const onReady = useCallback((chart: EChartsType) => {
    const column = (event: { offsetX: number; offsetY: number }) => {
      const point = [event.offsetX, event.offsetY];
      if (!chart.containPixel({ gridIndex: 0 }, point)) return -1;
      return (chart.convertFromPixel({ gridIndex: 0 }, point) as number[])[0] ?? -1;
    };
    chart.getZr().on("click", (event) => open(column(event)));
    chart.getZr().on("mousemove", (event) => {
      const index = column(event);
      chart.getZr().setCursorStyle(index >= 0 ? "pointer" : "default");
      if (index >= 0) setChosen(index);
    });
  }, [open]);
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: calls.length - 1 };
    if (event.key in steps) setChosen(Math.max(0, Math.min(calls.length - 1, steps[event.key]!)));
    else if (event.key === "Enter") open(at);
    else return;
    event.preventDefault();
  };
  const present = useMemo(() => KINDS.filter((kind) => calls.some((call) => LEVELS.some((level) => call.tokens[kind]?.[level]))), [calls]);
  const call = calls[at];
  return (
    <Panel title={say("window over time")} side={every > 1 ? <span class="muted">{say("each nth call", { every: whole(every), total: whole(total) })}</span> : null} class="grow-panel">
      <div class="chart-keys" role="group" tabIndex={0} aria-label={say("chart keys")} onKeyDown={onKeyDown}>
        <Chart class="timeline" label={say("chart label", { count: whole(calls.length) })} option={() => option(calls, present)} deps={[calls, present]} onReady={onReady} />
      </div>
      {call ? <Chosen call={call} session={session} branch={branch} /> : null}
      <Legend kinds={present} calls={calls} />
      <AsTable caption={say("window over time")} head={[say("call"), say("tokens"), say("limit"), say("cached"), say("column cost"), say("marks"), ...present.map(kindName)]}
        rows={calls.map((each) => [
          <a href={linkTo(session, "call", each.number, { branch })}>{each.number}</a>, whole(each.total), whole(each.limit), whole(each.cached), dollars(each.cost), marksText(each),
          ...present.map((kind) => levelsText(each, kind)),
        ])} />
    </Panel>
  );
}

function levelsText(call: CallRow, kind: string): string {
  const levels = call.tokens[kind] ?? {};
  const parts = LEVELS.filter((level) => levels[level]).map((level) => (level === "full" ? whole(levels[level]) : `${whole(levels[level])} (${levelName(level)})`));
  return parts.join(" + ") || "–";
}

/** One call in words: what the pointer or the arrow keys are at. */
function Chosen({ call, session, branch }: { call: CallRow; session: string; branch: string }) {
  const tokens = call.total + missing(call);
  return (
    <p class="chosen" aria-live="polite">
      <a class="button" href={linkTo(session, "call", call.number, { branch })}>{say("open call", { number: call.number })}</a>
      <span><b>{whole(tokens)}</b> {say("tokens")}{call.limit ? ` · ${say("of limit", { share: percent(tokens / call.limit), limit: whole(call.limit) })}` : ""}</span>
      {call.cached ? <span>{say("n cached", { count: whole(call.cached) })}{call.cached_from === "forecast" ? ` (${say("forecast")})` : ""}</span> : null}
      {call.cost !== null ? <span>{dollars(call.cost)}</span> : null}
      {call.marks.length ? <span class="mark-words">{marksText(call)}</span> : null}
      <span class="muted">{when(call.timestamp)}</span>
    </p>
  );
}

function marksText(call: CallRow): string {
  return call.marks.map((mark) => say(`mark ${mark.kind}`, { reason: reasonText(mark.reason), count: whole(mark.count) })).join("; ");
}

function Legend({ kinds, calls }: { kinds: string[]; calls: CallRow[] }) {
  const marks = new Set(calls.flatMap((call) => call.marks.map((mark) => mark.kind)));
  const unlogged = calls.some((call) => missing(call) > 0);
  return (
    <ul class="legend" aria-label={say("legend")}>
      {kinds.map((kind) => <li key={kind}><Kind kind={kind} /></li>)}
      {unlogged ? <li><span class="kind"><i class="swatch kind-unlogged" />{say("not in log")}</span></li> : null}
      <li><span class="kind"><i class="swatch faded" />{say("paler")}</span></li>
      <li><span class="kind"><i class="swatch hatched" />{say("cached")}</span></li>
      <li><span class="kind"><i class="swatch budget" />{say("limit")}</span></li>
      {[...marks].map((kind) => <li key={kind}><span class="kind"><i class={`glyph mark-${kind}`} aria-hidden="true">{GLYPHS[kind]}</i>{say(`legend ${kind}`)}</span></li>)}
    </ul>
  );
}

const GLYPHS = { sweep: "▼", compaction: "◆", branch: "●", error: "■" } as const;
const SYMBOLS = { sweep: "triangle", compaction: "diamond", branch: "circle", error: "rect" } as const;

/** Tokens that the provider counted and the log does not have: an agent's own system prompt and tools. */
function missing(call: CallRow): number {
  return call.composed || call.reported === null ? 0 : Math.max(0, call.reported - call.total);
}

function option(calls: CallRow[], kinds: string[]): EChartsCoreOption {
  const top = Math.max(...calls.map((call) => call.total + missing(call)), 1);
  const limits = calls.map((call) => call.limit);
  const highest = Math.max(...limits.map((limit) => limit ?? 0));
  const max = highest && highest < top * 2.5 ? Math.max(highest, top) * 1.08 : top * 1.15; // a limit far above would flatten the bars
  const bar = { type: "bar", stack: "context", barCategoryGap: calls.length > 150 ? "8%" : "22%", barMaxWidth: 34, emphasis: { disabled: true } };
  const stacked = kinds.flatMap((kind) =>
    LEVELS.filter((level) => calls.some((call) => call.tokens[kind]?.[level])).map((level) => ({
      ...bar, name: `${kind} ${level}`, data: calls.map((call) => call.tokens[kind]?.[level] ?? 0), itemStyle: { color: colour(`kind-${kind}`), opacity: FADED[level] },
    })),
  );
  const unlogged = calls.some((call) => missing(call) > 0) ? [{ ...bar, name: "unlogged", data: calls.map(missing), itemStyle: { color: colour("kind-unlogged") } }] : [];
  const hatch = { symbol: "rect", dashArrayX: [1, 0], dashArrayY: [2, 4], rotation: -Math.PI / 4, color: colour("hatch"), symbolSize: 1 };
  const cached = {
    type: "bar", name: "cached", barGap: "-100%", barCategoryGap: bar.barCategoryGap, barMaxWidth: 34, z: 5, silent: true, emphasis: { disabled: true },
    data: calls.map((call) => Math.min(call.cached ?? 0, call.total + missing(call))), itemStyle: { color: "rgba(0,0,0,0.001)", decal: hatch },
  };
  const budget = { type: "line", name: "limit", step: "middle", data: limits, symbol: "none", silent: true, z: 6, connectNulls: true, lineStyle: { color: colour("accent"), width: 1.5, type: [5, 4] } };
  const marks = calls.flatMap((call, index) => call.marks.map((mark, place) => ({
    value: [index, call.total + missing(call)], symbol: SYMBOLS[mark.kind], symbolOffset: [0, -10 - 11 * place], symbolRotate: mark.kind === "sweep" ? 180 : 0, itemStyle: { color: colour(`mark-${mark.kind}`) },
  })));
  return {
    grid: { left: 46, right: 12, top: 26, bottom: calls.length > 60 ? 58 : 26 },
    tooltip: { ...tooltip(), trigger: "axis", axisPointer: { type: "shadow", shadowStyle: { color: colour("hover") } }, formatter: (rows: { dataIndex: number }[]) => explain(calls[rows[0]?.dataIndex ?? 0]) },
    xAxis: { type: "category", data: calls.map((call) => call.number), axisTick: { show: false }, axisLine: { lineStyle: { color: colour("border-strong") } }, axisLabel: { color: colour("muted"), fontSize: 11, hideOverlap: true } },
    yAxis: { type: "value", max, axisLabel: { color: colour("muted"), fontSize: 11, formatter: short, showMaxLabel: false }, splitLine: { lineStyle: { color: colour("border") } } },
    dataZoom: calls.length > 60 ? [{ type: "slider", height: 18, bottom: 8, brushSelect: false, showDetail: false, borderColor: colour("border"), fillerColor: colour("hover"), handleStyle: { color: colour("panel"), borderColor: colour("border-strong") }, dataBackground: { lineStyle: { opacity: 0 }, areaStyle: { color: colour("border") } }, moveHandleSize: 0 }] : [],
    series: [...stacked, ...unlogged, cached, budget, { type: "scatter", name: "marks", data: marks, symbolSize: 9, z: 8, silent: true }],
  };
}

/** What the pointer is at, in words. */
function explain(call: CallRow | undefined): string {
  if (!call) return "";
  const lines = [`${say("call")} ${call.number}${call.model ? ` · ${oneLine(call.model, 40)}` : ""}`, `${whole(call.total + missing(call))} ${say("tokens")}${call.limit ? ` / ${whole(call.limit)}` : ""}`];
  for (const kind of KINDS) {
    const levels = call.tokens[kind];
    if (levels && LEVELS.some((level) => levels[level])) lines.push(`  ${kindName(kind)}: ${levelsText(call, kind)}`);
  }
  const hidden = Object.values(call.tokens).reduce((sum, levels) => sum + (levels.hidden ?? 0), 0);
  if (missing(call)) lines.push(`  ${say("not in log")}: ${whole(missing(call))}`);
  if (hidden) lines.push(`${say("hidden")}: ${whole(hidden)}`);
  if (call.cached) lines.push(`${say("cached")}: ${whole(call.cached)}${call.cached_from === "forecast" ? ` (${say("forecast")})` : ""}`);
  if (call.cost !== null) lines.push(`${say("column cost")}: ${dollars(call.cost)}`);
  if (call.reason) lines.push(`${say("prefix changed")}: ${reasonText(call.reason)}`);
  if (call.marks.length) lines.push(marksText(call));
  return lines.join("\n");
}
