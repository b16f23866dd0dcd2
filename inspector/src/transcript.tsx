// The session as a person reads it: every message in order, however many, with a search through all of them.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, query } from "./api";
import type { ApiError } from "./api";
import type { Place } from "./app";
import { asApiError, below, changeAddress, useEvents, useLoad, useOption, useSettled } from "./hooks";
import { isTyping, useKeys, useSearchKey } from "./keys";
import { Feed, usePages, type ScrollTo } from "./list";
import { Message } from "./message";
import { say } from "./phrases";
import { finder, ReadingContext, useFolds, type Reading } from "./said";
import { percent, whole } from "./text";
import type { TranscriptHit, TranscriptHits, TranscriptMessage, TranscriptPage } from "./types";
import { Busy, Empty, Failure } from "./ui";

const SIZE = 40; // messages that are read at once
const AHEAD = 10; // messages before and after those that are seen, which are read too
const USUAL = 150; // pixels of a message that was not measured yet

export default function TranscriptView({ session, branch, details, item }: Place & { item: string }) {
  const pages = usePages<TranscriptMessage>(
    (start, limit) => below(session, `/transcript${query({ start, limit })}`, branch),
    `${session} ${branch}`,
    (answer: TranscriptPage) => ({ rows: answer.messages, total: answer.total }),
    SIZE,
  );
  useEvents(session, ["append"], pages.reload);
  useGrowth(details?.facts.entries, pages.reload); // what another program writes makes no event
  const wanted = useLoad<TranscriptPage>(
    item ? below(session, `/transcript${query({ at: item, limit: 1 })}`, branch) : null,
  );
  const [typed, setTyped] = useOption("find");
  const [alone, setAlone] = useOption("alone"); // only where it is no part of a longer name
  const [written, setWritten] = useOption("written");
  const asWritten = written !== "";
  const words = useSettled(typed.trim(), 250);
  const found = useFound(session, branch, words, alone !== "");
  const folds = useFolds();
  const [current, go, feed] = useCurrent(pages.row, (pages.total ?? 0) > 0);
  const [hit, setHit] = useState(-1);
  const hits = useRef(0); // how often a hit was gone to
  const field = useSearchKey();
  const total = pages.total ?? 0;

  useEffect(folds.forgetClosed, [words]);
  useEffect(() => {
    if (wanted.data?.at !== null && wanted.data?.at !== undefined) go(wanted.data.at);
  }, [wanted.data]);
  const currentId = pages.row(current)?.id;
  useEffect(() => {
    if (currentId !== undefined && wanted.data?.at !== current) changeAddress({}, currentId);
  }, [currentId]);
  const showHit = (index: number) => {
    if (!found.hits.length) return;
    const next = (index + found.hits.length) % found.hits.length;
    setHit(next);
    go(found.hits[next]!.place);
    hits.current += 1;
  };
  const isPlaced = useRef(false); // at the message of the address: what is looked for is looked for from there on
  isPlaced.current ||= !item || wanted.data !== undefined || wanted.error !== undefined;
  const startedFor = useRef(""); // the words of which the first hit was gone to
  useEffect(() => {
    if (!isPlaced.current || startedFor.current === found.words) return;
    const from = current < 0 ? (wanted.data?.at ?? 0) : current;
    const next = found.hits.findIndex((each) => each.place >= from);
    if (next < 0 && found.share < 1) return setHit(-1); // those before the current message were found first
    startedFor.current = found.words;
    if (found.hits.length) showHit(Math.max(next, 0));
    else setHit(-1);
  }, [found, isPlaced.current]);
  useMark(currentId, hits.current);
  useKeys({
    j: { says: "key next", act: () => go(Math.min(isOnPage(current) ? current + 1 : firstOnPage(), total - 1)) },
    k: { says: "key previous", act: () => go(Math.max((isOnPage(current) ? current : firstOnPage()) - 1, 0)) },
    Enter: {
      says: "key open",
      act: () => folds.turnAll(document.getElementById(`message-${currentId}`)),
    },
    "⇧ Enter": { says: "key hits" },
  });
  const reading = useMemo<Reading>(
    () => ({ session, branch, words: finder(words), asWritten, isOpen: folds.isOpen, turn: folds.turn }),
    [session, branch, words, asWritten, folds.turns],
  );
  if (pages.error && pages.total === undefined)
    return (
      <div class="page">
        <Failure error={pages.error} retry={pages.reload} />
      </div>
    );
  const isHit = (place: number) => hit >= 0 && found.hits[hit]?.place === place;
  return (
    <ReadingContext.Provider value={reading}>
      <div class="transcript">
        <div class="toolbar">
          <form class="find" role="search" onSubmit={(event) => (event.preventDefault(), showHit(hit + 1))}>
            <input
              ref={field}
              type="search"
              class="search"
              placeholder={say("find in messages")}
              aria-label={say("find in messages")}
              value={typed}
              onInput={(event) => (setTyped(event.currentTarget.value), setAlone(null))}
              onKeyDown={(event) => {
                if (event.key === "Enter" && event.shiftKey) (event.preventDefault(), showHit(hit - 1));
                if (event.key === "Escape") event.currentTarget.blur();
              }}
            />
            <button
              type="button"
              disabled={!found.hits.length}
              onClick={() => showHit(hit - 1)}
              aria-label={say("previous hit")}
            >
              ↑
            </button>
            <button disabled={!found.hits.length} aria-label={say("next hit")}>
              ↓
            </button>
          </form>
          <span class="muted" role="status">
            {words ? told(found, hit) : null}
          </span>
          <span class="grow" />
          <label class="check">
            <input type="checkbox" checked={asWritten} onChange={() => setWritten(asWritten ? null : 1)} />
            {say("as written")}
          </label>
          <span class="muted">{pages.total === undefined ? "" : say("n messages", { count: whole(total) })}</span>
        </div>
        {wanted.error ? <Failure error={wanted.error} /> : null}
        {found.error ? <Failure error={found.error} /> : null}
        {pages.total === undefined ? <Busy /> : null}
        {pages.total === 0 ? (
          <Empty title={say("no items")}>
            <p>{say("no items advice")}</p>
          </Empty>
        ) : null}
        {total ? (
          <Feed
            label={say("view transcript")}
            count={total}
            usualHeight={USUAL}
            scrollTo={feed}
            isThere={(index) => pages.row(index) !== undefined}
            onRange={(first, last) => pages.want(Math.max(0, first - AHEAD), Math.min(total - 1, last + AHEAD))}
            row={(index) => {
              const message = pages.row(index);
              if (!message) return <div class="said waiting" style={{ height: `${USUAL}px` }} />;
              return (
                <Message
                  message={message}
                  place={index}
                  total={total}
                  current={index === current}
                  isHit={isHit(index)}
                />
              );
            }}
          />
        ) : null}
      </div>
    </ReadingContext.Provider>
  );
}

/** Call back when a number that is known has become another one. */
function useGrowth(value: number | undefined, call: () => void): void {
  const last = useRef<number | undefined>(undefined);
  useEffect(() => {
    if (value !== undefined && last.current !== undefined && value !== last.current) call();
    last.current = value ?? last.current;
  }, [value]);
}

/** The message that the keys act on, what goes to another one, and what scrolls there. */
function useCurrent(
  row: (index: number) => TranscriptMessage | undefined,
  isThere: boolean,
): [number, (index: number) => void, { current: ScrollTo | undefined }] {
  const [current, setCurrent] = useState(-1); // none
  const feed = useRef<ScrollTo | undefined>(undefined);
  const goal = useRef<number | undefined>(undefined);
  const go = (index: number) => {
    goal.current = index;
    setCurrent(index);
    feed.current?.(index);
  };
  useEffect(() => {
    if (isThere && goal.current !== undefined) feed.current?.(goal.current); // the address was read before the messages
  }, [isThere]);
  const id = row(current)?.id;
  useEffect(() => {
    if (goal.current !== current || id === undefined) return;
    goal.current = undefined; // what was read meanwhile may have another height than was thought
    feed.current?.(current);
    const frame = requestAnimationFrame(() => {
      const article = document.getElementById(`message-${id}`);
      if (!isTyping(document.activeElement)) article?.focus({ preventScroll: true });
    });
    return () => cancelAnimationFrame(frame);
  }, [current, id, goal.current]);
  return [current, go, feed];
}

const LOOKS = 40;
const BETWEEN = 50; // milliseconds between two looks: the rest of a long text may have to be read first

/** Scroll to the first marked words of a message, as soon as they are there, each time that a hit is gone to. */
function useMark(id: string | undefined, turn: number): void {
  useEffect(() => {
    if (!turn || id === undefined) return undefined;
    let looks = 0;
    const timer = setInterval(() => {
      const mark = document.querySelector(`#message-${CSS.escape(id)} mark`);
      if (mark && looks > 1 && !isSeen(mark)) mark.scrollIntoView({ block: "center" });
      if ((looks += 1) > LOOKS || (mark && looks > 2)) clearInterval(timer);
    }, BETWEEN);
    return () => clearInterval(timer);
  }, [id, turn]);
}

function isSeen(element: Element): boolean {
  const [own, feed] = [element.getBoundingClientRect(), element.closest(".feed")!.getBoundingClientRect()];
  return own.top >= feed.top && own.bottom <= feed.bottom;
}

/** Whether some of a message is seen. Somebody may have scrolled away from the one that the keys act on. */
function isOnPage(place: number): boolean {
  const row = document.querySelector(`.feed-row[data-index="${place}"]`);
  if (!row) return false;
  const [own, feed] = [row.getBoundingClientRect(), row.closest(".feed")!.getBoundingClientRect()];
  return own.bottom > feed.top && own.top < feed.bottom;
}

function firstOnPage(): number {
  const places = [...document.querySelectorAll<HTMLElement>(".feed-row")].map((row) => Number(row.dataset.index));
  return places.find(isOnPage) ?? 0;
}

interface Found {
  words: string;
  hits: TranscriptHit[];
  share: number; // of the messages that were searched
  error?: ApiError;
}

const NOTHING: Found = { words: "", hits: [], share: 1 };

/** Find words in all messages. The server answers in parts, so that the first hits are there at once. */
function useFound(session: string, branch: string, words: string, alone: boolean): Found {
  const [found, setFound] = useState<Found>(NOTHING);
  useEffect(() => {
    setFound({ ...NOTHING, words, share: words ? 0 : 1 });
    if (!words) return undefined;
    const stop = new AbortController();
    const read = async () => {
      let [hits, start]: [TranscriptHit[], number | null] = [[], 0];
      while (start !== null) {
        const path = below(
          session,
          `/transcript/find${query({ q: words, alone: alone || null, start, limit: 1000 })}`,
          branch,
        );
        const answer: TranscriptHits = await get<TranscriptHits>(path, stop.signal);
        hits = hits.concat(answer.hits);
        start = answer.next;
        setFound({ words, hits, share: start === null ? 1 : start / answer.total });
      }
    };
    read().catch((error) => stop.signal.aborted || setFound({ ...NOTHING, words, error: asApiError(error) }));
    return () => stop.abort();
  }, [session, branch, words, alone]);
  return found;
}

function told(found: Found, hit: number): string {
  const searched = found.share < 1 ? ` · ${say("searched", { share: percent(found.share) })}` : "";
  if (!found.hits.length) return found.share < 1 ? searched.slice(3) : say("no hits");
  if (hit < 0) return say("n messages", { count: whole(found.hits.length) }) + searched;
  return say("hit n of", { number: whole(hit + 1), total: whole(found.hits.length) }) + searched;
}
