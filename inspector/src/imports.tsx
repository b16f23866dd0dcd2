// Logs that are imported while one looks: sent, followed, opened.
import { useRef, useState } from "preact/hooks";
import { get, post, query, upload } from "./api";
import { asApiError, linkTo } from "./hooks";
import { say } from "./phrases";
import { oneLine, sentences, whole } from "./text";
import type { ImportFacts } from "./types";

interface Importer {
  list: ImportFacts[];
  addFiles: (files: File[]) => void;
  addPath: (path: string) => void;
  addPaths: (paths: string[]) => void; // opens none of them
  clear: () => void;
}

const LOOK = 250; // milliseconds between two looks at an import

/** What is being imported. What is imported alone is opened when it is done. */
export function useImports(onDone: () => void): Importer {
  const [list, setList] = useState<ImportFacts[]>([]);
  const put = (id: string, state: ImportFacts) =>
    setList((old) => [...old.filter((each) => each.id !== id && each.id !== state.id), state]);
  const run = async (name: string, ask: () => Promise<ImportFacts>, opens: boolean) => {
    const waiting = waitingFor(name);
    put(waiting.id, waiting);
    try {
      let state = await ask();
      put(waiting.id, state);
      while (state.state === "running") {
        await new Promise((resolve) => setTimeout(resolve, LOOK));
        state = await get<ImportFacts>(`/api/imports/${state.id}`);
        put(state.id, state);
      }
      const [session] = state.sessions;
      if (opens && state.state === "done" && session) location.hash = linkTo(session.id, "context");
    } catch (error) {
      const failed = asApiError(error);
      put(waiting.id, {
        ...waiting,
        state: "failed",
        error: failed.type === "unreachable" ? say("unreachable") : sentences(failed.message, failed.advice),
      });
    }
    onDone();
  };
  const addFiles = async (files: File[]) => {
    for (const file of files) {
      // one after the other: a folder may hold thousands
      await run(file.name, () => upload(uploadPath(file), file, "application/octet-stream"), files.length === 1);
    }
  };
  const runPath = (path: string, opens: boolean) => run(fileName(path), () => post("/api/imports", { path }), opens);
  const addPaths = async (paths: string[]) => {
    setList((old) => [...old, ...paths.map((path) => waitingFor(fileName(path)))]);
    for (const path of paths) await runPath(path, false);
  };
  return {
    list,
    addFiles: (files) => void addFiles(files),
    addPath: (path) => void runPath(path, true),
    addPaths: (paths) => void addPaths(paths),
    clear: () => setList((old) => old.filter((each) => each.state === "running")),
  };
}

/** An import that has not begun. */
function waitingFor(name: string): ImportFacts {
  return { id: `wait ${name}`, name, path: "", state: "running", share: 0, sessions: [], error: "" };
}

function fileName(path: string): string {
  return path.split("/").pop() ?? path;
}

function uploadPath(file: File): string {
  const modified = file.lastModified > 0 ? Math.floor(file.lastModified / 1000) : null;
  return `/api/imports/upload${query({ name: file.name, modified })}`;
}

const MOST_NAMED = 6; // of more, only those that run or failed are named

/** How far each import is. */
export function Imports({ list, onClose }: { list: ImportFacts[]; onClose: () => void }) {
  if (!list.length) return null;
  const running = list.filter((each) => each.state === "running").length;
  const named = list
    .filter((each) => (each.state === "running" ? each.share : each.state === "failed" || list.length <= MOST_NAMED))
    .slice(-MOST_NAMED);
  return (
    <section class="imports" aria-label={say("imports")} aria-live="polite">
      <p class="imports-head">
        <b>{running ? say("importing n", { count: whole(running) }) : importedText(list)}</b>
        {running ? null : (
          <button class="plain" onClick={onClose}>
            {say("close")}
          </button>
        )}
      </p>
      {named.map((each) => (
        <p key={each.id} class="import">
          <span class="cut">{oneLine(each.name)}</span>
          {each.state === "running" ? <progress value={each.share} max={1} aria-label={each.name} /> : null}
          {each.state === "done" && each.sessions[0] ? (
            <a href={linkTo(each.sessions[0].id, "context")}>{say("open")}</a>
          ) : null}
          {each.state === "done" && !each.sessions.length ? <span class="muted">{say("nothing in it")}</span> : null}
          {each.state === "failed" ? <span class="bad">{oneLine(each.error, 300)}</span> : null}
        </p>
      ))}
    </section>
  );
}

/** How many were imported, and how many failed. */
function importedText(list: ImportFacts[]): string {
  const failed = list.filter((each) => each.state === "failed").length;
  const done = say("imported n", { count: whole(list.filter((each) => each.state === "done").length) });
  return failed ? `${done} · ${say("failed n", { count: whole(failed) })}` : done;
}

/** A button that lets one choose files. */
export function FileButton({ onFiles }: { onFiles: (files: File[]) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const chosen = () => onFiles([...(input.current?.files ?? [])]);
  return (
    <>
      <button onClick={() => input.current?.click()}>{say("import files")}</button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        accept=".jsonl,.json"
        aria-label={say("import files")}
        onChange={chosen}
      />
    </>
  );
}
