// One message as a person reads it: what was said, what the model thought, its tool calls with their results beside them.
import type { ComponentChildren } from "preact";
import { useContext, useState } from "preact/hooks";
import { below, linkTo, useLoad } from "./hooks";
import { beginning, MOST } from "./item";
import { Markdown } from "./markdown";
import { say } from "./phrases";
import { has, ReadingContext, Said } from "./said";
import { dollars, duration, oneLine, visible, when, whole } from "./text";
import type { ItemDetails, MessagePart, ToolCall, ToolResult, TranscriptMessage, TranscriptPage } from "./types";
import { Busy, Kind } from "./ui";

const LINES = 14; // of a tool's output that are shown before somebody unfolds it
const WIDE = 1600; // and characters
const FOLDED = ["system", "summary", "recall"]; // kinds of which a long text is folded: few people read it twice
const PICTURES = /^image\/(png|jpeg|gif|webp|avif)$/;

interface Props {
  message: TranscriptMessage;
  place: number;
  total: number;
  current: boolean; // the keys act on it
  isHit: boolean; // it has the words that are looked for, perhaps beyond what was read of it
}

export function Message({ message, place, total, current, isHit }: Props) {
  const kind = message.by_program && message.kind === "user" ? "note" : message.kind;
  return (
    <article
      class={`said from-${kind} ${current ? "current" : ""}`}
      id={`message-${message.id}`}
      tabIndex={-1}
      aria-posinset={place + 1}
      aria-setsize={total}
      aria-labelledby={`head-${message.id}`}
    >
      <Head message={message} kind={kind} />
      <Parts parts={message.parts} item={message.id} kind={kind} isHit={isHit} />
      {message.calls.map((call) => (
        <Exchange key={call.id} call={call} isHit={isHit} />
      ))}
    </article>
  );
}

function Head({ message, kind }: { message: TranscriptMessage; kind: string }) {
  const { session, branch } = useContext(ReadingContext);
  const { call } = message;
  return (
    <header>
      <span id={`head-${message.id}`}>
        <Kind kind={kind} />{" "}
        <a class="id" href={linkTo(session, "items", message.id, { branch })} title={say("open item")}>
          #{message.id}
        </a>
      </span>
      <span class="muted">{when(message.timestamp)}</span>
      {call ? (
        <CallCost message={message} />
      ) : (
        <span class="muted">{say("n tokens", { count: whole(message.tokens) })}</span>
      )}
      <span class="grow" />
      {call ? (
        <a href={linkTo(session, "call", call.number, { branch })}>{say("call n", { number: whole(call.number) })}</a>
      ) : null}
      <CopyLink id={message.id} />
    </header>
  );
}

/** What a call of the model took: the numbers of the tab of calls. */
function CallCost({ message }: { message: TranscriptMessage }) {
  const call = message.call!;
  return (
    <span class="muted call-cost">
      {call.model ? <span>{oneLine(call.model, 40)}</span> : null}
      {message.seconds === null ? null : <span title={say("took about")}>{duration(message.seconds)}</span>}
      <span title={say(call.reported === null ? "tokens counted here" : "provider counted")}>
        {say("tokens in and out", { input: whole(call.reported ?? call.total), output: whole(call.output) })}
      </span>
      {call.cost === null ? null : (
        <span title={say(call.cost_from === "forecast" ? "from forecast" : "from usage")}>{dollars(call.cost)}</span>
      )}
    </span>
  );
}

function CopyLink({ id }: { id: string }) {
  const { session, branch } = useContext(ReadingContext);
  const [told, setTold] = useState("");
  const copy = async () => {
    const place = linkTo(session, "transcript", id, { branch });
    try {
      await navigator.clipboard.writeText(`${location.origin}${location.pathname}${place}`);
      setTold(say("link copied"));
    } catch {
      history.replaceState(null, "", place); // a page that is not secure may not copy: there it can be copied by hand
      setTold(say("link in address"));
    }
  };
  return (
    <>
      <span class="action-told" role="status">
        {told}
      </span>
      <button class="small plain" onClick={copy} onBlur={() => setTold("")}>
        {say("copy link")}
      </button>
    </>
  );
}

// ---------------------------------------------------------------------- what was said

interface PartsProps {
  parts: MessagePart[];
  item: string;
  kind: string;
  isHit: boolean;
}

function Parts({ parts, item, kind, isHit }: PartsProps) {
  return (
    <>
      {parts.map((part, at) => (
        <Part key={at} part={part} at={at} item={item} kind={kind} isHit={isHit} />
      ))}
    </>
  );
}

function Part({ part, at, item, kind, isHit }: Omit<PartsProps, "parts"> & { part: MessagePart; at: number }) {
  const fold = `${item}/${at}`;
  const read = (page: TranscriptPage) => textOf(page, item, at);
  const long = (
    <Whole
      fold={fold}
      item={item}
      text={part.text}
      characters={part.characters}
      read={read}
      isHit={isHit}
      kind={kind}
    />
  );
  if (part.form === "image" && part.image !== null) return <Picture item={item} place={part.image} name={part.name} />;
  if (part.form === "image" || part.form === "file" || part.form === "opaque")
    return (
      <p class="muted named">
        {say(`part ${part.form}`)}{" "}
        <code>
          <Said text={part.name} />
        </code>
      </p>
    );
  const folded = part.form === "thinking" || (FOLDED.includes(kind) && part.characters > WIDE / 2);
  if (!folded) return long;
  const title =
    part.form === "thinking" ? say("kind thinking") : say("n characters", { count: whole(part.characters) });
  return (
    <Fold
      fold={fold}
      title={
        <>
          {title} <span class="cut">{oneLine(part.text, 120)}</span>
        </>
      }
      text={part.text}
      isHit={isHit && part.characters > part.text.length}
    >
      {long}
    </Fold>
  );
}

/** Something that is folded, until somebody opens it or what is looked for is in it. */
function Fold({
  fold,
  title,
  text,
  isHit,
  children,
}: {
  fold: string;
  title: ComponentChildren;
  text: string;
  isHit: boolean;
  children: ComponentChildren;
}) {
  const reading = useContext(ReadingContext);
  const open = reading.isOpen(fold) ?? (isHit || has(reading.words, text));
  const turn = (event: Event) => (event.preventDefault(), reading.turn(fold, !open));
  return (
    <details class="fold" open={open}>
      <summary onClick={turn}>{title}</summary>
      {open ? children : null}
    </details>
  );
}

interface WholeProps {
  fold: string;
  item: string;
  text: string; // its beginning, if there is more
  characters: number;
  read: (page: TranscriptPage) => string | undefined;
  isHit: boolean;
  kind: string; // empty: the text of a tool
}

/** A text of any length. What is long is shown in part; the rest is read when somebody wants it. */
function Whole({ fold, item, text, characters, read, isHit, kind }: WholeProps) {
  const reading = useContext(ReadingContext);
  const isCut = characters > text.length;
  const short = kind ? text : head(text);
  const hidden = isHit && has(reading.words, text) && !has(reading.words, short);
  const open = reading.isOpen(`${fold}+`) ?? (hidden || (isHit && isCut && !has(reading.words, text)));
  const path =
    open && isCut
      ? below(reading.session, `/transcript?at=${encodeURIComponent(item)}&limit=1&text=full`, reading.branch)
      : null;
  const answer = useLoad<TranscriptPage>(path);
  const full = (answer.data && read(answer.data)) ?? text;
  const isMore = isCut || short.length < text.length;
  return (
    <>
      <Piece text={open ? full : short} kind={kind} />
      {path && answer.busy ? <Busy /> : null}
      {isMore ? (
        <button class="small" aria-expanded={open} onClick={() => reading.turn(`${fold}+`, !open)}>
          {open ? say("show less") : say("show all of it", { count: whole(characters) })}
        </button>
      ) : null}
    </>
  );
}

/** The first lines of a tool's output. */
function head(text: string): string {
  const lines = text.slice(0, WIDE).split("\n");
  const first = lines.slice(0, LINES).join("\n");
  return text.length - first.length < WIDE / 4 && text.split("\n").length <= LINES + 4 ? text : first;
}

/** A text as Markdown, unless it is of a tool or wanted as written; so much of it as can be shown at once. */
export function Piece({ text, kind }: { text: string; kind: string }) {
  const { asWritten, words } = useContext(ReadingContext);
  const found = words ? text.search(words) : -1;
  const [more, setMore] = useState(MOST);
  const most = Math.max(more, found + MOST / 10);
  const part = beginning(text, most);
  return (
    <>
      {kind && !asWritten ? (
        <Markdown text={visible(part)} />
      ) : (
        <pre class={`text ${kind ? "prose" : ""}`} dir="auto">
          <Said text={part} />
        </pre>
      )}
      {text.length > most ? (
        <button class="small" onClick={() => setMore(most * 4)}>
          {say("show more", { count: whole(text.length - most) })}
        </button>
      ) : null}
    </>
  );
}

/** The whole text of a part, from the answer to the request for it. */
function textOf(page: TranscriptPage, item: string, at: number): string | undefined {
  const message = page.messages[0];
  const calls = message?.calls ?? [];
  const parts = message?.id === item ? message.parts : calls.find(({ result }) => result?.id === item)?.result?.parts;
  return parts?.[at]?.text;
}

function Picture({ item, place, name }: { item: string; place: number; name: string }) {
  const { session, branch } = useContext(ReadingContext);
  const details = useLoad<ItemDetails>(below(session, `/items/${encodeURIComponent(item)}`, branch));
  const source = details.data ? sourceOf(details.data.parts, place) : "";
  const label = visible(name) || say("image");
  if (source) return <img class="picture" src={source} alt={label} />;
  return details.busy ? (
    <Busy />
  ) : (
    <p class="muted named">
      {say("part image")} {label}
    </p>
  );
}

/** The data of an image of an item, as an address that asks nobody; empty if it is of a kind that is not shown. */
function sourceOf(parts: unknown[], place: number): string {
  type Stored = { type: string; media_type?: string; data?: string; url?: string; parts?: Stored[] };
  const flat = (parts as Stored[]).flatMap((part) => (part.type === "result" ? (part.parts ?? []) : [part]));
  const image = flat.filter((part) => part.type === "image")[place];
  const [, type, data] = /^data:([^;,]+);base64,([A-Za-z0-9+/=\s]+)$/.exec(image?.url ?? "") ?? [];
  const media = image?.data ? image.media_type : type;
  return image && media && PICTURES.test(media) ? `data:${media};base64,${image.data || data}` : "";
}

// ---------------------------------------------------------------------- tools

/** A call of a tool, and beside it what the tool gave. */
function Exchange({ call, isHit }: { call: ToolCall; isHit: boolean }) {
  const { result } = call;
  return (
    <div class={`exchange ${result?.error ? "went-wrong" : ""}`}>
      <section aria-label={say("kind call")}>
        <h4>
          <Kind kind="call" />
          <code>
            <Said text={oneLine(call.tool, 120)} />
          </code>
          <span class="number">{say("n tokens", { count: whole(call.tokens) })}</span>
        </h4>
        <Arguments call={call} isHit={isHit} />
      </section>
      <section aria-label={say("kind result")}>
        {result ? <Result result={result} isHit={isHit} /> : <p class="muted">{say("no result")}</p>}
      </section>
    </div>
  );
}

function Result({ result, isHit }: { result: ToolResult; isHit: boolean }) {
  return (
    <>
      <h4>
        <Kind kind="result" />
        {result.error ? <span class="tag bad">{errorName(result.error)}</span> : null}
        <span class="number">{say("n tokens", { count: whole(result.tokens) })}</span>
      </h4>
      {result.parts.length ? null : <p class="muted">{say("no text")}</p>}
      <Parts parts={result.parts} item={result.id} kind="" isHit={isHit} />
    </>
  );
}

const errorName = (error: string): string =>
  error === "failed" || error === "interrupted" ? say(error) : oneLine(error, 40);

/** The arguments of a call, each under its name; as they came if they are no object. */
function Arguments({ call, isHit }: { call: ToolCall; isHit: boolean }) {
  const { asWritten } = useContext(ReadingContext);
  const fields = asWritten ? undefined : fieldsOf(call.text);
  const whole_ = (fold: string, text: string, characters: number) => (
    <Whole
      fold={`${call.id}/${fold}`}
      item={call.id}
      text={text}
      characters={characters}
      read={(page) => page.messages[0]?.calls.find(({ id }) => id === call.id)?.text}
      isHit={isHit}
      kind=""
    />
  );
  if (!fields) return whole_("", call.text, call.characters);
  return (
    <dl class="arguments">
      {fields.map(([name, value]) => (
        <div key={name} class={value.length > 60 || value.includes("\n") ? "" : "short"}>
          <dt>
            <Said text={oneLine(name, 60)} />
          </dt>
          <dd>{whole_(name, value, value.length)}</dd>
        </div>
      ))}
    </dl>
  );
}

function fieldsOf(text: string): [string, string][] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    return Object.entries(value).map(([name, each]) => [
      name,
      typeof each === "string" ? each : JSON.stringify(each, null, 2),
    ]);
  } catch {
    return undefined; // no JSON, or only its beginning was read
  }
}
