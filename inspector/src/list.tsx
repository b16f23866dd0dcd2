// A long list: only the rows that can be seen are read from the server and put on the page.
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { get } from "./api";
import type { ApiError } from "./api";
import { asApiError } from "./hooks";
import { useKeys } from "./keys";

const AHEAD = 8; // rows beyond the edge, so that scrolling shows no gap

interface Props {
  label: string;
  count: number;
  rowHeight: number;
  selected: number;
  onSelect: (index: number) => void;
  onOpen?: (index: number) => void;
  onRange?: (first: number, last: number) => void;
  onSeen?: (first: number, last: number) => void; // without the rows beyond the edge
  row: (index: number) => ComponentChildren;
  id: string;
  opensAtClick?: boolean; // for lists whose rows lead somewhere
}

/** A list of one selected row, used with the arrow keys. */
export function LongList({
  label,
  count,
  rowHeight,
  selected,
  onSelect,
  onOpen,
  onRange,
  onSeen,
  row,
  id,
  opensAtClick,
}: Props) {
  const box = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer(box, count, rowHeight);
  const rows = virtualizer.getVirtualItems();
  const [first, last] = [rows[0]?.index ?? 0, rows[rows.length - 1]?.index ?? 0];
  useEffect(() => onRange?.(first, last), [first, last, count]);
  const { startIndex, endIndex } = virtualizer.range ?? { startIndex: first, endIndex: last };
  useEffect(() => onSeen?.(startIndex, endIndex), [startIndex, endIndex]);

  const move = (index: number) => {
    const next = Math.max(0, Math.min(count - 1, index));
    onSelect(next);
    virtualizer.scrollToIndex(next);
  };
  const step = (by: number) => (move(selected + by), box.current?.focus({ preventScroll: true }));
  useKeys({
    j: { says: "key next row", act: () => step(1) },
    k: { says: "key previous row", act: () => step(-1) },
    Enter: { says: "key open row", act: () => selected >= 0 && (onOpen ?? onSelect)(selected) },
  });
  useEffect(() => {
    if (selected >= 0) virtualizer.scrollToIndex(selected); // an address can say which is chosen
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? rowHeight) / rowHeight) - 1);
    const steps: Record<string, number> = {
      ArrowDown: selected + 1,
      ArrowUp: selected - 1,
      PageDown: selected + page,
      PageUp: selected - page,
      Home: 0,
      End: count - 1,
    };
    if (event.key in steps) move(steps[event.key]!);
    else return;
    event.preventDefault();
  };
  const active = rows.some((each) => each.index === selected) ? `${id}-${selected}` : undefined;
  return (
    <div
      ref={box}
      class="list"
      role="listbox"
      tabIndex={0}
      aria-label={label}
      aria-activedescendant={active}
      onKeyDown={onKeyDown}
    >
      <div class="list-inner" role="presentation" style={{ height: `${virtualizer.getTotalSize()}px` }}>
        {rows.map((each) => (
          <div
            key={each.index}
            id={`${id}-${each.index}`}
            class="list-row"
            role="option"
            aria-selected={each.index === selected}
            aria-posinset={each.index + 1}
            aria-setsize={count}
            style={{ height: `${rowHeight}px`, transform: `translateY(${each.start}px)` }}
            onClick={() => (onSelect(each.index), opensAtClick && onOpen?.(each.index))}
            onDblClick={() => onOpen?.(each.index)}
          >
            {row(each.index)}
          </div>
        ))}
      </div>
    </div>
  );
}

/** What scrolls a feed to a row, so that its beginning is seen. */
export type ScrollTo = (index: number) => void;

/** Rows of any height, one below the other: each is measured when it is seen. */
export function Feed({
  label,
  count,
  usualHeight,
  onRange,
  row,
  isThere,
  scrollTo,
}: Pick<Props, "label" | "count" | "onRange" | "row"> & {
  usualHeight: number;
  isThere: (index: number) => boolean; // whether it has been read: only then it has a height
  scrollTo: { current: ScrollTo | undefined };
}) {
  const box = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer(box, count, usualHeight);
  const rows = virtualizer.getVirtualItems();
  const [first, last] = [rows[0]?.index ?? 0, rows[rows.length - 1]?.index ?? 0];
  useEffect(() => onRange?.(first, last), [first, last, count]);
  scrollTo.current = (index) => virtualizer.scrollToIndex(index, { align: "start" });
  const page = (box.current?.clientHeight ?? 0) * 0.9;
  // The browser's own way there ends where a message that is measured meanwhile moves the others.
  const steps: Record<string, () => void> = {
    Home: () => virtualizer.scrollToIndex(0),
    End: () => virtualizer.scrollToIndex(count - 1, { align: "end" }),
    PageUp: () => virtualizer.scrollBy(-page),
    PageDown: () => virtualizer.scrollBy(page),
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key in steps) (steps[event.key]!(), event.preventDefault());
  };
  return (
    <div ref={box} class="feed" role="feed" aria-label={label} tabIndex={0} onKeyDown={onKeyDown}>
      <div class="list-inner" role="presentation" style={{ height: `${virtualizer.getTotalSize()}px` }}>
        {rows.map((each) => (
          <div
            key={isThere(each.index) ? each.index : `waiting ${each.index}`}
            ref={isThere(each.index) ? virtualizer.measureElement : null}
            data-index={each.index}
            class="feed-row"
            role="presentation"
            style={{ transform: `translateY(${each.start}px)` }}
          >
            {row(each.index)}
          </div>
        ))}
      </div>
    </div>
  );
}

function useVirtualizer(box: { current: HTMLDivElement | null }, count: number, rowHeight: number) {
  const [, redraw] = useReducer((turn: number) => turn + 1, 0);
  const [virtualizer] = useState(
    () => new Virtualizer<HTMLDivElement, HTMLDivElement>(options(box, count, rowHeight, redraw as () => void)),
  );
  virtualizer.setOptions(options(box, count, rowHeight, redraw as () => void));
  useLayoutEffect(() => virtualizer._didMount(), []);
  useLayoutEffect(() => virtualizer._willUpdate());
  useLayoutEffect(() => virtualizer.measure(), [rowHeight]);
  return virtualizer;
}

function options(box: { current: HTMLDivElement | null }, count: number, rowHeight: number, redraw: () => void) {
  return {
    count,
    getScrollElement: () => box.current,
    estimateSize: () => rowHeight,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    overscan: AHEAD,
    onChange: redraw,
  };
}

export interface Pages<T> {
  row: (index: number) => T | undefined;
  want: (first: number, last: number) => void;
  total: number | undefined;
  first: unknown; // the answer that had the first page, with what stands beside the list
  error: ApiError | undefined;
  reload: () => void;
}

interface Shelf<T> {
  key: string;
  pages: Map<number, T[] | null>;
  total?: number;
  first?: unknown;
  error?: ApiError;
  stop: AbortController;
}

/** Read a long list page by page, the pages that are wanted only. While it is read again, what was read stays. */
export function usePages<T>(
  path: (start: number, limit: number) => string,
  key: string,
  pick: (answer: never) => { rows: T[]; total: number },
  size = 100,
): Pages<T> {
  const [, redraw] = useReducer<number, void>((turn) => turn + 1, 0);
  const [turn, again] = useReducer<number, void>((old) => old + 1, 0);
  const last = useRef<Shelf<T> | undefined>(undefined);
  const store = useMemo<Shelf<T>>(() => ({ key, pages: new Map(), stop: new AbortController() }), [key, turn]);
  const old = last.current?.key === key ? last.current : undefined;
  const load = (page: number) => {
    if (store.pages.has(page) || store.stop.signal.aborted) return;
    store.pages.set(page, null);
    get(path(page * size, size), store.stop.signal).then(
      (answer) => {
        const { rows, total } = pick(answer as never);
        store.pages.set(page, rows);
        store.total = total;
        store.error = undefined;
        if (page === 0) store.first = answer;
        last.current = store;
        redraw();
      },
      (error) => {
        store.pages.delete(page);
        if (store.stop.signal.aborted) return;
        store.error = asApiError(error);
        redraw();
      },
    );
  };
  const seen = useRef<[number, number]>([0, 0]);
  const want = (from: number, to: number) => {
    seen.current = [from, to];
    for (let page = Math.floor(from / size); page <= Math.floor(to / size); page += 1) load(page);
  };
  useEffect(() => {
    load(0);
    if (old) want(...seen.current);
    return () => store.stop.abort();
  }, [store]);
  return {
    row: (index) =>
      (store.pages.get(Math.floor(index / size)) ?? old?.pages.get(Math.floor(index / size)))?.[index % size],
    want,
    total: store.total ?? old?.total,
    first: store.first ?? old?.first,
    error: store.error,
    reload: () => again(),
  };
}
