// The picture of the context window over time, and its words.
import { tooltip } from "./chart";
import type { EChartsCoreOption } from "./echarts";
import { FADED, KINDS, LEVELS } from "./kinds";
import { kindName, levelName, reasonText, say } from "./phrases";
import { dollars, oneLine, short, whole } from "./text";
import { colour } from "./theme";
import type { CallRow, Mark } from "./types";

export const GLYPHS = { sweep: "▼", prefix: "▲", compaction: "◆", cleared: "▽", branch: "●", error: "■" } as const;
const SYMBOLS = {
  sweep: "triangle",
  prefix: "triangle",
  compaction: "diamond",
  cleared: "path://M0 0H12L6 10ZM3 1.7L6 6.7L9 1.7Z", // ▽: a triangle with a hole
  branch: "circle",
  error: "rect",
} as const;

/** Tokens that the provider counted more than the log has: an agent's own system prompt and tools, and its tokenizer. */
export function missing(call: CallRow): number {
  return call.composed || call.reported === null ? 0 : Math.max(0, call.reported - call.total);
}

/** The tokens of a kind in a call, by level. */
export function levelsText(call: CallRow, kind: string): string {
  const levels = call.tokens[kind] ?? {};
  const parts = LEVELS.filter((level) => levels[level]).map((level) =>
    level === "full" ? whole(levels[level]) : `${whole(levels[level])} (${levelName(level)})`,
  );
  return parts.join(" + ") || "–";
}

/** The marks of a call in words. */
export function marksText(call: CallRow): string {
  return call.marks.map(markText).join("; ");
}

function markText(mark: Mark): string {
  const values = { reason: reasonText(mark.reason), count: whole(mark.count), tokens: whole(mark.tokens) };
  if (mark.kind !== "cleared" || mark.reason === "counted") return say(`mark ${mark.kind}`, values);
  return say(mark.reason === "logged" ? "mark cleared logged" : "mark cleared unexplained", values);
}

/** The tokens of a call that did not come from the provider's cache. */
export function uncached(call: CallRow): number {
  return Math.max(0, call.total + missing(call) - call.cached);
}

function highestBar(calls: CallRow[]): number {
  return Math.max(...calls.map((call) => call.total + missing(call)), 1);
}

/** The highest limit, if the chart shows it: one far above the bars would flatten them. */
export function highestLimit(calls: CallRow[]): number {
  const highest = Math.max(...calls.map((call) => call.limit ?? 0));
  return highest < highestBar(calls) * 2.5 ? highest : 0;
}

/** The numbers of the calls at both ends of what is seen. */
export type Zoom = [number, number];

/** The chart: stacked bars, hatched where nothing came from the cache, the budget, the marks. */
export function contextChart(calls: CallRow[], kinds: string[], zoom: Zoom): EChartsCoreOption {
  const [top, highest] = [highestBar(calls), highestLimit(calls)];
  const max = highest ? Math.max(highest, top) * 1.08 : top * 1.15;
  const bar = {
    type: "bar",
    stack: "context",
    barCategoryGap: calls.length > 150 ? "8%" : "22%",
    barMaxWidth: 34,
    emphasis: { disabled: true },
  };
  const stacked = kinds.flatMap((kind) =>
    LEVELS.filter((level) => calls.some((call) => call.tokens[kind]?.[level])).map((level) => ({
      ...bar,
      name: `${kind} ${level}`,
      data: calls.map((call) => call.tokens[kind]?.[level] ?? 0),
      itemStyle: { color: colour(`kind-${kind}`), opacity: FADED[level] },
    })),
  );
  const unlogged = calls.some((call) => missing(call) > 0)
    ? [{ ...bar, name: "unlogged", data: calls.map(missing), itemStyle: { color: colour("kind-unlogged") } }]
    : [];
  const hatch = {
    symbol: "rect",
    dashArrayX: [1, 0],
    dashArrayY: [2, 4],
    rotation: -Math.PI / 4,
    color: colour("hatch"),
    symbolSize: 1,
  };
  const over = { ...bar, stack: "cache", barGap: "-100%", z: 5, silent: true };
  const clear = "rgba(0,0,0,0.001)";
  const cached = {
    ...over,
    name: "cached",
    data: calls.map((call) => call.total + missing(call) - uncached(call)),
    itemStyle: { color: clear },
  };
  const fresh = {
    ...over,
    name: "not cached",
    data: calls.map(uncached),
    itemStyle: { color: clear, decal: hatch },
  };
  const budget = {
    type: "line",
    name: "limit",
    step: "middle",
    data: calls.map((call) => call.limit),
    symbol: "none",
    silent: true,
    z: 6,
    connectNulls: true,
    lineStyle: { color: colour("accent"), width: 1.5, type: [5, 4] },
  };
  const marks = calls.flatMap((call, index) =>
    call.marks.map((mark, place) => ({
      value: [index, call.total + missing(call)],
      symbol: SYMBOLS[mark.kind],
      symbolOffset: [0, -10 - 11 * place],
      symbolRotate: mark.kind === "sweep" ? 180 : 0,
      itemStyle: { color: colour(`mark-${mark.kind}`) },
    })),
  );
  return {
    grid: { left: 46, right: 12, top: 26, bottom: calls.length > 60 ? 58 : 26 },
    tooltip: {
      ...tooltip(),
      trigger: "axis",
      axisPointer: { type: "shadow", shadowStyle: { color: colour("hover") } },
      formatter: (rows: { dataIndex: number }[]) => explain(calls[rows[0]?.dataIndex ?? 0]),
    },
    xAxis: {
      type: "category",
      data: calls.map((call) => call.number),
      axisTick: { show: false },
      axisLine: { lineStyle: { color: colour("border-strong") } },
      axisLabel: { color: colour("muted"), fontSize: 11, hideOverlap: true },
    },
    yAxis: {
      type: "value",
      max,
      axisLabel: { color: colour("muted"), fontSize: 11, formatter: short, showMaxLabel: false },
      splitLine: { lineStyle: { color: colour("border") } },
    },
    dataZoom:
      calls.length > 60
        ? [
            {
              type: "slider",
              startValue: Math.max(
                0,
                calls.findIndex((call) => call.number >= zoom[0]),
              ),
              endValue: calls.findLastIndex((call) => call.number <= zoom[1]),
              height: 18,
              bottom: 8,
              brushSelect: false,
              showDetail: false,
              borderColor: colour("border"),
              fillerColor: colour("hover"),
              handleStyle: { color: colour("panel"), borderColor: colour("border-strong") },
              dataBackground: { lineStyle: { opacity: 0 }, areaStyle: { color: colour("border") } },
              moveHandleSize: 0,
            },
          ]
        : [],
    series: [
      ...stacked,
      ...unlogged,
      cached,
      fresh,
      budget,
      { type: "scatter", name: "marks", data: marks, symbolSize: 9, z: 8, silent: true },
    ],
  };
}

/** What the pointer is at, in words. */
function explain(call: CallRow | undefined): string {
  if (!call) return "";
  const lines = [
    `${say("call")} ${call.number}${call.model ? ` · ${oneLine(call.model, 40)}` : ""}`,
    `${whole(call.total + missing(call))} ${say("tokens")}${call.limit ? ` / ${whole(call.limit)}` : ""}`,
  ];
  for (const kind of KINDS) {
    const levels = call.tokens[kind];
    if (levels && LEVELS.some((level) => levels[level])) lines.push(`  ${kindName(kind)}: ${levelsText(call, kind)}`);
  }
  const hidden = Object.values(call.tokens).reduce((sum, levels) => sum + (levels.hidden ?? 0), 0);
  if (missing(call)) lines.push(`  ${say("not in log")}: ${whole(missing(call))}`);
  if (hidden) lines.push(`${say("hidden")}: ${whole(hidden)}`);
  if (call.cached)
    lines.push(
      `${say("cached")}: ${whole(call.cached)}${call.cached_from === "forecast" ? ` (${say("forecast")})` : ""}`,
    );
  if (call.cost !== null) lines.push(`${say("column cost")}: ${dollars(call.cost)}`);
  if (call.reason) lines.push(`${say("prefix changed")}: ${reasonText(call.reason)}`);
  if (call.marks.length) lines.push(marksText(call));
  return lines.join("\n");
}
