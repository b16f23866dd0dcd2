// Talk to the server's model, and watch the context change while it answers.
import { useEffect, useRef, useState } from "preact/hooks";
import { query, stream } from "./api";
import type { Place } from "./app";
import { asApiError, below, linkTo, useEvents, useLoad } from "./hooks";
import { useTotal } from "./kinds";
import { levelName, reasonText, say } from "./phrases";
import { oneLine, percent, sentences, visible, whole } from "./text";
import type { Context, ItemFacts, ItemPage, Line } from "./types";
import { Busy, Empty, Failure, Kind, Level, Share, Text } from "./ui";

const LAST = 60; // items of the conversation that are shown: older ones are in the list of items

interface Tool {
  id: string;
  name: string;
  text?: string;
  failed?: boolean;
}

interface Turn {
  question: string;
  text: string;
  tools: Tool[];
  error: string;
  note: string;
}

export function ChatView({ session, branch, details, server }: Place) {
  const total = useTotal(session, branch, details!.facts, "items");
  const items = useLoad<ItemPage>(
    total === undefined
      ? null
      : below(session, `/items${query({ start: Math.max(0, total - LAST), limit: LAST, text: "full" })}`, branch),
  );
  const [turn, setTurn] = useState<Turn>();
  const stop = useRef<AbortController | undefined>(undefined);
  const end = useRef<HTMLDivElement>(null);
  useEvents(session, ["append"], () => turn === undefined && items.reload());
  useEffect(() => end.current?.scrollIntoView({ block: "end" }), [items.data, turn]);
  useEffect(() => () => stop.current?.abort(), []);
  const ask = async (message: string) => {
    const own = (stop.current = new AbortController());
    const now: Turn = { question: message, text: "", tools: [], error: "", note: "" };
    const show = () => setTurn({ ...now, tools: [...now.tools] });
    show();
    try {
      await stream(below(session, "/interact", branch), { message }, own.signal, (kind, data) => {
        follow(now, kind, data);
        show();
      });
    } catch (error) {
      if (!own.signal.aborted) now.error = words(asApiError(error));
    }
    stop.current = undefined;
    items.reload();
    setTurn(now.error ? { ...now } : undefined);
  };
  if (server && !server.model)
    return (
      <div class="page">
        <NoModel />
      </div>
    );
  return (
    <div class="split chat">
      <section class="talk" aria-label={say("view chat")}>
        <div class="messages" aria-live="polite" tabIndex={0} role="log" aria-label={say("conversation")}>
          {items.error && !items.data ? <Failure error={items.error} retry={items.reload} /> : null}
          {!items.data && !items.error ? <Busy /> : null}
          {items.data?.items.length === 0 && !turn ? <Empty title={say("say something")} /> : null}
          {items.data?.items
            .filter((item) => item.text || item.tokens)
            .map((item) => (
              <Message key={item.id} item={item} link={linkTo(session, "items", item.id, { branch })} />
            ))}
          {turn ? <Running turn={turn} /> : null}
          <div ref={end} />
        </div>
        <Entry
          busy={stop.current !== undefined}
          model={server?.model?.name ?? ""}
          onAsk={ask}
          onStop={() => stop.current?.abort()}
        />
      </section>
      <section class="detail" aria-label={say("in window now")}>
        <Live session={session} branch={branch} busy={stop.current !== undefined} />
      </section>
    </div>
  );
}

/** What an event of the stream changes in the turn that is shown. */
function follow(turn: Turn, kind: string, data: Record<string, unknown>): void {
  const text = (name: string) => String(data[name] ?? "");
  if (kind === "text") turn.text += text("text");
  else if (kind === "payload")
    turn.note =
      say("payload told", { tokens: whole(Number(data.tokens)), limit: whole(Number(data.limit)) }) +
      (data.reason ? ` · ${reasonText(text("reason"))}` : "");
  else if (kind === "tool_started") turn.tools.push({ id: text("id"), name: text("name") });
  else if (kind === "tool_finished")
    turn.tools = turn.tools.map((tool) =>
      tool.id === text("id") ? { ...tool, text: text("text"), failed: Boolean(data.error) } : tool,
    );
  else if (kind === "reply") turn.text = "";
  else if (kind === "answer" && data.success) turn.text = text("response");
  else if (kind === "answer") turn.error = text("error");
  else if (kind === "error") turn.error = sentences(text("message"), text("what_to_do"));
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

function Message({ item, link }: { item: ItemFacts; link: string }) {
  const long = !["user", "assistant"].includes(item.kind); // what people and the model said is shown in full
  return (
    <article class={`message from-${item.kind}`}>
      <header>
        <Kind kind={item.kind} />
        <a class="id" href={link}>
          #{item.id}
        </a>
        <span class="number muted">{whole(item.tokens)}</span>
      </header>
      {!item.text ? null : long ? (
        <details>
          <summary class="cut">{oneLine(item.text, 140)}</summary>
          <Text text={item.text.slice(0, 20_000)} />
        </details>
      ) : (
        <Text text={item.text} class="prose" />
      )}
    </article>
  );
}

function Running({ turn }: { turn: Turn }) {
  return (
    <>
      <article class="message from-user">
        <header>
          <Kind kind="user" />
        </header>
        <Text text={turn.question} class="prose" />
      </article>
      {turn.tools.map((tool) => (
        <article key={tool.id} class="message from-call">
          <header>
            <Kind kind="call" />
            <code>{oneLine(tool.name)}</code>
            {tool.text === undefined ? (
              <span class="muted">{say("running")}</span>
            ) : tool.failed ? (
              <span class="bad">{say("failed")}</span>
            ) : null}
          </header>
        </article>
      ))}
      <article class="message from-assistant">
        <header>
          <Kind kind="assistant" />
          <span class="muted">{turn.note}</span>
        </header>
        {turn.text ? <Text text={turn.text} class="prose" /> : turn.error ? null : <Busy label={say("answering")} />}
        {turn.error ? (
          <p class="bad" role="alert">
            {visible(turn.error)}
          </p>
        ) : null}
      </article>
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
function Live({ session, branch, busy }: { session: string; branch: string; busy: boolean }) {
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
    </div>
  );
}
