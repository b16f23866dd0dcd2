// What components share: reading something, following events, the address of the page.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, follow, get, type ServerEvent } from "./api";

export interface Loaded<T> {
  data: T | undefined;
  error: ApiError | undefined;
  busy: boolean;
  reload: () => void;
}

/** Read a path, again whenever it changes. What was read before stays while the same thing is read again. */
export function useLoad<T>(path: string | null): Loaded<T> {
  const [state, setState] = useState<{ path: string | null; data?: T; error?: ApiError; busy: boolean }>({
    path: null,
    busy: true,
  });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (path === null) return undefined;
    const stop = new AbortController();
    setState((old) => (old.path === path ? { ...old, busy: true } : { path, busy: true }));
    get<T>(path, stop.signal).then(
      (data) => setState({ path, data, busy: false }),
      (error) => {
        if (!stop.signal.aborted) setState((old) => ({ path, data: old.data, error: asApiError(error), busy: false }));
      },
    );
    return () => stop.abort();
  }, [path, turn]);
  const reload = useCallback(() => setTurn((old) => old + 1), []);
  const current = state.path === path;
  return {
    data: current ? state.data : undefined,
    error: current ? state.error : undefined,
    busy: !current || state.busy,
    reload,
  };
}

export function asApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError(0, "failed", String(error), "");
}

type Listener = (event: ServerEvent) => void;
const listeners = new Set<Listener>();
const states = new Set<(connected: boolean) => void>();

/** Follow the server's events while the page is seen. A browser has few connections for a server, so hidden tabs hold none. */
export function startEvents(): void {
  let stop: AbortController | undefined;
  const tell = (event: ServerEvent) => listeners.forEach((listener) => listener(event));
  const begin = () => {
    if (document.hidden || stop) return;
    stop = new AbortController();
    void follow(stop.signal, tell, (on) => states.forEach((listener) => listener(on)));
  };
  const end = () => {
    stop?.abort();
    stop = undefined;
  };
  const seen = () => {
    begin();
    tell({ kind: "reset", session: "", branch: "", data: {} }); // something may have been missed
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? end() : seen()));
  addEventListener("pagehide", end);
  addEventListener("pageshow", (event) => event.persisted && seen());
  begin();
}

const SETTLE = 150; // milliseconds: events come in groups, and each group is answered once

/** Call back when something happened in a session (in any, without one), once for each group of events. */
export function useEvents(session: string | null, kinds: readonly string[], call: (event: ServerEvent) => void): void {
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const listener: Listener = (event) => {
      const ours = session === null || event.session === session || event.session === "";
      if (event.kind !== "reset" && (!ours || !kinds.includes(event.kind))) return;
      clearTimeout(timer);
      timer = setTimeout(() => latest.current(event), SETTLE);
    };
    listeners.add(listener);
    return () => (clearTimeout(timer), void listeners.delete(listener));
  }, [session, kinds.join()]);
}

/** Call back every so many milliseconds while the page is seen. */
export function useWhileSeen(call: () => void, milliseconds: number): void {
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => {
    const timer = setInterval(() => document.hidden || latest.current(), milliseconds);
    return () => clearInterval(timer);
  }, [milliseconds]);
}

/** Call back when a value is another one than it was at first. */
export function useChange(value: string | number, call: () => void): void {
  const old = useRef(value);
  useEffect(() => {
    if (old.current === value) return;
    old.current = value;
    call();
  }, [value]);
}

/** Whether events arrive now. */
export function useConnection(): boolean {
  const [connected, setConnected] = useState(true);
  useEffect(() => {
    states.add(setConnected);
    return () => void states.delete(setConnected);
  }, []);
  return connected;
}

/** The tabs of a session, each with its views. The name of a view stands in its address. */
export const TABS = [
  ["context", "tokens", "changes"],
  ["transcript"],
  ["call", "try", "time"],
  ["items"],
  ["chat", "windows"],
] as const;
export type View = (typeof TABS)[number][number];

export interface Route {
  session: string | null;
  view: View;
  arg: string; // a call's number, an item's id
  options: URLSearchParams;
}

/** Read the part of an address after #: /s/SESSION/VIEW/ARG?branch=… */
export function readRoute(hash = location.hash): Route {
  const [path = "", query = ""] = hash.slice(1).split("?");
  const [first, session, view, arg] = path.split("/").filter(Boolean).map(decode);
  const known = TABS.flat().find((each) => each === view) ?? "context";
  return {
    session: first === "s" && session ? session : null,
    view: known,
    arg: arg ?? "",
    options: new URLSearchParams(query),
  };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The address of a view of a session, for links. */
export function linkTo(session: string, view: View, arg: string | number = "", options: Options = {}): string {
  return `#/s/${encodeURIComponent(session)}/${view}${arg === "" ? "" : `/${encodeURIComponent(arg)}`}${query(options)}`;
}

type Options = Record<string, string | number | null>;

function query(options: Options): string {
  const given = Object.entries(options).filter(([, value]) => value !== null && value !== "");
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : "";
}

const OFTEN = 300; // milliseconds between two changes of an address: browsers allow a hundred in half a minute
let written = 0;
let next: { from: string; hash: string; timer: ReturnType<typeof setTimeout> } | undefined;

/** What the address says, or will say in a moment. */
export function currentHash(): string {
  return next?.from === location.href ? next.hash : location.hash;
}

/** Say in the address what is chosen now, so that a link shows it to others. The page stays where it is. */
export function changeAddress(change: Options, arg?: string | number): void {
  const { session, view, arg: old, options } = readRoute(currentHash());
  const all = { ...Object.fromEntries(options), ...change };
  const hash = session === null ? `#/${query(all)}` : linkTo(session, view, arg ?? old, all);
  clearTimeout(next?.timer);
  const wait = written + OFTEN - Date.now();
  next = { from: location.href, hash, timer: setTimeout(write, wait) };
  if (wait <= 0) write();
}

function write(): void {
  clearTimeout(next?.timer);
  if (next?.from === location.href) history.replaceState(null, "", next.hash); // else the page is elsewhere by now
  next = undefined;
  written = Date.now();
}

/** A value that stands in the address, after its `?`. Empty: it is not there. */
export function useOption(name: string): [string, (value: string | number | null) => void] {
  const read = () => readRoute(currentHash()).options.get(name) ?? "";
  const [value, setValue] = useState(read);
  useEffect(() => {
    const again = () => setValue(read());
    addEventListener("hashchange", again);
    return () => removeEventListener("hashchange", again);
  }, [name]);
  const change = (to: string | number | null) => {
    setValue(String(to ?? ""));
    changeAddress({ [name]: to });
  };
  return [value, change];
}

export function useRoute(): Route {
  const [route, setRoute] = useState(readRoute);
  useEffect(() => {
    const read = () => setRoute(readRoute());
    addEventListener("hashchange", read);
    return () => removeEventListener("hashchange", read);
  }, []);
  return route;
}

/** The path of something below a session, on a branch. */
export function below(session: string, rest: string, branch: string): string {
  const path = `/api/sessions/${encodeURIComponent(session)}${rest}`;
  if (!branch) return path;
  return `${path}${path.includes("?") ? "&" : "?"}branch=${encodeURIComponent(branch)}`;
}

/** A value that is one moment old: what changes quickly is used when it has come to rest. */
export function useSettled<T>(value: T, milliseconds: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return settled;
}

/** Return a ref for what stands below a list on a phone: it is scrolled to when another row of the list is chosen. */
export function useDetail(chosen: string | number): { current: HTMLElement | null } {
  const box = useRef<HTMLElement>(null);
  const narrow = useNarrow();
  useChange(chosen, () => narrow && box.current?.scrollIntoView({ block: "start" }));
  return box;
}

/** Whether the page is as narrow as a phone, or as another width. */
export function useNarrow(width = 720): boolean {
  const [narrow, setNarrow] = useState(() => innerWidth < width);
  useEffect(() => {
    const look = () => setNarrow(innerWidth < width);
    addEventListener("resize", look);
    return () => removeEventListener("resize", look);
  }, [width]);
  return narrow;
}
