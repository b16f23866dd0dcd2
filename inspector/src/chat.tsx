// Talk to the server's model, and watch the context change while it answers. What is in the log is shown as in the transcript.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { query, stream } from "./api";
import type { Place } from "./app";
import { asApiError, below, linkTo, useEvents, useLoad } from "./hooks";
import { Message, Piece } from "./message";
import { levelName, reasonText, say } from "./phrases";
import { ReadingContext, useFolds, type Reading } from "./said";
import { oneLine, percent, sentences, visible, whole } from "./text";
import type { Context, Line, SessionDetails, TranscriptPage } from "./types";
import { Busy, Empty, Failure, Kind, Level, Share, Text } from "./ui";

const LAST = 60; // messages of the conversation that are shown: older ones are in the transcript
const REDRAW = 200; // milliseconds between two looks at a text that comes: all of it is read as Markdown each time
const NEAR = 60; // pixels from the end of the conversation: whoever is so near follows it

/** A question that is being answered, as far as the log that was read does not have it. */
interface Turn {
  question: string;
  before: number; // messages that were read when it was asked
  text: string; // of the reply that comes
  at: number; // messages that were read when its text began
  reply: string; // the item that the text became
  note: string;
  error: string;
  done: boolean;
}

export default function ChatView({ session, branch, details, server }: Place) {
  const page = useLoad<TranscriptPage>(below(session, `/transcript${query({ start: -LAST, limit: LAST })}`, branch));
  const total = useRef(0);
  total.current = page.data?.total ?? total.current;
  const [turn, setTurn] = useState<Turn>();
  const busy = turn !== undefined && !turn.done;
  const stop = useRef<AbortController | undefined>(undefined);
  const log = useEnd([page.data, turn]);
  const folds = useFolds();
  const reading = useMemo<Reading>(
    () => ({ session, branch, words: undefined, asWritten: false, isOpen: folds.isOpen, turn: folds.turn }),
    [session, branch, folds.turns],
  );
  useEvents(session, ["append"], page.reload);
  useEffect(() => () => stop.current?.abort(), []);
  const ask = async (question: string) => {
    const own = (stop.current = new AbortController());
    const now: Turn = {
      ...{ question, before: total.current, text: "", at: total.current, reply: "", note: "", error: "", done: false },
    };
    const show = (): void => setTurn({ ...now });
    const later = atMost(REDRAW, show);
    log.follow();
    show();
    try {
      await stream(below(session, "/interact", branch), { message: question }, own.signal, (kind, data) => {
        if (kind === "text" && (now.reply || !now.text)) [now.text, now.reply, now.at] = ["", "", total.current];
        note(now, kind, data);
        if (kind === "text") return later();
        show();
        if (CHANGES.includes(kind)) page.reload();
      });
    } catch (error) {
      if (!own.signal.aborted) now.error = words(asApiError(error));
    }
    now.done = true;
    show();
    page.reload();
  };
  const messages = useMemo(
    () =>
      page.data?.messages.map((message, at) => (
        <Message
          key={message.id}
          message={message}
          place={page.data!.start + at}
          total={page.data!.total}
          current={false}
          isHit={false}
        />
      )),
    [page.data],
  );
  if (server && !server.model)
    return (
      <div class="page">
        <NoModel />
      </div>
    );
  return (
    <ReadingContext.Provider value={reading}>
      <div class="split chat">
        <section class="talk" aria-label={say("view chat")}>
          <div
            class="messages"
            tabIndex={0}
            role="log"
            aria-label={say("conversation")}
            aria-busy={busy}
            ref={log.box}
            onScroll={log.onScroll}
          >
            {page.error && !page.data ? <Failure error={page.error} retry={page.reload} /> : null}
            {!page.data && !page.error ? <Busy /> : null}
            {page.data?.total === 0 && !turn ? <Empty title={say("say something")} /> : null}
            {messages}
            {turn ? <Running turn={turn} page={page.data} /> : null}
          </div>
          <Entry busy={busy} model={server?.model?.name ?? ""} onAsk={ask} onStop={() => stop.current?.abort()} />
        </section>
        <section class="detail" aria-label={say("in window now")}>
          <Live session={session} branch={branch} busy={busy} details={details!} />
        </section>
      </div>
    </ReadingContext.Provider>
  );
}

const CHANGES = ["payload", "reply", "tool_finished"]; // events after which the log has more

/** What an event of the stream changes in the turn that is shown. */
function note(turn: Turn, kind: string, data: Record<string, unknown>): void {
  const text = (name: string) => String(data[name] ?? "");
  if (kind === "text") turn.text += text("text");
  else if (kind === "payload")
    turn.note =
      say("payload told", { tokens: whole(Number(data.tokens)), limit: whole(Number(data.limit)) }) +
      (data.reason ? ` · ${reasonText(text("reason"))}` : "");
  else if (kind === "reply") turn.reply = text("item");
  else if (kind === "answer" && !data.success) turn.error = text("error");
  else if (kind === "error") turn.error = sentences(text("message"), text("what_to_do"));
}

/** Call something soon, and at most once in so many milliseconds. */
function atMost(milliseconds: number, call: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    timer ??= setTimeout(() => ((timer = undefined), call()), milliseconds);
  };
}

/** Keep the end of a box in sight, unless somebody has scrolled away from it. */
function useEnd(changes: unknown[]) {
  const box = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  useEffect(() => {
    if (follows.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, changes);
  const last = useRef(0);
  const onScroll = () => {
    const { scrollHeight, scrollTop, clientHeight } = box.current!;
    const isNear = scrollHeight - scrollTop - clientHeight < NEAR;
    follows.current = isNear || (follows.current && scrollTop >= last.current); // what grows below is no scrolling
    last.current = scrollTop;
  };
  return { box, onScroll, follow: () => (follows.current = true) };
}

function words(error: { type: string; message: string; advice: string }): string {
  return error.type === "unreachable"
    ? `${say("unreachable")} ${say("unreachable advice")}`
    : sentences(error.message, error.advice);
}

function NoModel() {
  return (
    <Empty title={say("no model")}>
      <p>{say("no model advice")}</p>
      <Text
        class="command"
        text={"export ANTHROPIC_API_KEY=…\nsightline inspect\n\nsightline inspect --model ollama/qwen3"}
      />
    </Empty>
  );
}

/** The question, and the reply that comes, until the log that was read has them. */
function Running({ turn, page }: { turn: Turn; page: TranscriptPage | undefined }) {
  const total = page?.total ?? 0;
  const isLogged = turn.reply ? page?.messages.some(({ id }) => id === turn.reply) : turn.done && total > turn.at;
  const text = isLogged ? "" : turn.text;
  return (
    <>
      {total > turn.before ? null : (
        <article class="said from-user">
          <header>
            <Kind kind="user" />
          </header>
          <Piece text={turn.question} kind="user" />
        </article>
      )}
      {text || turn.error || !turn.done ? (
        <article class="said from-assistant">
          <header>
            <Kind kind="assistant" />
            <span class="muted">{turn.note}</span>
          </header>
          {text ? <Piece text={text} kind="assistant" /> : null}
          {turn.done || (text && !turn.reply) ? null : <Busy label={say("answering")} />}
          {turn.error ? (
            <p class="bad" role="alert">
              {visible(turn.error)}
            </p>
          ) : null}
        </article>
      ) : null}
    </>
  );
}

function Entry({
  busy,
  model,
  onAsk,
  onStop,
}: {
  busy: boolean;
  model: string;
  onAsk: (message: string) => void;
  onStop: () => void;
}) {
  const [text, setText] = useState("");
  const send = () => {
    if (!text.trim() || busy) return;
    onAsk(text);
    setText("");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  };
  return (
    <form class="entry" onSubmit={(event) => (event.preventDefault(), send())}>
      <textarea
        rows={2}
        value={text}
        aria-label={say("message")}
        placeholder={say("message to", { model: oneLine(model, 40) })}
        onKeyDown={onKeyDown}
        onInput={(event) => setText((event.currentTarget as HTMLTextAreaElement).value)}
      />
      {busy ? (
        <button type="button" onClick={onStop}>
          {say("stop")}
        </button>
      ) : (
        <button class="primary" disabled={!text.trim()}>
          {say("send")}
        </button>
      )}
    </form>
  );
}

/** What the next call would hold, read anew at each event. */
interface LiveProps {
  session: string;
  branch: string;
  busy: boolean;
  details: SessionDetails;
}

function Live({ session, branch, busy, details: { chat_tools: tools, chat_recalls } }: LiveProps) {
  const none = say(chat_recalls ? "no chat tools" : "no chat tools at all");
  const context = useLoad<Context>(below(session, "/context", branch));
  useEvents(
    session,
    ["append", "payload", "sweep", "compaction", "mark", "window_updated", "window_created", "window_closed"],
    context.reload,
  );
  useEffect(() => void (busy || context.reload()), [busy]);
  if (context.error && !context.data) return <Failure error={context.error} retry={context.reload} />;
  if (!context.data) return <Busy />;
  const { data } = context;
  const kinds = Object.entries(data.kinds);
  return (
    <div class="live-context" aria-live="off">
      <h2>{say("in window now")}</h2>
      <p>
        <b>{whole(data.tokens)}</b> {say("tokens")} ·{" "}
        {say("of limit", { share: percent(data.tokens / data.limit), limit: whole(data.limit) })}
      </p>
      <Share share={data.tokens / data.limit} />
      <ul class="rows">
        {kinds.map(([kind, { tokens, items }]) => (
          <li key={kind} class="kind-row">
            <Kind kind={kind} />
            <Share share={tokens / data.tokens} kind={kind} />
            <span class="number">{whole(tokens)}</span>
            <span class="number muted">{say("n items", { count: whole(items) })}</span>
          </li>
        ))}
      </ul>
      <p class="muted">
        {(["full", "summary", "gist"] as const)
          .map((level) => `${levelName(level)}: ${whole(data.levels[level] ?? 0)}`)
          .join(" · ")}
      </p>
      <h3>{say("newest in it")}</h3>
      <ul class="rows">
        {data.lines
          .slice(-12)
          .reverse()
          .map((line: Line) => (
            <li key={line.id} class="change-row">
              <span class="row-first">
                <Kind kind={line.kind} />
                <a class="id" href={linkTo(session, "items", line.id, { branch })}>
                  #{line.id}
                </a>
                <Level level={line.level} />
              </span>
              <span class="number">{whole(line.tokens)}</span>
            </li>
          ))}
      </ul>
      <h3>{say("chat tools")}</h3>
      <p class="muted">{tools.length ? tools.map((tool) => oneLine(tool, 400)).join(", ") : none}</p>
    </div>
  );
}
