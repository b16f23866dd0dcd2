// The frame of all pages: what is chosen above, the view below.
import { useEffect, useState } from "preact/hooks";
import { answerOffer, codeWasUsed, hasToken, setToken, whenTokenNeeded } from "./api";
import { CallView } from "./call";
import { ChangesView } from "./changes";
import { ContextView } from "./context";
import { SessionExport } from "./export";
import {
  below,
  linkTo,
  useConnection,
  useEvents,
  useLoad,
  useRoute,
  useWhileSeen,
  type Route,
  type View,
} from "./hooks";
import { ItemsView } from "./items";
import { Keys } from "./keys";
import { language, say, setLanguage } from "./phrases";
import { SessionsView } from "./sessions";
import { Tabs } from "./tabs";
import { oneLine } from "./text";
import { setTheme, theme, type Theme } from "./theme";
import { TimeView } from "./time";
import { TokensView } from "./tokens";
import { TryView } from "./try";
import type { ServerFacts, SessionDetails } from "./types";
import { Busy, Dialog, Failure } from "./ui";
import { WindowsView } from "./windows";

const LIVE = 3000; // milliseconds between two looks at a session that another program writes
const QUIET = 15_000; // and at one that nobody wrote to for a while

export function App() {
  const route = useRoute();
  const [lang, setLang] = useState(language());
  const [asksToken, setAsksToken] = useState(false);
  const server = useLoad<ServerFacts>("/api/server");
  useEffect(() => whenTokenNeeded(() => setAsksToken(true)), []);
  useEffect(() => {
    document.documentElement.lang = lang;
    document.title = say("title");
  }, [lang]);
  useEffect(() => {
    if (document.activeElement === document.body) document.getElementById("main")?.focus({ preventScroll: true }); // what had it is gone
  }, [route.session, route.view]);
  const changeLanguage = () => {
    setLanguage(lang === "en" ? "zh" : "en");
    setLang(language());
  };
  return (
    <div class="frame" key={lang}>
      <a class="skip" href="#main" onClick={focusMain}>
        {say("skip")}
      </a>
      <Head route={route} onLanguage={changeLanguage} />
      {asksToken ? (
        <main id="main" tabIndex={-1}>
          <TokenDialog />
        </main>
      ) : route.session === null ? (
        <main id="main" tabIndex={-1}>
          <SessionsView server={server.data} />
        </main>
      ) : (
        <SessionFrame key={route.session} route={route} server={server.data} />
      )}
    </div>
  );
}

function focusMain(event: Event) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function Head({ route, onLanguage }: { route: Route; onLanguage: () => void }) {
  const [chosen, setChosen] = useState<Theme>(theme());
  const connected = useConnection();
  const next: Record<Theme, Theme> = { auto: "dark", dark: "light", light: "auto" };
  const turn = () => {
    setTheme(next[chosen]);
    setChosen(next[chosen]);
  };
  return (
    <header class="head">
      <a class="brand" href="#/" aria-current={route.session === null ? "page" : undefined}>
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <path d="M3 16c5-9 21-9 26 0-5 9-21 9-26 0z" />
          <circle cx="16" cy="16" r="4.5" />
        </svg>
        <span>Sightline</span>
      </a>
      <a class="crumb" href="#/">
        {say("sessions")}
      </a>
      <span class="grow" />
      {connected ? null : (
        <span class="offline" role="status">
          {say("no events")}
        </span>
      )}
      <Keys />
      <button class="plain" onClick={turn} title={say("theme title")}>
        {say(`theme ${chosen}`)}
      </button>
      <button class="plain" onClick={onLanguage} lang={language() === "en" ? "zh" : "en"}>
        {language() === "en" ? "中文" : "English"}
      </button>
    </header>
  );
}

function SessionFrame({ route, server }: { route: Route; server: ServerFacts | undefined }) {
  const session = route.session!;
  const branch = route.options.get("branch") ?? "";
  const details = useLoad<SessionDetails>(below(session, "", branch));
  useEvents(session, ["append", "payload", "compaction", "mark", "import", "listed"], details.reload);
  const facts = details.data?.facts;
  useWhileSeen(details.reload, facts?.live ? LIVE : QUIET);
  const place = { session, branch, details: details.data, server };
  return (
    <>
      <nav class="session-head" aria-label={say("session")}>
        <div class="session-name">
          <h1 title={facts ? oneLine(facts.title) : session}>
            {facts ? oneLine(facts.title, 200) || facts.name : session}
          </h1>
          {facts?.live ? <span class="live">{say("live")}</span> : null}
          {facts && facts.branches.length > 1 ? (
            <Branches route={route} names={facts.branches} current={branch || facts.branch} />
          ) : null}
          <span class="grow" />
          {server ? <SessionExport session={session} branch={branch} server={server} /> : null}
        </div>
        <Tabs route={route} details={details.data} server={server} />
      </nav>
      <main id="main" tabIndex={-1}>
        {details.error && !facts ? (
          <Failure error={details.error} retry={details.reload} />
        ) : facts || AT_ONCE.includes(route.view) ? (
          show(route, place)
        ) : (
          <Busy />
        )}
      </main>
    </>
  );
}

const AT_ONCE: View[] = ["transcript", "call", "time", "items", "changes", "windows"]; // they need no counts, so a long session is seen before it is counted

/** What every view of a session gets. */
export interface Place {
  session: string;
  branch: string;
  details: SessionDetails | undefined;
  server: ServerFacts | undefined;
}

/** The number of a call in an address; 0 if it is none. */
function callNumber(text: string | null): number {
  const number = Number(text);
  return Number.isInteger(number) && number > 0 ? number : 0;
}

function show(route: Route, place: Place) {
  const views: Record<View, () => preact.JSX.Element> = {
    context: () => <ContextView {...place} />,
    transcript: () => <Transcript {...place} item={route.arg} />,
    call: () => <CallView {...place} number={callNumber(route.arg)} compare={callNumber(route.options.get("with"))} />,
    time: () => <TimeView {...place} />,
    items: () => <ItemsView {...place} item={route.arg} />,
    tokens: () => <TokensView {...place} />,
    changes: () => <ChangesView {...place} />,
    try: () => <TryView {...place} number={callNumber(route.arg)} />,
    windows: () => <WindowsView {...place} />,
    chat: () => <Chat {...place} />,
  };
  return views[route.view]();
}

const Transcript = inOwnFile(() => import("./transcript"));
const Chat = inOwnFile(() => import("./chat"));

/** A view that reads Markdown: what reads it is loaded when the first such view is shown. */
function inOwnFile<P extends Place>(load: () => Promise<{ default: preact.ComponentType<P> }>) {
  return (props: P) => {
    const [View, setView] = useState<preact.ComponentType<P>>();
    useEffect(() => void load().then((file) => setView(() => file.default)), []);
    return View ? <View key={`${props.session} ${props.branch}`} {...props} /> : <Busy />;
  };
}

function Branches({ route, names, current }: { route: Route; names: string[]; current: string }) {
  const go = (event: Event) => {
    location.hash = linkTo(route.session!, route.view, "", {
      branch: (event.currentTarget as HTMLSelectElement).value,
    });
  };
  return (
    <label class="choice">
      <span>{say("branch")}</span>
      <select value={current} onChange={go}>
        {names.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Asks before an address changes who the page is. */
export function Offer() {
  const answer = (takes: boolean) => (answerOffer(takes), location.reload());
  return (
    <main>
      <Dialog title={say("offer title")}>
        <p>{say(hasToken() ? "offer other" : "offer why")}</p>
        <button class="primary" onClick={() => answer(true)}>
          {say("offer take")}
        </button>{" "}
        <button onClick={() => answer(false)}>{say("offer leave")}</button>
      </Dialog>
    </main>
  );
}

function TokenDialog() {
  const [value, setValue] = useState("");
  const use = (event: Event) => {
    event.preventDefault();
    setToken(value);
    location.reload();
  };
  return (
    <Dialog title={say("token title")}>
      <form onSubmit={use}>
        {hasToken() ? <p role="alert">{say("token wrong")}</p> : null}
        {codeWasUsed ? <p role="alert">{say("code used")}</p> : null}
        <p>{say("token why")}</p>
        <label class="field">
          <span>{say("token")}</span>
          <input
            type="password"
            autocomplete="off"
            value={value}
            onInput={(event) => setValue((event.currentTarget as HTMLInputElement).value)}
          />
        </label>
        <button class="primary" disabled={!value.trim()}>
          {say("token use")}
        </button>
      </form>
    </Dialog>
  );
}
