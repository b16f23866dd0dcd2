// Markdown as elements. A tokenizer reads it, and each token becomes an element of ours: no text is ever taken as HTML.
import { Lexer, type MarkedToken, type Token, type Tokens } from "marked";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { Code } from "./code";
import { Said } from "./said";
import { say } from "./phrases";

const LINKS = /^(https?:\/\/|mailto:)/i; // what a text may lead to, if a person clicks
const PICTURE = /^data:image\/(png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/=\s]+$/; // never one that is asked for elsewhere
const LONGEST = 30_000; // characters that are read as Markdown at once: some texts take seconds for twice as many
const PARAGRAPH = 4_000; // of one paragraph: the time that one can take grows with the square of its length
const DEEPEST = 40; // lists and quotations in each other: below that a text stands as it was written

/** A text as Markdown; as it was written, if it cannot be read as that. `text` has no control characters any more. */
export function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => tokensOf(text), [text]);
  return (
    <div class="markdown" dir="auto">
      {tokens ? (
        <Tokens_ tokens={tokens} depth={0} />
      ) : (
        <pre class="text prose" dir="auto">
          <Said text={text} />
        </pre>
      )}
    </div>
  );
}

function tokensOf(text: string): Token[] | undefined {
  if (text.length > LONGEST) return undefined;
  try {
    const lexer = new Lexer({ gfm: true, breaks: true });
    lexer.blockTokens(text, lexer.tokens);
    for (const { src, tokens } of lexer.inlineQueue) {
      if (src.length > PARAGRAPH) tokens.push({ type: "text", raw: src, text: src });
      else lexer.inlineTokens(src, tokens);
    }
    return lexer.tokens;
  } catch {
    return undefined; // nested so deeply that the stack ended
  }
}

function Tokens_({ tokens, depth }: { tokens: Token[] | undefined; depth: number }) {
  return (
    <>
      {tokens?.map((token, at) => (
        <Element key={at} token={token as MarkedToken} depth={depth + 1} />
      ))}
    </>
  );
}

function Element({ token, depth }: { token: MarkedToken; depth: number }): ComponentChildren {
  if (depth > DEEPEST) return <Said text={token.raw} />;
  const inside = (from: { tokens?: Token[] }) => <Tokens_ tokens={from.tokens} depth={depth} />;
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "paragraph":
      return <p>{inside(token)}</p>;
    case "heading":
      return <p class={`heading depth-${token.depth}`}>{inside(token)}</p>; // the page's own headings stay its outline
    case "blockquote":
      return <blockquote>{inside(token)}</blockquote>;
    case "code":
      return <Code text={token.text} language={token.lang ?? ""} />;
    case "list":
      return <List list={token} depth={depth} />;
    case "table":
      return <Table table={token} depth={depth} />;
    case "hr":
      return <hr />;
    case "strong":
      return <strong>{inside(token)}</strong>;
    case "em":
      return <em>{inside(token)}</em>;
    case "del":
      return <del>{inside(token)}</del>;
    case "codespan":
      return (
        <code>
          <Said text={token.text} />
        </code>
      );
    case "br":
      return <br />;
    case "link":
      return <Link link={token}>{inside(token)}</Link>;
    case "image":
      return <Picture image={token} />;
    case "checkbox":
      return <span aria-hidden="true">{token.checked ? "☑ " : "☐ "}</span>;
    case "text":
      return token.tokens ? inside(token) : <Said text={token.text} />;
    case "escape":
      return <Said text={token.text} />;
    default:
      return <Said text={token.raw} />; // HTML among them
  }
}

function List({ list, depth }: { list: Tokens.List; depth: number }) {
  const items = list.items.map((item, at) => (
    <li key={at} class={item.task ? "task" : ""}>
      <Tokens_ tokens={item.tokens} depth={depth} />
    </li>
  ));
  return list.ordered ? <ol start={Number(list.start) || undefined}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table, depth }: { table: Tokens.Table; depth: number }) {
  const cell = (each: Tokens.TableCell) => <Tokens_ tokens={each.tokens} depth={depth} />;
  return (
    <div class="wide" tabIndex={0} role="region" aria-label={say("table")}>
      <table>
        <thead>
          <tr>
            {table.header.map((each, at) => (
              <th key={at}>{cell(each)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, number) => (
            <tr key={number}>
              {row.map((each, at) => (
                <td key={at}>{cell(each)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A link whose address can be seen: a text may say that it leads elsewhere. */
function Link({ link, children }: { link: Tokens.Link; children: ComponentChildren }) {
  if (!LINKS.test(link.href)) return <Said text={link.raw} />;
  return (
    <a href={link.href} title={link.href} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

function Picture({ image }: { image: Tokens.Image }) {
  if (!PICTURE.test(image.href)) return <Said text={image.raw} />;
  return <img class="picture" src={image.href} alt={image.text || say("image")} />;
}
