// Kinds of tokens and levels of detail, in the order in which every chart stacks them.
import type { SessionRow } from "./types";

export const KINDS = ["system", "tools", "request", "summary", "preface", "index", "user", "note", "assistant", "thinking", "call", "result", "recall", "window"];
export const LEVELS = ["full", "summary", "gist"] as const;
export const FADED = { full: 1, summary: 0.62, gist: 0.34 } as const; // how strong a colour is at a level

/** How many calls a session has: also one that was composed and has no answer yet. */
export function callCount(facts: SessionRow): number {
  return Math.max(facts.calls, facts.composed);
}
