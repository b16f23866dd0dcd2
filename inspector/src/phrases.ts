// The phrases of the pages, in English and Chinese. Names in braces are filled in; [one|many] goes by the count.
import TEXTS from "./texts.json";

export type Language = "en" | "zh";

export type Key = keyof typeof TEXTS;

const KEPT = "sightline-language";

/** The language of the pages: what was chosen, else that of the browser. */
export function language(): Language {
  const kept = localStorage.getItem(KEPT);
  if (kept === "en" || kept === "zh") return kept;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export function setLanguage(chosen: Language): void {
  localStorage.setItem(KEPT, chosen);
}

/** Return a phrase in the language of the page. */
export function say(key: Key, values: Record<string, string | number> = {}): string {
  const phrase: string = TEXTS[key]?.[language()] ?? key;
  const counted = phrase.replace(/\[(\w+)\|(\w+)\]/g, (_, one: string, many: string) =>
    String(values.count) === "1" ? one : many,
  );
  return counted.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? ""));
}

/** Return the phrase for a name that the server gave; one that is not in the table as it is. */
function named(prefix: string, name: string): string {
  const key = `${prefix} ${name}`;
  return key in TEXTS ? say(key as Key) : name;
}

export const kindName = (kind: string): string => named("kind", kind);
export const levelName = (level: string): string => named("level", level);
export const sourceName = (source: string): string => named("source", source);
export const reasonText = (reason: string): string => named("reason", reason);
export const economyName = (economy: string): string => named("economy", economy);
