// Every item of a session, however many: a list that reads only what is seen.
import { useEffect, useState } from "preact/hooks";
import { query } from "./api";
import type { Place } from "./app";
import { FilterFields, isFiltered, useAsked, useFilters, type Filters } from "./filters";
import {
  below,
  changeAddress,
  useChange,
  useDetail,
  useEvents,
  useLoad,
  useNarrow,
  useOption,
  useSettled,
} from "./hooks";
import { ItemPane } from "./item";
import { useSearchKey } from "./keys";
import { LongList, usePages } from "./list";
import { kindName, say } from "./phrases";
import { oneLine, pathEnd, visible, whole } from "./text";
import type { ItemFacts, ItemPage } from "./types";
import { Busy, Empty, Failure, Kind } from "./ui";

const KINDS = ["system", "user", "assistant", "call", "result", "summary", "recall", "window"];

interface Found {
  found: { id: string; kind: string; snippet: { text: string; match: boolean }[] }[];
}

export function ItemsView({ session, branch, item }: Place & { item: string }) {
  const [words, setWords] = useOption("q");
  const [opened, setOpened] = useState(item);
  const open = (id: string) => (setOpened(id), changeAddress({}, id));
  const field = useSearchKey();
  const detail = useDetail(opened);
  const q = useSettled(words.trim(), 250);
  const [filters, change] = useFilters(["kind", "tool", "path", "errors"]);
  useEffect(() => setOpened(item), [item]);
  return (
    <div class={`split ${opened ? "" : "alone"}`}>
      <section class="side-list" aria-label={say("view items")}>
        <div class="toolbar">
          <input
            ref={field}
            type="search"
            class="search"
            placeholder={say("search items")}
            aria-label={say("search items")}
            value={words}
            onInput={(event) => setWords((event.currentTarget as HTMLInputElement).value)}
          />
          {words ? null : <FilterFields filters={filters} onChange={change} kinds={KINDS} kindName={kindName} />}
        </div>
        {q ? (
          <FoundList session={session} branch={branch} q={q} onOpen={open} />
        ) : (
          <All session={session} branch={branch} filters={filters} onOpen={open} />
        )}
      </section>
      {opened ? (
        <section class="detail" ref={detail} aria-label={say("item")}>
          <ItemPane session={session} branch={branch} id={opened} />
        </section>
      ) : null}
    </div>
  );
}

function All({
  session,
  branch,
  filters,
  onOpen,
}: {
  session: string;
  branch: string;
  filters: Filters;
  onOpen: (id: string) => void;
}) {
  const [selected, setSelected] = useState(-1);
  const narrow = useNarrow();
  const asked = useAsked(filters);
  const pages = usePages<ItemFacts>(
    (start, limit) => below(session, `/items${query({ start, limit, ...asked })}`, branch),
    JSON.stringify([session, branch, asked]),
    (answer: ItemPage) => ({ rows: answer.items, total: answer.total }),
  );
  useEvents(session, ["append", "mark"], pages.reload);
  useChange(JSON.stringify(asked), () => setSelected(-1));
  if (pages.error && pages.total === undefined) return <Failure error={pages.error} retry={pages.reload} />;
  if (pages.total === undefined) return <Busy />;
  if (pages.total === 0)
    return (
      <Empty title={say(isFiltered(asked) ? "nothing found" : "no items")}>
        <p>{say(isFiltered(asked) ? "filter advice" : "no items advice")}</p>
      </Empty>
    );
  const choose = (index: number) => {
    setSelected(index);
    const row = pages.row(index);
    if (row) onOpen(row.id);
  };
  return (
    <LongList
      id="item"
      label={say("view items")}
      count={pages.total}
      rowHeight={narrow ? 56 : 48}
      selected={selected}
      onSelect={choose}
      onRange={pages.want}
      row={(index) => <ItemRow item={pages.row(index)} place={index} />}
    />
  );
}

function ItemRow({ item, place }: { item: ItemFacts | undefined; place: number }) {
  if (!item)
    return (
      <div class="row-two waiting">
        <span class="ghost" aria-label={say("row n", { number: whole(place + 1) })} />
      </div>
    );
  return (
    <div class="row-two">
      <span class="row-first">
        <Kind kind={item.kind} />
        <span class="id">#{item.id}</span>
        {item.tool ? <code class="cut">{oneLine(item.tool, 40)}</code> : null}
        {item.failed ? <span class="tag bad">{say("failed")}</span> : null}
        {item.pinned ? <span class="tag on">{say("pinned")}</span> : null}
        <span class="grow" />
        <span class="number">{whole(item.tokens)}</span>
      </span>
      <span class="row-second cut">{oneLine(aboutText(item), 160)}</span>
    </div>
  );
}

/** What a row says of its item: of a tool call what it is about, before the text of a result. */
function aboutText({ kind, subject, text }: ItemFacts): string {
  if (!subject) return text;
  return kind === "result" ? `${pathEnd(subject)} · ${text}` : subject;
}

function FoundList({
  session,
  branch,
  q,
  onOpen,
}: {
  session: string;
  branch: string;
  q: string;
  onOpen: (id: string) => void;
}) {
  const [selected, setSelected] = useState(-1);
  const found = useLoad<Found>(below(session, `/search${query({ q, limit: 50 })}`, branch));
  useChange(q, () => setSelected(-1));
  if (found.error) return <Failure error={found.error} retry={found.reload} />;
  const state = found.data?.found;
  if (!state) return <Busy />;
  if (!state.length)
    return (
      <Empty title={say("nothing found")}>
        <p>{say("nothing found advice")}</p>
      </Empty>
    );
  const choose = (index: number) => {
    setSelected(index);
    onOpen(state[index]!.id);
  };
  return (
    <LongList
      id="found"
      label={say("found items")}
      count={state.length}
      rowHeight={48}
      selected={selected}
      onSelect={choose}
      row={(index) => (
        <div class="row-two">
          <span class="row-first">
            <Kind kind={state[index]!.kind} />
            <span class="id">#{state[index]!.id}</span>
          </span>
          <span class="row-second cut">
            {state[index]!.snippet.map((part, at) =>
              part.match ? <mark key={at}>{visible(part.text)}</mark> : visible(part.text),
            )}
          </span>
        </div>
      )}
    />
  );
}
