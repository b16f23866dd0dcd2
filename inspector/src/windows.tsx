// The open windows: as people use them, beside what the model sees of them.
import { useState } from "preact/hooks";
import { post } from "./api";
import type { Place } from "./app";
import { asApiError, below, useEvents, useLoad } from "./hooks";
import { levelName, say } from "./phrases";
import { oneLine, visible } from "./text";
import type { Acted, WindowAction, WindowFacts, Windows } from "./types";
import { Busy, Confirm, Empty, Failure, Panel, Text } from "./ui";

/** The parameters of an action, as JSON Schema. */
interface Schema {
  type?: string;
  enum?: unknown[];
  properties?: Record<string, Schema>;
  required?: string[];
}

export function WindowsView({ session, branch }: Place) {
  const windows = useLoad<Windows>(below(session, "/windows", branch));
  useEvents(session, ["window_created", "window_updated", "window_closed", "append", "payload"], windows.reload);
  if (windows.error && !windows.data)
    return (
      <div class="page">
        <Failure error={windows.error} retry={windows.reload} />
      </div>
    );
  if (!windows.data)
    return (
      <div class="page">
        <Busy />
      </div>
    );
  if (!windows.data.windows.length) {
    return (
      <div class="page">
        <Empty title={say("no windows")}>
          <p>{say("no windows advice")}</p>
          <Text class="command" text={'/apps open todo\nsession.windows.open("todo")'} />
        </Empty>
      </div>
    );
  }
  return (
    <div class="page">
      {windows.data.windows.map((each) => (
        <OneWindow key={each.id} session={session} branch={branch} window={each} onActed={windows.reload} />
      ))}
    </div>
  );
}

type Params = Record<string, unknown>;
type Run = (action: WindowAction, params: Params, about?: string) => Promise<boolean>; // whether it was done after all

interface Question {
  action: WindowAction;
  params: Params;
  about: string; // the element that it is done to
  answer: (yes: boolean) => void;
}

function OneWindow({
  session,
  branch,
  window,
  onActed,
}: {
  session: string;
  branch: string;
  window: WindowFacts;
  onActed: () => void;
}) {
  const [outcome, setOutcome] = useState<{ good: boolean; text: string }>();
  const [asked, setAsked] = useState<Question>();
  const run: Run = async (action, params, about = "") => {
    const wanted = { action, params, about };
    if (action.asks && !(await new Promise<boolean>((answer) => setAsked({ ...wanted, answer })))) return false;
    await act(action, params);
    return true;
  };
  const act = async (action: WindowAction, params: Params) => {
    try {
      const path = below(
        session,
        `/windows/${encodeURIComponent(window.id)}/actions/${encodeURIComponent(action.id)}`,
        branch,
      );
      const acted = await post<Acted>(path, { params });
      setOutcome({
        good: acted.success,
        text: [acted.message || acted.reason, ...acted.ways].filter(Boolean).join(" · "),
      });
    } catch (error) {
      const failed = asApiError(error);
      setOutcome({ good: false, text: `${failed.message} ${failed.advice}` });
    }
    onActed();
  };
  const side = (
    <span class="muted">
      {window.running ? say("runs here") : say("as last sent")} · {levelName(window.level)}
    </span>
  );
  return (
    <Panel
      title={
        <>
          {oneLine(window.app || window.id, 60)} <span class="id">{oneLine(window.id, 60)}</span>
          {window.target ? <code>{oneLine(window.target, 120)}</code> : null}
        </>
      }
      side={side}
      class="window"
    >
      <div class="sides even">
        <section aria-label={say("for people")}>
          <h4>{say("for people")}</h4>
          <Body text={window.text} actions={window.running ? window.actions : []} run={run} />
          {window.running ? (
            <Actions actions={window.actions} run={run} text={window.text} />
          ) : (
            <p class="note">{say("not running")}</p>
          )}
          {asked ? (
            <Confirm
              title={oneLine(asked.action.label)}
              yes={say("do it")}
              onAnswer={(yes) => (setAsked(undefined), asked.answer(yes))}
            >
              <p>{say("act asks", { window: oneLine(window.app || window.id, 60) })}</p>
              {asked.about ? <p>{oneLine(asked.about, 300)}</p> : null}
              {Object.entries(asked.params).map(([name, value]) => (
                <p key={name}>
                  {oneLine(name)}: <code>{oneLine(String(value), 300)}</code>
                </p>
              ))}
            </Confirm>
          ) : null}
          {outcome ? (
            <p class={`outcome ${outcome.good ? "good" : "bad"}`} role="status">
              {visible(outcome.text)}
            </p>
          ) : null}
        </section>
        <section aria-label={say("for model")}>
          <h4>{say("for model")}</h4>
          <Text text={window.text} />
        </section>
      </div>
    </Panel>
  );
}

/** What a window shows. Its text is read as data, by a parser that runs and loads nothing. */
function Body({ text, actions, run }: { text: string; actions: WindowAction[]; run: Run }) {
  const parsed = new DOMParser().parseFromString(text, "application/xml");
  const root = parsed.documentElement;
  if (parsed.querySelector("parsererror") || root.tagName !== "Window") return <Text text={text} />;
  const child = (name: string) => [...root.children].find((each) => each.tagName === name);
  const description = child("Description")?.textContent?.trim();
  const content = child("Content");
  return (
    <div class="window-body">
      {description ? <p class="muted">{visible(description)}</p> : null}
      {content && (content.children.length || content.textContent?.trim()) ? (
        <Elements parent={content} actions={actions} run={run} />
      ) : (
        <p class="muted">{say("window empty")}</p>
      )}
    </div>
  );
}

const INNER = new Set(["id", "actions"]);

function Elements({ parent, actions, run }: { parent: Element; actions: WindowAction[]; run: Run }) {
  if (!parent.children.length) return <Text text={(parent.textContent ?? "").replace(/^\n+|\s+$/g, "")} />;
  return (
    <ul class="elements">
      {[...parent.children].map((each, index) => {
        const own = (each.getAttribute("actions") ?? "")
          .split(",")
          .map((name) => actions.find((action) => action.id === name.trim()))
          .filter((action) => action !== undefined);
        const facts = [...each.attributes]
          .filter((attribute) => !INNER.has(attribute.name))
          .map((attribute) => `${attribute.name}: ${attribute.value}`);
        const words = each.children.length ? "" : (each.textContent ?? "").trim();
        return (
          <li key={index} class="element">
            <span class="element-text">
              {words.includes("\n") ? <Text text={words} /> : visible(words)}
              {facts.length ? <small class="muted"> {visible(facts.join(" · "))}</small> : null}
            </span>
            {own.map((action) => (
              <ElementButton
                key={action.id}
                action={action}
                id={each.getAttribute("id") ?? ""}
                about={words}
                run={run}
              />
            ))}
            {each.children.length ? <Elements parent={each} actions={actions} run={run} /> : null}
          </li>
        );
      })}
    </ul>
  );
}

/** A button of one element: its action gets the element's id. What needs more is in the forms below. */
function ElementButton({ action, id, about, run }: { action: WindowAction; id: string; about: string; run: Run }) {
  const { required = [], properties } = action.parameters as Schema;
  const [name] = required;
  if (required.length !== 1 || !name) return null;
  const value = convert(id, properties?.[name]);
  return (
    <button
      class="small"
      title={oneLine(action.label)}
      aria-label={`${oneLine(action.id)} ${id}: ${oneLine(action.label)}`}
      onClick={() => void run(action, { [name]: value }, about)}
    >
      {oneLine(action.id)}
    </button>
  );
}

function convert(text: string, schema: Schema | undefined): unknown {
  if (schema?.type === "integer" || schema?.type === "number") return Number(text);
  if (schema?.type === "boolean") return text === "true";
  if (schema?.type === "array" || schema?.type === "object") {
    try {
      return JSON.parse(text);
    } catch {
      return text; // the app says what is wrong with it
    }
  }
  return text;
}

/** A form for each action. Those that stand beside the elements above are folded away. */
function Actions({ actions, run, text }: { actions: WindowAction[]; run: Run; text: string }) {
  const ofElements = new Set([...text.matchAll(/actions="([^"]*)"/g)].flatMap((found) => found[1].split(/,\s*/)));
  const isOfElement = (action: WindowAction) => ofElements.has(action.id);
  const [own, others] = [actions.filter((action) => !isOfElement(action)), actions.filter(isOfElement)];
  const forms = (some: WindowAction[]) => (
    <div class="window-actions">
      {some.map((action) => (
        <ActionForm key={action.id} action={action} run={run} />
      ))}
    </div>
  );
  return (
    <>
      {forms(own)}
      {others.length ? (
        <details class="as-table">
          <summary>{say("more actions")}</summary>
          {forms(others)}
        </details>
      ) : null}
    </>
  );
}

function ActionForm({ action, run }: { action: WindowAction; run: Run }) {
  const schema = action.parameters as Schema;
  const fields = Object.entries(schema.properties ?? {});
  const required = new Set(schema.required ?? []);
  const [values, setValues] = useState<Record<string, string>>({});
  const [busy, setBusy] = useState(false);
  const submit = (event: Event) => {
    event.preventDefault();
    const given = fields.filter(([name]) => required.has(name) || (values[name] ?? "") !== "");
    setBusy(true);
    void run(action, Object.fromEntries(given.map(([name, schema]) => [name, convert(values[name] ?? "", schema)])))
      .then((done) => done && setValues({}))
      .finally(() => setBusy(false));
  };
  return (
    <form class="action-form" onSubmit={submit} title={oneLine(action.about)}>
      {fields.map(([name, schema]) => (
        <label key={name} class="field">
          <span>
            {oneLine(name)}
            {required.has(name) ? "" : ` (${say("optional")})`}
          </span>
          <Field
            schema={schema}
            value={values[name] ?? ""}
            required={required.has(name)}
            onChange={(value) => setValues((old) => ({ ...old, [name]: value }))}
          />
        </label>
      ))}
      <button disabled={busy}>{oneLine(action.label)}</button>
    </form>
  );
}

function Field({
  schema,
  value,
  required,
  onChange,
}: {
  schema: Schema;
  value: string;
  required: boolean;
  onChange: (value: string) => void;
}) {
  const read = (event: Event) => onChange((event.currentTarget as HTMLInputElement).value);
  const choices = schema.enum?.map(String) ?? (schema.type === "boolean" ? ["true", "false"] : undefined);
  if (choices)
    return (
      <select value={value} required={required} onChange={read}>
        <option value="" />
        {choices.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    );
  if (schema.type === "integer" || schema.type === "number")
    return (
      <input
        type="number"
        step={schema.type === "integer" ? 1 : "any"}
        value={value}
        required={required}
        onInput={read}
      />
    );
  return <input type="text" value={value} required={required} onInput={read} />;
}
