// The axis of the rows that are seen: the time in which something ran. What lies between takes no room.
import type { TimeStep } from "./types";

export interface Axis {
  length: number; // seconds from its left end to its right end
  ticks: number[]; // seconds since its left end
  began: number | null; // when its left end was; null: it is not at a time of the run
  place: (time: number) => number; // how far right a time is, in seconds
}

const ROUND = [1, 2, 5, 10];
const MINUTES = [10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600]; // seconds
const TICKS = 5;

/** The axis of these rows; with `longest`, every bar begins at its left end, and the longest of all has room. */
export function axisOf(steps: TimeStep[], longest: number | null): Axis {
  if (longest !== null) return { ...scaled(longest), began: null, place: () => 0 };
  const runs = merged(steps.filter((step) => step.kind !== "user"));
  const place = (time: number) =>
    runs.reduce((sum, [began, ended]) => sum + Math.max(0, Math.min(time, ended) - began), 0);
  return { ...scaled(place(Infinity)), began: runs[0]?.[0] ?? null, place };
}

/** From when to when something ran, in order and without overlaps. */
function merged(steps: TimeStep[]): [number, number][] {
  const runs: [number, number][] = [];
  const timed = steps.flatMap(({ began, seconds }): [number, number][] =>
    began === null || seconds === null ? [] : [[began, began + seconds]],
  );
  for (const [began, ended] of timed.sort((a, b) => a[0] - b[0])) {
    const last = runs[runs.length - 1];
    if (last && began <= last[1]) last[1] = Math.max(last[1], ended);
    else runs.push([began, ended]);
  }
  return runs;
}

function scaled(seconds: number): { length: number; ticks: number[] } {
  const least = Math.max(seconds, 0.1) / TICKS;
  const power = 10 ** Math.floor(Math.log10(least));
  const round = ROUND.map((each) => each * power);
  const step = (least > 5 ? MINUTES : round).find((each) => each >= least * 0.999) ?? Math.ceil(least / 3600) * 3600;
  const count = Math.ceil((Math.max(seconds, 0.1) / step) * 0.999);
  return { length: count * step, ticks: Array.from({ length: count }, (_, at) => at * step) };
}
