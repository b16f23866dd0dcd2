// Find what was said in all sessions, as `sightline find` does: the words, what else must be so, and what was found.
import { useEffect, useState } from "preact/hooks";
import { get, query } from "./api";
import type { ApiError } from "./api";
import { asApiError, changeAddress, linkTo, readRoute, useSettled } from "./hooks";
import { say, sourceName } from "./phrases";
import { oneLine, visible, when, whole } from "./text";
import type { FoundMessage, FoundSession, FoundSessions } from "./types";
import { Busy, Empty, Failure, Kind } from "./ui";

const NAMES = ["find", "tool", "path", "since", "until", "errors"] as const;
const PAUSE = 300; // milliseconds until it is asked again: a log is long, or another program reads the logs

/** What is looked for. All of it stands in the address, so that who comes back sees it again. */
export type Sought = Record<(typeof NAMES)[number], string>;

/** What the address says. */
function readSought(): Sought {
  const { options } = readRoute();
  return Object.fromEntries(NAMES.map((name) => [name, options.get(name) ?? ""])) as Sought;
}

export function isSought(sought: Sought): boolean {
  return Boolean(sought.find.trim() || sought.tool.trim() || sought.path.trim()); // a day alone finds nothing
}

export function useSought(): [Sought, (change: Partial<Sought>) => void] {
  const [sought, setSought] = useState(readSought);
  useEffect(() => {
    const read = () => setSought(readSought());
    addEventListener("hashchange", read);
    return () => removeEventListener("hashchange", read);
  }, []);
  const change = (part: Partial<Sought>) => {
    setSought({ ...sought, ...part });
    changeAddress(part);
  };
  return [sought, change];
}

/** The fields: the words, and when somebody wants them the others. */
export function FindFields({ sought, onChange }: { sought: Sought; onChange: (change: Partial<Sought>) => void }) {
  const [more, setMore] = useState(NAMES.some((name) => name !== "find" && sought[name]));
  const change = (name: keyof Sought) => (event: Event) =>
    onChange({ [name]: (event.currentTarget as HTMLInputElement).value });
  const text = (name: "tool" | "path") => (
    <label class="choice">
      <span>{say(`find ${name}`)}</span>
      <input type="text" value={sought[name]} onInput={change(name)} />
    </label>
  );
  const day = (name: "since" | "until") => (
    <label class="choice">
      <span>{say(`find ${name}`)}</span>
      <input type="date" value={sought[name]} onInput={change(name)} />
    </label>
  );
  return (
    <div class="toolbar find-all" role="search">
      <input
        type="search"
        class="search"
        placeholder={say("find in sessions")}
        aria-label={say("find in sessions")}
        title={say("find in sessions about")}
        value={sought.find}
        onInput={change("find")}
      />
      <button aria-expanded={more} onClick={() => setMore(!more)}>
        {say("find more")}
      </button>
      {more ? (
        <>
          {text("tool")}
          {text("path")}
          {day("since")}
          {day("until")}
          <label class="check">
            <input
              type="checkbox"
              checked={sought.errors === "true"}
              onChange={(event) => onChange({ errors: event.currentTarget.checked ? "true" : "" })}
            />
            {say("find errors")}
          </label>
        </>
      ) : null}
    </div>
  );
}

interface Found {
  answer?: FoundSessions;
  error?: ApiError;
}

/** Ask again as long as logs are still to be read: each answer has what was found so far. */
function useFound(path: string): Found {
  const [found, setFound] = useState<Found>({});
  useEffect(() => {
    const stop = new AbortController();
    setFound((old) => ({ answer: old.answer })); // what was found before stays until there is something else
    const read = async () => {
      let last = Infinity;
      while (last && !stop.signal.aborted) {
        const answer: FoundSessions = await get<FoundSessions>(path, stop.signal);
        setFound({ answer });
        if (answer.unread === last) await new Promise((resolve) => setTimeout(resolve, PAUSE));
        last = answer.unread;
      }
    };
    read().catch((error) => stop.signal.aborted || setFound({ error: asApiError(error) }));
    return () => stop.abort();
  }, [path]);
  return found;
}

interface Props {
  sought: Sought;
  project: string;
  onImport: (file: string) => void;
}

/** What was found: the sessions that match best, and in each the messages. */
export function FoundList({ sought, project, onImport }: Props) {
  const { find, ...others } = sought;
  const path = useSettled(`/api/find${query({ q: find.trim(), ...others, project })}`, 350);
  const { answer, error } = useFound(path);
  if (error) return <Failure error={error} />;
  if (!answer) return <Busy />;
  return (
    <div class="found">
      <p class="muted" role="status">
        {say("n sessions", { count: whole(answer.sessions.length) })}
        {answer.unread ? ` · ${say("find reading", { count: whole(answer.unread) })}` : null}
      </p>
      {!answer.sessions.length && !answer.unread ? (
        <Empty title={say("nothing found")}>
          <p>{say("find nothing advice")}</p>
        </Empty>
      ) : null}
      <ul>
        {answer.sessions.map((session) => (
          <SessionHits key={session.id} session={session} phrase={phraseOf(find)} onImport={onImport} />
        ))}
      </ul>
    </div>
  );
}

/** The first phrase of a line; a transcript can mark that. */
function phraseOf(line: string): string {
  return /"([^"]+)"/.exec(line)?.[1] ?? "";
}

function SessionHits({
  session,
  phrase,
  onImport,
}: { session: FoundSession; phrase: string } & Pick<Props, "onImport">) {
  return (
    <li class="found-session">
      <h2 class="cut">{oneLine(session.title, 200) || oneLine(session.id)}</h2>
      <p class="muted">
        {[sourceName(session.source), oneLine(session.project), when(new Date(session.updated * 1000).toISOString())]
          .filter(Boolean)
          .join(" · ")}
        {session.file ? (
          <button class="small" onClick={() => onImport(session.file!)}>
            {say("not imported")}
          </button>
        ) : null}
      </p>
      <ul>
        {session.hits.map((hit) => (
          <li key={hit.id}>
            {session.file ? <Hit hit={hit} /> : <HitLink session={session} hit={hit} phrase={phrase} />}
          </li>
        ))}
      </ul>
    </li>
  );
}

function HitLink({ session, hit, phrase }: { session: FoundSession; hit: FoundMessage; phrase: string }) {
  const longest = hit.snippet
    .filter((part) => part.match)
    .map((part) => part.text)
    .sort((a, b) => b.length - a.length)[0];
  return (
    <a class="hit" href={linkTo(session.id, "transcript", hit.id, { find: phrase || (longest ?? "") })}>
      <Hit hit={hit} />
    </a>
  );
}

function Hit({ hit }: { hit: FoundMessage }) {
  return (
    <>
      <span class="row-first">
        <Kind kind={hit.kind === "tool" ? "result" : hit.kind} />
        <span class="muted">{when(hit.when)}</span>
        {hit.failed ? <span class="tag bad">{say("failed")}</span> : null}
      </span>
      <span class="hit-text">
        {hit.snippet.map((part, at) => (part.match ? <mark key={at}>{visible(part.text)}</mark> : visible(part.text)))}
      </span>
    </>
  );
}
