// A chart of ECharts. Tooltips are drawn as text: the policy of the pages allows no inline style.
import { useEffect, useReducer, useRef } from "preact/hooks";
import type { EChartsCoreOption, EChartsType } from "./echarts";
import { colour, watchTheme } from "./theme";

interface Props {
  label: string;
  option: () => EChartsCoreOption; // made again when the colours change
  deps: readonly unknown[];
  class?: string;
  onReady?: (chart: EChartsType) => void;
  onDrawn?: (chart: EChartsType) => void; // each time that the option was set
}

/** A chart. Its numbers must also stand beside it as text. */
export function Chart({ label, option, deps, class: name = "", onReady, onDrawn }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<EChartsType | undefined>(undefined);
  const [turn, redraw] = useReducer<number, void>((old) => old + 1, 0);
  useEffect(() => {
    let gone = false;
    void import("./echarts").then(({ init }) => {
      if (gone || !box.current) return; // it may be off the page before the charts are loaded
      const made = init(box.current, null, { renderer: "canvas" });
      chart.current = made;
      onReady?.(made);
      redraw();
    });
    const observer = new ResizeObserver(() => chart.current?.resize());
    observer.observe(box.current!);
    const unwatch = watchTheme(() => redraw());
    return () => {
      gone = true;
      unwatch();
      observer.disconnect();
      chart.current?.dispose();
    };
  }, []);
  useEffect(() => {
    if (!chart.current) return;
    chart.current.setOption({ ...common(), ...option() }, { notMerge: true });
    onDrawn?.(chart.current);
  }, [turn, ...deps]);
  return <div ref={box} class={`chart ${name}`} role="img" aria-label={label} />;
}

export const FONT =
  'ui-sans-serif, system-ui, "Segoe UI", Roboto, "Noto Sans", "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", sans-serif';

function common(): EChartsCoreOption {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  return {
    animation: !still,
    animationDuration: 200,
    animationDurationUpdate: 200,
    textStyle: { fontFamily: FONT, color: colour("text") },
  };
}

/** How every tooltip looks. */
export function tooltip(): Record<string, unknown> {
  return {
    renderMode: "richText",
    confine: true,
    backgroundColor: colour("panel"),
    borderColor: colour("border-strong"),
    borderWidth: 1,
    padding: [8, 10],
    textStyle: { color: colour("text"), fontFamily: FONT, fontSize: 12, lineHeight: 17 },
    extraCssText: "",
  };
}
