// Where the tokens are, and what was read again.
import type { EChartsCoreOption, EChartsType } from "./echarts";
import { query } from "./api";
import type { Place } from "./app";
import { Chart, tooltip } from "./chart";
import { below, changeAddress, linkTo, useEvents, useLoad, useOption } from "./hooks";
import { useTotal } from "./kinds";
import { kindName, levelName, say } from "./phrases";
import { oneLine, pathEnd, percent, whole } from "./text";
import { colour } from "./theme";
import type { Node, TokenTree } from "./types";
import { AsTable, Busy, CallBox, Choice, Empty, Failure, Panel, Share, Stat } from "./ui";

const WAYS = ["kind,tool,file", "tool,file", "file", "level,kind,tool"] as const;

export function TokensView({ session, branch, details }: Place) {
  const [way, setBy] = useOption("by");
  const by = WAYS.find((each) => each === way) ?? WAYS[0];
  const [of, setCall] = useOption("call");
  const call = Number(of) || undefined;
  const calls = useTotal(session, branch, details!.facts, "timeline") ?? 0;
  const tree = useLoad<TokenTree>(below(session, `/tokens${query({ by, call })}`, branch));
  useEvents(session, ["append", "payload", "compaction"], tree.reload);
  const choices = (
    <div class="toolbar-inline">
      <Choice
        label={say("divide by")}
        value={by}
        values={WAYS}
        onChange={(to) => (setBy(to), changeAddress({ in: null }))}
        name={(each) =>
          each
            .split(",")
            .map((part) => say(`by ${part as "kind"}`))
            .join(" › ")
        }
      />
      {calls ? (
        <CallBox
          label={say("what")}
          value={call}
          calls={calls}
          placeholder={say("whole session")}
          title={say("call of", { calls: whole(calls) })}
          onChange={(to) => setCall(to ?? null)}
        />
      ) : null}
    </div>
  );
  return (
    <div class="page">
      <Panel title={say("where tokens are")} side={choices} class="grow-panel">
        {tree.error && !tree.data ? <Failure error={tree.error} retry={tree.reload} /> : null}
        {!tree.data && !tree.error ? <Busy /> : null}
        {tree.data && !tree.data.total ? <Empty title={say("no tokens")} /> : null}
        {tree.data?.total ? <Map key={by} tree={tree.data} /> : null}
      </Panel>
      {tree.data ? <Rereads tree={tree.data} session={session} branch={branch} /> : null}
    </div>
  );
}

interface Area {
  id: string;
  above: string; // the id of the group that it is in
  children: unknown[];
}

interface Shown {
  targetNode?: { getId: () => string; parentNode: unknown };
}

/** Let the treemap show one group, and nothing beside it. */
function show(chart: EChartsType, group: string) {
  chart.dispatchAction({ type: "treemapRootToNode", seriesIndex: 0, targetNodeId: group });
}

function nodeName(node: Node): string {
  if (node.by === "rest") return say("the rest");
  if (node.by === "kind") return kindName(node.name);
  if (node.by === "level") return levelName(node.name);
  return oneLine(node.name, 120) || say("no name");
}

function Map({ tree }: { tree: TokenTree }) {
  const [inside, setInside] = useOption("in"); // what the treemap shows alone: its path
  const onReady = (chart: EChartsType) => {
    chart.on("click", (event) => {
      const { id, above, children } = (event.data ?? {}) as Partial<Area>;
      const group = children?.length ? id : above;
      if (group) (setInside(group), show(chart, group));
    });
    chart.on("treemaproottonode", (event) => {
      const node = (event as Shown).targetNode; // none: it was not the path below the map
      if (node) setInside(node.parentNode ? node.getId() : null);
    });
  };
  const rows = flatten(tree.root, [])
    .sort((a, b) => b.node.tokens - a.node.tokens)
    .slice(0, 200);
  return (
    <>
      <Chart
        class="treemap"
        label={say("treemap label", { total: whole(tree.total) })}
        option={() => option(tree)}
        deps={[tree]}
        onReady={onReady}
        onDrawn={(chart) => inside && show(chart, inside)}
      />
      <AsTable
        caption={say("where tokens are")}
        head={[say("name"), say("tokens"), say("share"), say("column items"), say("read again")]}
        rows={rows.map(({ node, path }) => [
          path.join(" › "),
          whole(node.tokens),
          percent(node.tokens / tree.total),
          whole(node.items),
          whole(node.reread_tokens),
        ])}
      />
    </>
  );
}

function flatten(node: Node, path: string[]): { node: Node; path: string[] }[] {
  return node.children.flatMap((child) => {
    const here = [...path, nodeName(child)];
    return [{ node: child, path: here }, ...flatten(child, here)];
  });
}

const PALETTE = ["result", "assistant", "user", "call", "summary", "recall", "window", "system", "tools", "thinking"];

function option(tree: TokenTree): EChartsCoreOption {
  const data = (node: Node, place: number, tint: string, above = ""): Record<string, unknown> => {
    const id = `${above}/${node.name}`;
    const own =
      node.by === "kind"
        ? colour(`kind-${node.name}`) || tint
        : tint || colour(`kind-${PALETTE[place % PALETTE.length]}`);
    return {
      id,
      above,
      name: nodeName(node),
      value: node.tokens,
      node,
      itemStyle: node.children.length ? { color: own, borderColor: own } : { color: mix(own) },
      children: node.children.map((child, index) => data(child, index, own, id)),
    };
  };
  const label = {
    show: true,
    fontSize: 12,
    lineHeight: 16,
    color: colour("on-kind"),
    overflow: "truncate",
    formatter: (row: { name: string; value: number }) => `${pathEnd(row.name, 2, 0)}\n${whole(row.value)}`,
  };
  return {
    tooltip: {
      ...tooltip(),
      formatter: (row: { name: string; value: number; data: { node?: Node } }) =>
        told(row.name, row.value, row.data.node, tree.total),
    },
    series: [
      {
        type: "treemap",
        data: tree.root.children.map((child, index) => data(child, index, "")),
        left: 0,
        right: 0,
        top: 0,
        bottom: 30,
        leafDepth: 3,
        roam: false,
        nodeClick: false,
        label,
        upperLabel: {
          show: true,
          height: 20,
          color: colour("on-kind"),
          fontSize: 11.5,
          fontWeight: 600,
          overflow: "truncate",
          formatter: (row: { name: string; value: number }) => `${row.name}  ${whole(row.value)}`,
        },
        itemStyle: { borderWidth: 1, gapWidth: 1 },
        levels: [
          { itemStyle: { borderWidth: 0, gapWidth: 3, borderColor: colour("panel") }, upperLabel: { show: false } },
        ],
        breadcrumb: {
          bottom: 2,
          height: 22,
          itemStyle: {
            color: colour("panel"),
            borderColor: colour("border-strong"),
            textStyle: { color: colour("text"), fontSize: 12 },
          },
          emphasis: { itemStyle: { color: colour("hover"), textStyle: { color: colour("text") } } },
        },
        name: say("all"),
      },
    ],
  };
}

/** A colour of the style sheet, paler: leaves stand out from the group that they are in. */
function mix(hex: string): string {
  const channels = (text: string) => {
    const digits = text.length === 4 ? text.replace(/[^#]/g, "$&$&") : text;
    return [1, 3, 5].map((at) => parseInt(digits.slice(at, at + 2), 16));
  };
  const panel = channels(colour("panel"));
  return `rgb(${channels(hex)
    .map((value, index) => Math.round(value * 0.8 + panel[index]! * 0.2))
    .join()})`;
}

function told(name: string, tokens: number, node: Node | undefined, total: number): string {
  const lines = [name, `${whole(tokens)} ${say("tokens")} · ${percent(tokens / total)}`];
  if (node) lines.push(say("n items", { count: whole(node.items) }));
  if (node?.reread_tokens) lines.push(`${say("read again")}: ${whole(node.reread_tokens)}`);
  return lines.join("\n");
}

function Rereads({ tree, session, branch }: { tree: TokenTree; session: string; branch: string }) {
  const { rereads } = tree;
  const most = Math.max(...rereads.files.map((file) => file.tokens), 1);
  return (
    <Panel title={say("what was read again")}>
      {rereads.results === 0 && !rereads.files.length ? (
        <p class="muted">{say("nothing read again")}</p>
      ) : (
        <>
          <dl class="stats small">
            <Stat label={say("results read again")} value={whole(rereads.results)} />
            <Stat
              label={say("their tokens")}
              value={whole(rereads.tokens)}
              note={percent(rereads.tokens / Math.max(1, tree.total))}
            />
            <Stat label={say("faults")} value={whole(rereads.faults)} note={say("faults note")} />
          </dl>
          <ul class="rows">
            {rereads.files.slice(0, 100).map((file) => (
              <li key={file.name} class="reread">
                <code class="cut" title={oneLine(file.name, 300)}>
                  {oneLine(file.name, 200)}
                </code>
                <Share share={file.tokens / most} kind="result" />
                <span class="number">{say("n times", { count: whole(file.times) })}</span>
                <span class="number">{whole(file.tokens)}</span>
                <span class="ids">
                  {file.items.slice(0, 8).map((item) => (
                    <a key={item} href={linkTo(session, "items", item, { branch })}>
                      #{item}
                    </a>
                  ))}
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
    </Panel>
  );
}
