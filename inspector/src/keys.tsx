// What keys do in a view: one listener for all of them, and one dialog that names them.
import { useEffect, useRef, useState } from "preact/hooks";
import { useNarrow } from "./hooks";
import { say, type Key } from "./phrases";
import { Dialog } from "./ui";

interface KeyUse {
  says: Key;
  act?: () => unknown; // none: what has the focus does it
}
type KeyUses = Record<string, KeyUse>;

const shown = new Set<{ current: KeyUses }>(); // of the parts that are on the page

/** Say what keys do while this part of a view is shown. */
export function useKeys(keys: KeyUses): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    shown.add(latest);
    return () => void shown.delete(latest);
  }, []);
}

/** Return a ref for the search field of a view, to which the key / goes. */
export function useSearchKey(): { current: HTMLInputElement | null } {
  const field = useRef<HTMLInputElement>(null);
  useKeys({ "/": { says: "key find", act: () => (field.current?.focus(), field.current?.select()) } });
  return field;
}

function usedKeys(): KeyUses {
  return Object.assign({}, ...[...shown].reverse().map((each) => each.current)) as KeyUses;
}

const TYPING = "input:not([type=checkbox]), select, textarea, [contenteditable]";
const ACTING = "a, button, summary, label";

export function isTyping(element: Element | null): boolean {
  return element?.closest(TYPING) != null;
}

/** Call what belongs to a key, unless somebody types or a dialog is open. The button and ? show all keys of the view. */
export function Keys() {
  const [asked, setAsked] = useState<KeyUses>();
  const ask = () => setAsked(usedKeys());
  useKeys({ "?": { says: "key keys", act: ask } });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const target = event.target instanceof Element ? event.target : null;
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(target)) return;
      if (document.querySelector("dialog[open]") || (event.key === "Enter" && target?.closest(ACTING))) return;
      const act = usedKeys()[event.key]?.act;
      if (act) (event.preventDefault(), act());
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, []);
  const close = () => setAsked(undefined);
  return (
    <>
      {useNarrow() ? null : (
        <button class="plain" onClick={ask} aria-label={say("keys")} title={say("keys")}>
          ?
        </button>
      )}
      {asked ? (
        <Dialog title={say("keys")} onClose={close}>
          <dl class="keys">
            {Object.entries(asked).map(([key, { says }]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{say(says)}</dd>
              </div>
            ))}
          </dl>
          <div class="answers">
            <button autofocus onClick={close}>
              {say("close")}
            </button>
          </div>
        </Dialog>
      ) : null}
    </>
  );
}
