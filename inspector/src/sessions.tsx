// All sessions of all projects and sources: find one, open it, or drop a file to have it imported.
import { useEffect, useState } from "preact/hooks";
import { get, post, query, takeLog } from "./api";
import { useDrop } from "./drop";
import { FindFields, FoundList, isSought, useSought } from "./find";
import { Glance } from "./glance";
import { linkTo, useEvents, useNarrow, useOption, useSettled, useWhileSeen } from "./hooks";
import { FileButton, Imports, useImports } from "./imports";
import { useSearchKey } from "./keys";
import { LongList, usePages } from "./list";
import { say, sourceName } from "./phrases";
import { ago, bytes, dollars, oneLine, short, whole } from "./text";
import type { Created, ImportFacts, ServerFacts, SessionPage, SessionFacts } from "./types";
import { ActionButton, Busy, Empty, Failure, Text } from "./ui";

const COLUMNS = ["updated", "turns", "calls", "tokens", "cost", "compactions", "rereads"] as const;
const SORTS = ["title", ...COLUMNS] as const;
type Sort = (typeof SORTS)[number];
const MOST_ROWS = 500; // of an answer
const LOOK = 5000; // milliseconds between two looks at the list
const EVENTS = ["session_created", "session_deleted", "listed", "append", "payload", "compaction"];

export function SessionsView({ server }: { server: ServerFacts | undefined }) {
  const [words, setWords] = useOption("q");
  const [source, setSource] = useOption("source");
  const [project, setProject] = useOption("project");
  const [by, setBy] = useOption("sort");
  const [order, setOrder] = useOption("order");
  const sort = { by: SORTS.find((each) => each === by) ?? "updated", down: order !== "asc" };
  const [selected, setSelected] = useState(-1);
  const field = useSearchKey();
  const [sought, changeSought] = useSought();
  const finds = isSought(sought);
  const narrow = useNarrow();
  const q = useSettled(words, 200);
  const asked = { q, source, project, sort: sort.by, order: sort.down ? "desc" : "asc" };
  const pages = usePages<SessionFacts>(
    (start, limit) => `/api/sessions${query({ ...asked, start, limit })}`,
    JSON.stringify(asked),
    (answer: SessionPage) => ({ rows: answer.sessions, total: answer.total }),
    50,
  );
  useEvents(null, EVENTS, pages.reload);
  useWhileSeen(pages.reload, LOOK); // other programs begin sessions too, and send no events
  const imports = useImports(pages.reload);
  const dropping = useDrop(imports.addFiles);
  useEffect(() => {
    const log = takeLog();
    if (log) imports.addPath(log); // what is new in it comes first
  }, []);
  const first = pages.first as SessionPage | undefined;
  const open = (index: number) => {
    const row = pages.row(index);
    if (!row) return;
    if (row.file && row.state !== "session")
      imports.addPath(row.file); // what is new in it comes first
    else if (row.id) location.hash = linkTo(row.id, "context");
  };
  const sortBy = (to: Sort) => {
    setBy(to);
    setOrder((sort.by === to ? sort.down : to === "title") ? "asc" : "");
  };
  const filtered = Boolean(q || source || project);
  const running = imports.list.some((each) => each.state === "running");
  return (
    <div class={`sessions ${dropping ? "dropping" : ""}`}>
      <h1 class="unseen">{say("sessions")}</h1>
      <div class="toolbar">
        <input
          ref={field}
          type="search"
          class="search"
          placeholder={say("search sessions")}
          aria-label={say("search sessions")}
          value={words}
          disabled={finds}
          onInput={(event) => setWords((event.currentTarget as HTMLInputElement).value)}
        />
        {finds ? null : (
          <Filter
            label={say("source")}
            all={say("all sources")}
            value={source}
            counts={first?.sources}
            name={sourceName}
            onChange={setSource}
          />
        )}
        <Filter
          label={say("project")}
          all={say("all projects")}
          value={project}
          counts={first?.projects}
          name={shortPath}
          onChange={setProject}
        />
        <FileButton onFiles={imports.addFiles} />
        {server?.model ? <ActionButton label={say("new chat")} run={beginChat} /> : null}
        <span class="grow" />
        <span class="muted" role="status">
          {finds ? null : status(pages.total, first)}
        </span>
      </div>
      <FindFields sought={sought} onChange={changeSought} />
      <Imports list={imports.list} onClose={imports.clear} />
      {finds ? null : (
        <NotImported
          count={first?.files}
          importing={running}
          asked={{ q, source, project }}
          onImport={imports.addPaths}
        />
      )}
      {finds ? null : <Glance project={project} />}
      {finds ? <FoundList sought={sought} project={project} onImport={imports.addPath} /> : null}
      {pages.error && pages.total === undefined ? <Failure error={pages.error} retry={pages.reload} /> : null}
      {pages.total === undefined && !pages.error ? <Busy /> : null}
      {pages.total === 0 && !finds ? <NoSessions filtered={filtered} server={server} /> : null}
      {pages.total && !finds ? (
        <div class="session-table">
          {narrow ? null : <Columns sort={sort.by} down={sort.down} onSort={sortBy} />}
          <LongList
            id="session"
            label={say("sessions")}
            count={pages.total}
            rowHeight={narrow ? 92 : 54}
            selected={selected}
            onSelect={setSelected}
            opensAtClick
            onOpen={open}
            onRange={pages.want}
            row={(index) => <Row row={pages.row(index)} narrow={narrow} importing={imports.list} />}
          />
        </div>
      ) : null}
      {dropping ? (
        <div class="drop-note" aria-hidden="true">
          {say("drop here")}
        </div>
      ) : null}
    </div>
  );
}

interface NotImportedProps {
  count: number | undefined;
  importing: boolean;
  asked: { q: string; source: string; project: string };
  onImport: (files: string[]) => void;
}

/** Says how many files have no figures yet, and imports them all. */
function NotImported({ count, importing, asked, onImport }: NotImportedProps) {
  if (!count || importing) return null;
  const importAll = async () => {
    const files: string[] = [];
    for (let start: number | null = 0; start !== null;) {
      const page: SessionPage = await get<SessionPage>(`/api/sessions${query({ ...asked, start, limit: MOST_ROWS })}`);
      files.push(...page.sessions.flatMap(({ file, state }) => (file && state !== "session" ? [file] : [])));
      start = page.next;
    }
    onImport(files);
  };
  return (
    <p class="not-imported">
      <span>{say("files without figures", { count: whole(count) })}</span>
      <ActionButton label={say("import all")} run={importAll} />
    </p>
  );
}

/** Begin a session and talk in it. */
async function beginChat(): Promise<void> {
  const made = await post<Created>("/api/sessions");
  location.hash = linkTo(made.id, "chat");
}

function status(total: number | undefined, page: SessionPage | undefined): string {
  if (total === undefined) return "";
  const counted = say("n sessions", { count: whole(total) });
  return page?.pending ? `${counted} · ${say("counting", { count: whole(page.pending) })}` : counted;
}

/** The end of a path, which tells more than its beginning. */
function shortPath(path: string): string {
  const parts = path.split("/").filter(Boolean);
  return parts.length > 2 ? `…/${parts.slice(-2).join("/")}` : path;
}

interface FilterProps {
  label: string;
  all: string;
  value: string;
  counts: Record<string, number> | undefined;
  name: (value: string) => string;
  onChange: (value: string) => void;
}

function Filter({ label, all, value, counts, name, onChange }: FilterProps) {
  const names = Object.entries(counts ?? {}).sort((a, b) => b[1] - a[1]);
  if (names.length < 2 && !value) return null;
  return (
    <select
      class="filter"
      aria-label={label}
      value={value}
      onChange={(event) => onChange((event.currentTarget as HTMLSelectElement).value)}
    >
      <option value="">{all}</option>
      {names.map(([each, count]) => (
        <option key={each} value={each}>{`${oneLine(name(each), 60)} (${count})`}</option>
      ))}
    </select>
  );
}

function Columns({ sort, down, onSort }: { sort: Sort; down: boolean; onSort: (by: Sort) => void }) {
  const head = (by: Sort) => (
    <button
      class="column"
      onClick={() => onSort(by)}
      aria-pressed={sort === by}
      title={say("sort by", { name: say(`column ${by}`) })}
    >
      {say(`column ${by}`)}
      <i aria-hidden="true">{sort === by ? (down ? "↓" : "↑") : ""}</i>
    </button>
  );
  return (
    <div class="session-grid columns" role="group" aria-label={say("sort")}>
      {head("title")}
      {COLUMNS.map((each) => (
        <span key={each}>{head(each)}</span>
      ))}
    </div>
  );
}

function Row({ row, narrow, importing }: { row: SessionFacts | undefined; narrow: boolean; importing: ImportFacts[] }) {
  if (!row)
    return (
      <div class="session-grid waiting">
        <span class="ghost" />
      </div>
    );
  const running = importing.find((each) => each.state === "running" && row.file?.endsWith(each.name));
  const facts = narrow ? (
    <Facts row={row} />
  ) : (
    COLUMNS.map((column) => (
      <span key={column} class="number">
        {cell(row, column)}
      </span>
    ))
  );
  return (
    <div class={narrow ? "session-card" : "session-grid"}>
      <span class="session-title">
        <b>{oneLine(row.title, 200) || row.name}</b>
        <small>
          {row.live ? <span class="live">{say("live")}</span> : null}
          {row.state === "file" ? <span class="tag">{running ? say("importing") : say("not imported")}</span> : null}
          {row.state === "grown" ? <span class="tag">{say("has grown")}</span> : null}
          <span>{sourceName(row.source)}</span>
          <span class="cut" title={row.project}>
            {oneLine(shortPath(row.project))}
          </span>
          {row.error ? <span class="bad cut">{oneLine(row.error, 160)}</span> : null}
        </small>
      </span>
      {facts}
    </div>
  );
}

function Facts({ row }: { row: SessionFacts }) {
  const parts = row.ready
    ? [
        say("n turns", { count: whole(row.turns) }),
        `${short(row.tokens)} ${say("tokens")}`,
        row.cost === null ? "" : dollars(row.cost),
      ]
    : [bytes(row.bytes)];
  return <small class="muted">{[ago(row.updated), ...parts].filter(Boolean).join(" · ")}</small>;
}

function cell(row: SessionFacts, column: (typeof COLUMNS)[number]): string {
  if (column === "updated") return ago(row.updated);
  if (!row.ready) return column === "tokens" ? bytes(row.bytes) : row.id ? "…" : "";
  if (column === "cost") return dollars(row.cost);
  if (column === "tokens") return short(row.tokens);
  return whole(row[column]);
}

function NoSessions({ filtered, server }: { filtered: boolean; server: ServerFacts | undefined }) {
  if (filtered)
    return (
      <Empty title={say("nothing matches")}>
        <p>{say("nothing matches advice")}</p>
      </Empty>
    );
  return (
    <Empty title={say("no sessions")}>
      <p>{say("no sessions advice")}</p>
      <Text class="command" text={"sightline inspect ~/.claude/projects\nsightline wrap -- claude\nsightline chat"} />
      {server?.project ? <p class="muted">{say("looked in", { place: server.project })}</p> : null}
    </Empty>
  );
}
