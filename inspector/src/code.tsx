// A block of code with a few colours: comments, strings, numbers, and words that many languages have.
import { useMemo } from "preact/hooks";
import { Said } from "./said";

const MOST = 20_000; // characters that are coloured: more stands as it is
const KEYWORDS = new Set(
  `abstract and as async await begin break case catch class const continue def default defer del do done echo elif else
  elsif end enum esac except export extends extern false fi final finally fn for foreach from func function global go if
  impl implements import in include instanceof interface is lambda let local loop match mod module mut namespace new nil
  none not null or package pass private protected pub public raise readonly require rescue return select self static
  struct super switch template then this throw trait true try type typedef typeof union unless until use using var void
  when where while with yield insert into update set values create table join on order by group having limit`.split(
    /\s+/,
  ),
);
const HASHES =
  /^(|bash|console|dockerfile|elixir|ini|make(file)?|perl|php|powershell|py(thon)?|r|ruby|rb|sh|shell|toml|ya?ml|zsh)$/;
const DASHES = /^(sql|lua|haskell|hs|elm|ada)$/;
const TOKEN =
  /(?<block>\/\*[^]*?\*\/|<!--[^]*?-->)|(?<line>\/\/[^\n]*)|(?<hash>#[^\n]*)|(?<dash>--[^\n]*)|(?<string>"""[^]*?"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|(?<number>\b\d[\w.]*\b)|(?<word>[A-Za-z_]\w*)/gu;

/** A block of code. */
export function Code({ text, language }: { text: string; language: string }) {
  const name = (language.match(/^[\w+#-]{1,20}/)?.[0] ?? "").toLowerCase();
  const pieces = useMemo(
    () => (text.length > MOST ? [text] : name === "diff" || name === "patch" ? changes(text) : coloured(text, name)),
    [text, name],
  );
  return (
    <pre class="code" tabIndex={0} data-language={name || undefined} dir="ltr">
      <code>
        {pieces.map((piece, at) =>
          typeof piece === "string" ? (
            <Said key={at} text={piece} />
          ) : (
            <span key={at} class={piece.look}>
              <Said text={piece.text} />
            </span>
          ),
        )}
      </code>
    </pre>
  );
}

type Piece = string | { look: string; text: string };

function coloured(text: string, language: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    const look = lookOf(match, language);
    if (!look) continue;
    if (match.index > at) pieces.push(text.slice(at, match.index));
    pieces.push({ look, text: match[0] });
    at = match.index + match[0].length;
  }
  return [...pieces, text.slice(at)];
}

function lookOf({ groups, 0: text }: RegExpMatchArray, language: string): string {
  if (groups!.block !== undefined) return "code-comment";
  if (groups!.hash !== undefined) return HASHES.test(language) ? "code-comment" : "";
  if (groups!.dash !== undefined) return DASHES.test(language) ? "code-comment" : "";
  if (groups!.line !== undefined) return HASHES.test(language) ? "" : "code-comment";
  if (groups!.string !== undefined) return "code-string";
  if (groups!.number !== undefined) return "code-number";
  return KEYWORDS.has(language === "sql" ? text.toLowerCase() : text) ? "code-word" : "";
}

/** The lines of a diff. */
function changes(text: string): Piece[] {
  const look = (line: string) =>
    line.startsWith("@@") ? "code-number" : line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "";
  return text.split(/(?<=\n)/).map((line) => (look(line) ? { look: look(line), text: line } : line));
}
