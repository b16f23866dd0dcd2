// Filters of a list: by kind, tool, file, level, and only errors. They stand in the address; the server applies them.
import { useEffect, useState } from "preact/hooks";
import { changeAddress, currentHash, readRoute, useSettled } from "./hooks";
import { say } from "./phrases";
import { Choice } from "./ui";

const NAMES = ["kind", "tool", "path", "level", "errors", "sort"] as const;
type Name = (typeof NAMES)[number];
export type Filters = Partial<Record<Name, string>>;

function readFilters(names: readonly Name[]): Filters {
  const { options } = readRoute(currentHash());
  return Object.fromEntries(names.map((name) => [name, options.get(name) ?? ""]));
}

/** What the address says of these filters, and what changes it. What else stands in the address stays. */
export function useFilters(names: readonly Name[]): [Filters, (change: Filters) => void] {
  const [filters, setFilters] = useState(() => readFilters(names));
  useEffect(() => {
    const read = () => setFilters(readFilters(names));
    addEventListener("hashchange", read);
    return () => removeEventListener("hashchange", read);
  }, []);
  const change = (part: Filters) => {
    setFilters({ ...filters, ...part });
    changeAddress(part);
  };
  return [filters, change];
}

/** The filters as the server is asked for them: a moment after somebody has typed. */
export function useAsked(filters: Filters): Filters {
  const asked = useSettled(JSON.stringify(filters), 250);
  return JSON.parse(asked) as Filters;
}

export function isFiltered({ sort: _, ...filters }: Filters): boolean {
  return Object.values(filters).some(Boolean);
}

interface Fields {
  filters: Filters;
  onChange: (change: Filters) => void;
  kinds?: readonly string[];
  kindName: (kind: string) => string;
  levels?: readonly string[];
  levelName?: (level: string) => string;
}

/** A button, and when somebody wants them the fields. */
export function FilterFields({ filters, onChange, kinds = [], kindName, levels = [], levelName = String }: Fields) {
  const [open, setOpen] = useState(isFiltered(filters));
  const text = (name: "tool" | "path") => (
    <label class="choice">
      <span>{say(`find ${name}`)}</span>
      <input
        type="text"
        value={filters[name]}
        onInput={(event) => onChange({ [name]: (event.currentTarget as HTMLInputElement).value })}
      />
    </label>
  );
  const choice = (name: "kind" | "level", values: readonly string[], named: (value: string) => string) =>
    values.length ? (
      <Choice
        label={say(`filter ${name}`)}
        value={filters[name] ?? ""}
        values={["", ...values]}
        onChange={(value) => onChange({ [name]: value })}
        name={(value) => (value ? named(value) : say("filter any"))}
      />
    ) : null;
  return (
    <>
      <button aria-expanded={open} onClick={() => setOpen(!open)}>
        {say(isFiltered(filters) ? "filter on" : "filter")}
      </button>
      {open ? (
        <div class="filters" role="group" aria-label={say("filter")}>
          {choice("kind", kinds, kindName)}
          {text("tool")}
          {text("path")}
          {choice("level", levels, levelName)}
          <label class="check">
            <input
              type="checkbox"
              checked={filters.errors === "true"}
              onChange={(event) => onChange({ errors: event.currentTarget.checked ? "true" : "" })}
            />
            {say("find errors")}
          </label>
        </div>
      ) : null}
    </>
  );
}
