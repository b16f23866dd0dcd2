// Small parts that every view is made of.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { ApiError } from "./api";
import { asApiError } from "./hooks";
import { kindName, levelName, say, type Key } from "./phrases";
import { visible } from "./text";

/** Text of others: always a text node, with every control character made visible. */
export function Text({ text, class: name = "" }: { text: string; class?: string }) {
  return (
    <pre class={`text ${name}`} dir="auto">
      {visible(text)}
    </pre>
  );
}

/** The kind of an item, with its colour. */
export function Kind({ kind }: { kind: string }) {
  return (
    <span class="kind">
      <i class={`swatch kind-${kind}`} aria-hidden="true" />
      {kindName(kind)}
    </span>
  );
}

/** A line of a legend: a swatch of this look, and what it means. */
export function LegendLine({ look, children }: { look: string; children: ComponentChildren }) {
  return (
    <li>
      <span class="kind">
        <i class={`swatch ${look}`} aria-hidden="true" />
        {children}
      </span>
    </li>
  );
}

/** The level of detail of an item. */
export function Level({ level }: { level: string }) {
  return <span class={`level level-${level}`}>{levelName(level)}</span>;
}

export function Stat({
  label,
  value,
  note,
  title,
}: {
  label: string;
  value: ComponentChildren;
  note?: ComponentChildren;
  title?: string;
}) {
  return (
    <div class="stat" title={title}>
      <dt>{label}</dt>
      <dd>
        <b>{value}</b>
        {note ? <small>{note}</small> : null}
      </dd>
    </div>
  );
}

/** What is shown where there is nothing, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** Something is being read. Drawn only after a moment, so that what comes at once does not flicker. */
export function Busy({ label }: { label?: string }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 180);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class={`busy ${late ? "" : "early"}`} role="status">
      <span class="busy-bar" aria-hidden="true" />
      {label ?? say("loading")}
    </div>
  );
}

/** A request failed: why, what to do, and a button to try again. */
export function Failure({ error, retry }: { error: ApiError; retry?: () => void }) {
  return (
    <div class="failure" role="alert">
      <p class="empty-title">{error.type === "unreachable" ? say("unreachable") : visible(error.message)}</p>
      <p>{error.type === "unreachable" ? say("unreachable advice") : visible(error.advice)}</p>
      {retry ? <button onClick={retry}>{say("retry")}</button> : null}
    </div>
  );
}

interface ActionProps {
  label: string;
  run: () => Promise<unknown>;
  done?: () => void;
  primary?: boolean;
  disabled?: boolean;
  title?: string;
  told?: string; // said when it was done, where nothing else on the page shows it
}

/** A button that does something on the server, and says beside it if that failed. */
export function ActionButton({ label, run, done, primary, disabled, title, told }: ActionProps) {
  const [ended, setEnded] = useState(false);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError>();
  const click = () => {
    setBusy(true);
    setError(undefined);
    setEnded(false);
    run()
      .then(
        () => (setEnded(true), done?.()),
        (failed) => setError(asApiError(failed)),
      )
      .finally(() => setBusy(false));
  };
  return (
    <span class="action">
      <button
        class={primary ? "primary" : ""}
        disabled={busy || disabled}
        onClick={click}
        title={title}
        aria-busy={busy}
      >
        {label}
      </button>
      {ended && told ? (
        <span class="action-told" role="status">
          {told}
        </span>
      ) : null}
      {error ? (
        <span class="action-error" role="alert">
          {visible(error.message)}
        </span>
      ) : null}
    </span>
  );
}

/** A part of a page with its own heading. */
export function Panel({
  title,
  side,
  children,
  class: name = "",
}: {
  title?: ComponentChildren;
  side?: ComponentChildren;
  children: ComponentChildren;
  class?: string;
}) {
  return (
    <section class={`panel ${name}`}>
      {title || side ? (
        <header class="panel-head">
          {title ? <h2>{title}</h2> : null}
          {side ? <div class="panel-side">{side}</div> : null}
        </header>
      ) : null}
      {children}
    </section>
  );
}

/** A choice among a few values. */
export function Choice<T extends string>({
  label,
  value,
  values,
  onChange,
  name,
}: {
  label: string;
  value: T;
  values: readonly T[];
  onChange: (value: T) => void;
  name?: (value: T) => string;
}) {
  return (
    <label class="choice">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange((event.currentTarget as HTMLSelectElement).value as T)}>
        {values.map((each) => (
          <option key={each} value={each}>
            {name ? name(each) : each}
          </option>
        ))}
      </select>
    </label>
  );
}

/** A box for the number of a call: one that there is not becomes the nearest, an empty box is `undefined`. */
export function CallBox({
  label,
  value,
  calls,
  onChange,
  ...others
}: {
  label: string;
  value: number | undefined;
  calls: number;
  onChange: (call: number | undefined) => void;
  placeholder?: string;
  title?: string;
  disabled?: boolean;
}) {
  const [typed, setTyped] = useState<string>(); // kept while somebody types, however often the page is drawn again
  const read = (text: string) => {
    const number = Math.round(Number(text));
    return text.trim() && Number.isFinite(number) ? Math.min(Math.max(number, 1), calls) : undefined;
  };
  return (
    <label class="choice">
      <span>{label}</span>
      <input
        type="number"
        min={1}
        max={calls}
        value={typed ?? value ?? ""}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onBlur={() => setTyped(undefined)} // after `change`, which does not come where the text is as it was before
        onChange={(event) => {
          setTyped(undefined);
          onChange(read(event.currentTarget.value));
        }}
        {...others}
      />
    </label>
  );
}

/** How much of a whole: a thin bar. */
export function Share({ share, kind = "" }: { share: number; kind?: string }) {
  const width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  return (
    <span class="share" aria-hidden="true">
      <i class={kind ? `kind-${kind}` : ""} style={{ width }} />
    </span>
  );
}

/** Rows of a chart as a table, for who does not see the chart or wants the numbers. */
export function AsTable({ caption, head, rows }: { caption: string; head: string[]; rows: ComponentChildren[][] }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="as-table" onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
      <summary>{say("as table")}</summary>
      {open ? (
        <div class="scroll" tabIndex={0} role="region" aria-label={caption}>
          <table>
            <caption class="unseen">{caption}</caption>
            <thead>
              <tr>
                {head.map((each) => (
                  <th key={each} scope="col">
                    {each}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row, index) => (
                <tr key={index}>
                  {row.map((cell, column) => (
                    <td key={column}>{cell}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
    </details>
  );
}

/** A question before the whole page, such as for the token. */
export function Dialog({
  title,
  children,
  onClose,
}: {
  title: string;
  children: ComponentChildren;
  onClose?: () => void;
}) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    box.current?.showModal();
    return () => {
      box.current?.close();
      if (before instanceof HTMLElement) before.focus({ preventScroll: true }); // what opened it; the browser forgets it
    };
  }, []);
  const onCancel = (event: Event) => (onClose ? onClose() : event.preventDefault());
  return (
    <dialog ref={box} aria-label={title} onCancel={onCancel}>
      <h2>{title}</h2>
      {children}
    </dialog>
  );
}

/** Ask before something is done that deletes or runs something. Escape and the first button leave it. */
export function Confirm({
  title,
  yes,
  children,
  onAnswer,
}: {
  title: string;
  yes: string;
  children: ComponentChildren;
  onAnswer: (yes: boolean) => void;
}) {
  return (
    <Dialog title={title} onClose={() => onAnswer(false)}>
      {children}
      <div class="answers">
        <button autofocus onClick={() => onAnswer(false)}>
          {say("leave it")}
        </button>
        <button class="primary" onClick={() => onAnswer(true)}>
          {yes}
        </button>
      </div>
    </Dialog>
  );
}

export type { JSX, Key };
