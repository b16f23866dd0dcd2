// Kinds of tokens and levels of detail, in the order in which every chart stacks them.
import { query } from "./api";
import { below, useChange, useLoad } from "./hooks";
import type { SessionFacts } from "./types";

export const KINDS = [
  "system",
  "tools",
  "request",
  "summary",
  "preface",
  "index",
  "user",
  "note",
  "assistant",
  "thinking",
  "call",
  "result",
  "recall",
  "window",
];
export const LEVELS = ["full", "summary", "gist"] as const;
export const FADED = { full: 1, summary: 0.62, gist: 0.34 } as const; // how strong a colour is at a level

/** Tokens by kind and level. */
export type Tokens = Record<string, Partial<Record<string, number>>>;

/** Whether some of it is not in full, but not left out either. */
export function isShortened(tokens: Tokens): boolean {
  return Object.values(tokens).some((levels) => levels.summary || levels.gist);
}

/** How many calls a session has: also one that was composed and has no answer yet. */
export function callCount(facts: SessionFacts): number {
  return Math.max(facts.calls, facts.composed);
}

/** How many calls or items a branch has. The list counts all branches together, so one of several is asked for its own. */
export function useTotal(
  session: string,
  branch: string,
  facts: SessionFacts,
  of: "timeline" | "items",
): number | undefined {
  const known = facts.ready && facts.branches.length < 2;
  const asked = useLoad<{ total: number }>(
    known ? null : below(session, `/${of}${query({ start: 0, limit: 1 })}`, branch),
  );
  useChange(of === "timeline" ? callCount(facts) : facts.items, asked.reload);
  if (known) return of === "timeline" ? callCount(facts) : facts.items;
  return asked.data?.total;
}
