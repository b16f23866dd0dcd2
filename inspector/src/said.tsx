// A piece of what was said, with the words that were looked for marked in it; and what is unfolded.
import { createContext } from "preact";
import { useContext, useReducer, useRef } from "preact/hooks";
import { visible } from "./text";

/** How a transcript is read now. */
export interface Reading {
  session: string;
  branch: string;
  words: RegExp | undefined; // that are looked for
  asWritten: boolean; // texts as they came, not as Markdown
  isOpen: (fold: string) => boolean | undefined; // undefined: nobody has folded or unfolded it
  turn: (fold: string, open: boolean) => void;
}

export const ReadingContext = createContext<Reading>({
  session: "",
  branch: "",
  words: undefined,
  asWritten: false,
  isOpen: () => undefined,
  turn: () => undefined,
});

/** What finds these words in any case and with any white space between them; undefined if there are none. */
export function finder(words: string): RegExp | undefined {
  const parts = words.split(/\s+/).filter(Boolean);
  if (!parts.length) return undefined;
  return new RegExp(parts.map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("\\s+"), "giu");
}

/** A text, always as text nodes, with what was looked for marked. */
export function Said({ text }: { text: string }) {
  const { words } = useContext(ReadingContext);
  const shown = visible(text);
  if (!words) return <>{shown}</>;
  const pieces = [];
  let at = 0;
  for (const match of shown.matchAll(words)) {
    if (match.index > at) pieces.push(shown.slice(at, match.index));
    pieces.push(<mark>{match[0]}</mark>);
    at = match.index + match[0].length;
  }
  return (
    <>
      {pieces}
      {shown.slice(at)}
    </>
  );
}

/** Whether a text has the words that are looked for. */
export function has(words: RegExp | undefined, text: string): boolean {
  return words !== undefined && visible(text).search(words) >= 0;
}

/** What somebody has folded and unfolded, by the name of each fold. */
export function useFolds() {
  const open = useRef(new Map<string, boolean>());
  const [turns, redraw] = useReducer<number, void>((old) => old + 1, 0);
  const turn = (fold: string, isOpen: boolean) => (open.current.set(fold, isOpen), redraw());
  /** Unfold all that is folded in an element, or fold it again if nothing is. */
  const turnAll = (element: HTMLElement | null) => {
    const closed = [
      ...(element?.querySelectorAll<HTMLElement>("details:not([open]) > summary, [aria-expanded=false]") ?? []),
    ];
    const opened = [...(element?.querySelectorAll<HTMLElement>("details[open] > summary, [aria-expanded=true]") ?? [])];
    (closed.length ? closed : opened).forEach((each) => each.click());
  };
  /** What somebody folded may be unfolded by what is looked for. */
  const forgetClosed = () => open.current.forEach((isOpen, fold) => isOpen || open.current.delete(fold));
  return { turns, turn, turnAll, forgetClosed, isOpen: (fold: string) => open.current.get(fold) };
}
