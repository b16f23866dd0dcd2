// Text of others, made safe to look at, and numbers as people read them.
import { language, say } from "./phrases";

// A control character is shown by its name, another that nobody sees or that changes the direction of text by its
// number, so that no text looks different from what the model got. (Few fonts have pictures of them.)
const NAMES =
  "NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US".split(
    " ",
  );
const HIDDEN =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;

/** Return a text in which every control character can be seen. Newlines and tabs stay. */
export function visible(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(HIDDEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x20) return `⟨${NAMES[code]}⟩`;
    if (code === 0x7f) return "⟨DEL⟩";
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** Return the beginning of a text as one line. */
export function oneLine(text: string, length = 240): string {
  return visible(
    text
      .slice(0, length * 2)
      .replace(/\s+/g, " ")
      .trim(),
  ).slice(0, length);
}

/** Return the beginning of a text as one line, with a sign that more follows. */
export function beginning(text: string, length: number): string {
  const line = oneLine(text, length + 1);
  return line.length > length ? `${line.slice(0, length).trimEnd()}…` : line;
}

/** Return the end of a long path, which tells more than its beginning where there is little room. */
export function pathEnd(name: string, parts = 3, room = 40): string {
  return name.length > room && /^\S*\/\S+$/.test(name)
    ? `${room ? "…/" : ""}${name.split("/").slice(-parts).join("/")}`
    : name;
}

/** Return what is said as sentences: each begins with a capital letter and ends with a full stop. */
export function sentences(...parts: string[]): string {
  return parts
    .map((part) => part.trim())
    .filter(Boolean)
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1) + (/[.!?。！？…]$/.test(part) ? "" : "."))
    .join(" ");
}

const numbers = new Map<string, Intl.NumberFormat>();

function format(key: string, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const name = `${language()} ${key}`;
  let found = numbers.get(name);
  if (!found) numbers.set(name, (found = new Intl.NumberFormat(language(), options)));
  return found;
}

/** 12,345 */
export function whole(value: number | null | undefined): string {
  return value === null || value === undefined ? "–" : format("whole", { maximumFractionDigits: 0 }).format(value);
}

/** 12.3k: for axes and narrow places */
export function short(value: number): string {
  if (Math.abs(value) < 1000) return String(Math.round(value));
  if (Math.abs(value) < 999_500) return `${trim(value / 1000)}k`;
  return `${trim(value / 1_000_000)}M`;
}

function trim(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toFixed(1).replace(/\.0$/, "");
}

/** 42 % */
export function percent(share: number): string {
  return format("percent", { style: "percent", maximumFractionDigits: share > 0 && share < 0.1 ? 1 : 0 }).format(share);
}

/** $0.0123; a dash where no price is known */
export function dollars(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const digits = value === 0 || Math.abs(value) >= 1 ? 2 : Math.abs(value) >= 0.01 ? 3 : 5;
  return `$${value.toFixed(digits)}`;
}

/** 1.4 MB */
export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  if (value < 1000) return `${value} B`;
  return value < 1_000_000 ? `${trim(value / 1000)} kB` : `${trim(value / 1_000_000)} MB`;
}

/** "3 minutes ago", in the language of the page */
export function ago(seconds: number | null | undefined): string {
  if (!seconds) return "–";
  const past = seconds - Date.now() / 1000;
  const units: [Intl.RelativeTimeFormatUnit, number][] = [
    ["year", 31_536_000],
    ["month", 2_592_000],
    ["day", 86_400],
    ["hour", 3600],
    ["minute", 60],
  ];
  const words = new Intl.RelativeTimeFormat(language(), { numeric: "auto", style: "short" });
  for (const [unit, size] of units) if (Math.abs(past) >= size) return words.format(Math.round(past / size), unit);
  return words.format(0, "minute");
}

/** 2026-11-17 03:02:11, in the time of this machine */
export function when(timestamp: string): string {
  const date = new Date(timestamp);
  if (!timestamp || Number.isNaN(date.getTime())) return "";
  return date.toLocaleString(language() === "zh" ? "zh-CN" : "sv-SE", { hour12: false });
}

/** 0.02 s, 3.2 s, 48 s, 2 min 5 s, 3 min, 3 h 20 min, 4 h */
export function duration(seconds: number): string {
  const digits = seconds < 0.005 || seconds >= 9.95 ? 0 : seconds < 0.095 ? 2 : 1;
  if (seconds < 59.5) return say("n seconds", { seconds: seconds.toFixed(digits) });
  const [whole_, minutes] = [Math.round(seconds), Math.round(seconds / 60)];
  if (minutes < 60) return twoUnits("minutes", Math.floor(whole_ / 60), "seconds", whole_ % 60);
  return twoUnits("hours", Math.floor(minutes / 60), "minutes", minutes % 60);
}

function twoUnits(large: "minutes" | "hours", count: number, small: string, rest: number): string {
  return rest ? say(`n ${large}`, { [large]: count, [small]: rest }) : say(`n whole ${large}`, { [large]: count });
}
