// The same call at another budget, economy or strategy: composed by the server, sent to nobody.
import type { EChartsCoreOption } from "./echarts";
import { useEffect, useMemo, useState } from "preact/hooks";
import { ApiError, post, query } from "./api";
import type { Place } from "./app";
import { Chart, tooltip } from "./chart";
import { asApiError, below, linkTo, useLoad, useOption, useSettled } from "./hooks";
import { FADED, isShortened, KINDS, LEVELS, useTotal, type Tokens } from "./kinds";
import { economyName, kindName, levelName, reasonText, say } from "./phrases";
import { oneLine, percent, short, whole } from "./text";
import { colour } from "./theme";
import type { CallRow, Context, Line, TimelinePage } from "./types";
import { AsTable, Busy, CallBox, Choice, Failure, Kind, LegendLine, Level, Panel, Stat } from "./ui";

const LEAST = 1000; // tokens of the smallest window that can be tried
const STEPS = 200; // of the slider, each the same factor: from 4,000 to 5,000 matters, from 204,000 to 205,000 does not

export function TryView(props: Place & { number: number }) {
  const total = useTotal(props.session, props.branch, props.details!.facts, "timeline");
  return total === undefined ? (
    <div class="page">
      <Busy />
    </div>
  ) : (
    <Try {...props} total={total} />
  );
}

function Try({ session, branch, details, server, number, total }: Place & { number: number; total: number }) {
  const [asksNext, setNext] = useOption("next");
  const next = asksNext !== "" || !total;
  const call = next ? 0 : Math.min(number || total, total);
  const row = useLoad<TimelinePage>(
    call ? below(session, `/timeline${query({ start: call - 1, limit: 1 })}`, branch) : null,
  );
  const sent = row.data?.calls[0];
  const usual = sent?.limit ?? 128_000;
  const isOurs = call ? sent?.composed !== false : true; // another program's call was composed by no strategy
  const from = (call ? sent?.limit_from === "budget" : details!.facts.composed) ? "as it was" : "of the model";
  const most = Math.max(1_000_000, usual * 2);
  const [wanted, setWindow] = useOption("window");
  const window = Number(wanted) || null;
  const [economy, setEconomy] = useOption("economy");
  const [strategy, setStrategy] = useOption("strategy");
  const own = [details!.settings.strategy ?? "focus"].flat().join(" → "); // a pipe has several
  const focused = (strategy || own) === "focus"; // only this one has an economy
  const isSame = call > 0 && !window && !strategy && !(economy && focused);
  const asked = useMemo(
    () => ({
      ...(call ? { call } : {}),
      ...(window ? { window } : {}),
      ...(strategy ? { strategy } : {}),
      ...(economy && focused ? { economy } : {}),
    }),
    [call, window, strategy, economy, focused],
  );
  const settled = useSettled(asked, 120); // a slider that is moved asks when it rests
  const preview = usePreview(below(session, "/preview", branch), settled);
  return (
    <div class="page">
      <Panel title={say("try title")}>
        <p class="muted">{say("try about")}</p>
        <div class="try-controls">
          <CallBox
            label={say("call")}
            value={call || undefined}
            calls={total}
            disabled={next || !total}
            onChange={(to) =>
              (location.hash = linkTo(session, "try", to ?? total, { branch, window, economy, strategy }))
            }
          />
          <label class="check">
            <input
              type="checkbox"
              checked={next}
              disabled={!total}
              onChange={(event) => setNext((event.currentTarget as HTMLInputElement).checked ? 1 : null)}
            />{" "}
            {say("the next call")}
          </label>
          <label class="slider">
            <span>
              {say("context window")}{" "}
              <b>{window ? whole(window) : preview.data ? `${whole(preview.data.window)} (${say(from)})` : "…"}</b>
            </span>
            <input
              type="range"
              min={0}
              max={STEPS}
              value={toStep(window ?? preview.data?.window ?? usual, most)}
              aria-valuetext={say("n tokens", { count: whole(window ?? preview.data?.window ?? usual) })}
              onInput={(event) => setWindow(fromStep(Number((event.currentTarget as HTMLInputElement).value), most))}
            />
          </label>
          <Choice
            label={say("strategy")}
            value={strategy}
            values={["", ...(server?.strategies ?? [])]}
            onChange={setStrategy}
            name={(each) => each || (isOurs ? `${say("as it was")} (${own})` : isSame ? say("as it was") : own)}
          />
          <Choice
            label={say("economy")}
            value={focused ? economy : ""}
            values={focused ? ["", ...(server?.economies ?? [])] : [""]}
            onChange={setEconomy}
            name={(each) => (each ? economyName(each) : say("as it was"))}
          />
          <button onClick={() => (setWindow(null), setEconomy(""), setStrategy(""))}>{say("reset")}</button>
        </div>
        {preview.error ? <Failure error={preview.error} /> : null}
        {!preview.data && !preview.error ? <Busy /> : null}
        {preview.data ? (
          <Result
            context={preview.data}
            sent={call ? sent : undefined}
            isSame={isSame}
            busy={preview.busy || settled !== asked || preview.error !== undefined}
          />
        ) : null}
      </Panel>
      {preview.data ? <Levels context={preview.data} session={session} branch={branch} /> : null}
    </div>
  );
}

/** Ask anew whenever the choice changes; an answer to an older choice is not waited for. */
function usePreview(path: string, asked: Record<string, unknown>): { data?: Context; error?: ApiError; busy: boolean } {
  const [state, setState] = useState<{ data?: Context; error?: ApiError; busy: boolean }>({ busy: true });
  useEffect(() => {
    const stop = new AbortController();
    setState((old) => ({ ...old, busy: true }));
    post<Context>(path, asked, stop.signal).then(
      (data) => setState({ data, busy: false }),
      (error) => stop.signal.aborted || setState((old) => ({ data: old.data, error: asApiError(error), busy: false })),
    );
    return () => stop.abort();
  }, [path, asked]);
  return state;
}

function toStep(window: number, most: number): number {
  return Math.round((Math.log(window / LEAST) / Math.log(most / LEAST)) * STEPS);
}

function fromStep(step: number, most: number): number {
  const exact = LEAST * (most / LEAST) ** (step / STEPS);
  const unit = 10 ** Math.max(2, Math.floor(Math.log10(exact)) - 1);
  return Math.max(LEAST, Math.round(exact / unit) * unit);
}

interface ResultProps {
  context: Context;
  sent?: CallRow;
  isSame: boolean; // nothing else is tried: this is the call as it was sent
  busy: boolean;
}

function Result({ context, sent, isSame, busy }: ResultProps) {
  const would = useMemo(() => byLevel(context), [context]);
  const rows: [string, Tokens][] = [
    ...(sent ? [[say("as sent"), sent.tokens] as [string, Tokens]] : []),
    [say("as tried"), would],
  ];
  const kinds = KINDS.filter((kind) => rows.some(([, tokens]) => LEVELS.some((level) => tokens[kind]?.[level])));
  const saved = sent ? context.tokens - sent.total : 0;
  return (
    <div class={busy ? "stale" : ""} aria-busy={busy}>
      <dl class="stats small">
        <Stat
          label={say("column tokens")}
          value={whole(context.tokens)}
          note={say("of limit", { share: percent(context.tokens / context.limit), limit: short(context.limit) })}
        />
        {sent ? (
          <Stat
            label={say("against sent")}
            value={`${saved > 0 ? "+" : ""}${whole(saved)}`}
            note={percent(saved / Math.max(1, sent.total))}
          />
        ) : null}
        <Stat label={say("items in full")} value={whole(context.levels.full ?? 0)} />
        <Stat
          label={say("items shortened")}
          value={whole((context.levels.summary ?? 0) + (context.levels.gist ?? 0))}
          note={say("n gists", { count: whole(context.levels.gist ?? 0) })}
        />
        <Stat
          label={say("left out")}
          value={whole(context.left_out.messages)}
          note={say("n tokens", { count: whole(context.left_out.tokens) })}
        />
        <Stat
          label={say("prefix")}
          value={isSame ? say("as sent") : context.reason ? say("changes") : say("stays")}
          note={isSame ? say("nothing changed") : reasonText(context.reason)}
        />
      </dl>
      <Chart
        class="pair"
        label={say("try label", { tokens: whole(context.tokens) })}
        option={() => option(rows, kinds)}
        deps={[context, sent]}
      />
      <ul class="legend">
        {kinds.map((kind) => (
          <li key={kind}>
            <Kind kind={kind} />
          </li>
        ))}
        {rows.some(([, tokens]) => isShortened(tokens)) ? <LegendLine look="faded">{say("paler")}</LegendLine> : null}
      </ul>
      <AsTable
        caption={say("try title")}
        head={["", ...kinds.map(kindName)]}
        rows={rows.map(([name, tokens]) => [
          name,
          ...kinds.map(
            (kind) =>
              LEVELS.filter((level) => tokens[kind]?.[level])
                .map((level) => `${whole(tokens[kind]![level])} ${levelName(level)}`)
                .join(" + ") || "–",
          ),
        ])}
      />
    </div>
  );
}

/** The tokens of a payload by kind and level. The lines leave out what a provider adds to a message: it counts as full. */
function byLevel(context: Context): Tokens {
  const found: Tokens = {};
  for (const [kind, { tokens }] of Object.entries(context.kinds)) found[kind] = { full: tokens };
  for (const line of context.lines) {
    if (line.level === "full") continue;
    const levels = (found[line.kind] ??= { full: line.tokens });
    levels[line.level] = (levels[line.level] ?? 0) + line.tokens;
    levels.full = Math.max(0, (levels.full ?? 0) - line.tokens);
  }
  return found;
}

function option(rows: [string, Tokens][], kinds: string[]): EChartsCoreOption {
  return {
    grid: { left: 8, right: 12, top: 4, bottom: 22, containLabel: true },
    tooltip: {
      ...tooltip(),
      trigger: "item",
      formatter: (row: { seriesName: string; value: number; name: string }) =>
        `${row.name}\n${row.seriesName}: ${whole(row.value)}`,
    },
    xAxis: {
      type: "value",
      axisLabel: { color: colour("muted"), fontSize: 11, formatter: short, hideOverlap: true },
      splitLine: { lineStyle: { color: colour("border") } },
    },
    yAxis: {
      type: "category",
      inverse: true,
      data: rows.map(([name]) => name),
      axisTick: { show: false },
      axisLine: { show: false },
      axisLabel: { color: colour("text"), fontSize: 12 },
    },
    series: kinds.flatMap((kind) =>
      LEVELS.filter((level) => rows.some(([, tokens]) => tokens[kind]?.[level])).map((level) => ({
        type: "bar",
        stack: "all",
        name: `${kindName(kind)} (${levelName(level)})`,
        barWidth: "62%",
        emphasis: { disabled: true },
        itemStyle: { color: colour(`kind-${kind}`), opacity: FADED[level] },
        data: rows.map(([, tokens]) => tokens[kind]?.[level] ?? 0),
      })),
    ),
  };
}

const MOST = 300; // rows: the largest savings; every item is in the list of items

function Levels({ context, session, branch }: { context: Context; session: string; branch: string }) {
  const short_ = context.lines.filter((line) => line.level !== "full");
  const rows = [...short_].sort((a, b) => b.full_tokens - b.tokens - (a.full_tokens - a.tokens)).slice(0, MOST);
  return (
    <Panel title={`${say("what would be short")} (${whole(short_.length)})`}>
      {rows.length ? (
        <ul class="rows">
          {rows.map((line: Line) => (
            <li key={line.id} class="change-row">
              <span class="row-first">
                <Kind kind={line.kind} />
                <a class="id" href={linkTo(session, "items", line.id, { branch })}>
                  #{line.id}
                </a>
                {line.tool ? <code class="cut">{oneLine(line.tool, 40)}</code> : null}
                <Level level={line.level} />
                <span class="cut">{oneLine(line.subject ?? "", 100)}</span>
                <span class="cut muted">{oneLine(reasonText(line.why), 100)}</span>
              </span>
              <span class="number">
                {whole(line.full_tokens)} → {whole(line.tokens)}
              </span>
            </li>
          ))}
        </ul>
      ) : (
        <p class="muted">
          {context.left_out.messages
            ? say("all left out", { count: whole(context.left_out.messages) })
            : say("all in full")}
        </p>
      )}
    </Panel>
  );
}
