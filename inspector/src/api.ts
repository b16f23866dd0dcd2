// The REST interface of the server: one way to ask it, one kind of error, one stream of events.

/** What a request failed with: what to tell people, and what they can do. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly type: string,
    message: string,
    readonly advice: string,
  ) {
    super(message);
  }
}

const KEPT = "sightline-token"; // for this tab only; never in a query, never in a cookie
// As the server opens and prints them; a place in the inspector may follow.
const CODE = /^#code=([\w-]+)(\/.*)?$/;
const IN_ADDRESS = /#token=([\w-]+)(\/.*)?$/;

let onTokenNeeded: () => void = () => undefined;

/** Have this called whenever the server wants a token that the page does not have. */
export function whenTokenNeeded(call: () => void): void {
  onTokenNeeded = call;
}

/** Keep a token, or the one in an address that was pasted instead of it. */
export function setToken(text: string): void {
  const token = IN_ADDRESS.exec(text.trim())?.[1] ?? text.replace(/[^\w-]/g, ""); // other characters are in no token
  sessionStorage.setItem(KEPT, token);
}

export function hasToken(): boolean {
  return sessionStorage.getItem(KEPT) !== null;
}

const LOG = "sightline-log"; // for this tab: a file that an address of the server named

/** The file whose session is opened, once. */
export function takeLog(): string | null {
  const log = sessionStorage.getItem(LOG);
  sessionStorage.removeItem(LOG);
  return log;
}

let namedLog = ""; // of an address whose token or code nobody has accepted yet: any page may have made that

/** Have the page at the place that follows a token or a code. */
function goTo(rest = "/"): void {
  const [place, log] = rest.split("?log=");
  namedLog = log ? decodeURIComponent(log) : "";
  history.replaceState(null, "", `${location.pathname}#${place}`);
}

function keepLog(): void {
  if (namedLog) sessionStorage.setItem(LOG, namedLog);
}

let offered = ""; // the token of an address: whoever sent that address may have chosen it

/** The token that the page's address offers, and that nobody has agreed to; empty: there is none. */
export function offeredToken(): string {
  return offered === sessionStorage.getItem(KEPT) ? "" : offered;
}

/** Sign the tab in with the token that was offered, or leave it as it is. */
export function answerOffer(takes: boolean): void {
  if (takes) {
    setToken(offered);
    keepLog();
  }
  offered = "";
}

/**
 * Take the token out of the page's address, so that nobody sees it there. It is only offered: a link could sign the tab
 * in as somebody else, who would see what is done there. Whether there was one.
 */
export function takeToken(): boolean {
  const found = IN_ADDRESS.exec(location.hash);
  if (!found) return false;
  offered = found[1]!;
  goTo(found[2]);
  if (!offeredToken()) keepLog(); // the tab has this token
  return true;
}

/**
 * Exchange the code in the page's address for the token. A code works once: a tab that is restored finds its token kept,
 * and if somebody else has used the code, the page asks for the token and says why.
 */
export async function takeCode(): Promise<boolean> {
  const found = CODE.exec(location.hash);
  if (!found) return false;
  goTo(found[2]);
  try {
    const { token } = await post<{ token: string }>("/inspector/sign-in", { code: found[1] });
    setToken(token);
    keepLog();
  } catch {
    codeWasUsed = !hasToken();
  }
  return true;
}

/** Whether the code in the page's address was of no use. */
export let codeWasUsed = false;

let proven = ""; // the token with which the server has answered
const TABS = new BroadcastChannel(KEPT); // only pages of this server hear it
const ANSWER = 200; // milliseconds in which another tab answers

/** Give the token to tabs of this server that ask for it, such as one that a link was opened in. */
export function shareToken(): void {
  TABS.addEventListener("message", ({ data }) => {
    // A tab of an earlier start has a token that is no longer right.
    if (data === "wanted" && proven) TABS.postMessage({ token: proven });
  });
}

/** Take the token from another tab of this server, if there is one. */
export function askTabs(): Promise<void> {
  return new Promise((resolve) => {
    const end = () => (TABS.removeEventListener("message", hear), resolve());
    const hear = ({ data }: MessageEvent) => {
      if (typeof data?.token === "string") (setToken(data.token), end());
    };
    TABS.addEventListener("message", hear);
    setTimeout(end, ANSWER);
    TABS.postMessage("wanted");
  });
}

function headers(): Record<string, string> {
  const token = sessionStorage.getItem(KEPT);
  return token ? { "X-Sightline-Token": token } : {};
}

// The pages are below /inspector/, the interface beside it.
const BASE = new URL("../", new URL(".", location.href));

function address(path: string): URL {
  return new URL(path.replace(/^\//, ""), BASE);
}

async function failure(response: Response): Promise<ApiError> {
  try {
    const { error } = await response.json();
    return new ApiError(response.status, error.type, error.message, error.what_to_do ?? "");
  } catch {
    return new ApiError(response.status, "failed", `${response.status} ${response.statusText}`, "");
  }
}

async function send(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(address(path), { ...init, headers: { ...headers(), ...init.headers }, credentials: "omit" });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(0, "unreachable", "unreachable", "");
  }
  if (response.ok) proven = sessionStorage.getItem(KEPT) ?? "";
  if (response.status === 401) ((proven = ""), onTokenNeeded());
  if (!response.ok) throw await failure(response);
  return response;
}

/** Read something. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return (await (await send(path, { signal })).json()) as T;
}

/** Do something. The body is JSON, which no form of another page can send. */
export async function post<T>(path: string, body: unknown = {}, signal?: AbortSignal): Promise<T> {
  const init = { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" }, signal };
  return (await (await send(path, init)).json()) as T;
}

/** Send bytes as they are. */
export async function upload<T>(path: string, body: Blob, type: string, signal?: AbortSignal): Promise<T> {
  return (await (await send(path, { method: "POST", body, headers: { "Content-Type": type }, signal })).json()) as T;
}

const KEPT_FOR = 60_000; // milliseconds that a browser may take to begin with a file

/** Save a file under the name that the server gives it. A link cannot send the token; the browser keeps a large one on disk. */
export async function download(path: string): Promise<void> {
  const response = await send(path, {});
  const named = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = named?.[1] ?? "export";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_FOR);
}

/** Parameters for the end of a path; what is undefined or empty is left out. */
export function query(values: Record<string, string | number | boolean | null | undefined>): string {
  const parts = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return parts.length ? `?${new URLSearchParams(parts.map(([name, value]) => [name, String(value)]))}` : "";
}

export interface ServerEvent {
  kind: string;
  session: string;
  branch: string;
  data: Record<string, unknown>;
}

const RETRY = 2000; // milliseconds until a lost stream is asked for again

/**
 * Follow what happens until `signal` ends. EventSource cannot send a token, so the stream is read by hand. Without the
 * right token it is not asked for again: the page asks for the token, and begins anew with it.
 */
export async function follow(
  signal: AbortSignal,
  onEvent: (event: ServerEvent) => void,
  onState: (connected: boolean) => void,
): Promise<void> {
  let last = "";
  while (!signal.aborted) {
    try {
      const more: Record<string, string> = last ? { "Last-Event-ID": last } : {};
      const response = await send("/api/events", { signal, headers: { Accept: "text/event-stream", ...more } });
      onState(true);
      last = await read(response, last, onEvent);
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return;
      // What was lost is asked for again below; a page that is closed has ended its signal.
    }
    if (!signal.aborted) onState(false);
    await pause(RETRY, signal);
  }
}

/** Ask for an answer that comes as a stream of events, and call back at each. */
export async function stream(
  path: string,
  body: unknown,
  signal: AbortSignal,
  onEvent: (kind: string, data: Record<string, unknown>) => void,
): Promise<void> {
  const head = { "Content-Type": "application/json", Accept: "text/event-stream" };
  const response = await send(path, { method: "POST", body: JSON.stringify(body), headers: head, signal });
  await readEvents(response, (event) => onEvent(event.kind, event.data));
}

async function read(response: Response, last: string, onEvent: (event: ServerEvent) => void): Promise<string> {
  let newest = last;
  const ended = readEvents(response, ({ id, data }) => {
    newest = id || newest;
    onEvent({ kind: "", session: "", branch: "", data: {}, ...data });
  });
  await ended.catch(() => undefined); // a stream that was cut is asked for again, after the newest event
  return newest;
}

/** Read server-sent events until they end. */
async function readEvents(
  response: Response,
  onEvent: (event: { id: string; kind: string; data: Record<string, unknown> }) => void,
): Promise<void> {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    waiting += value;
    const blocks = waiting.split("\n\n");
    waiting = blocks.pop() ?? "";
    for (const block of blocks) {
      const lines = block.split("\n");
      const field = (name: string) =>
        lines
          .filter((line) => line.startsWith(`${name}:`))
          .map((line) => line.slice(name.length + 1).trim())
          .join("\n");
      if (field("data")) onEvent({ id: field("id"), kind: field("event"), data: JSON.parse(field("data")) });
    }
  }
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
