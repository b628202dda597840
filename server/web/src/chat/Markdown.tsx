// The text of a model. It is untrusted: no markup of its own, no pictures, and a link shows where it leads.
import { memo, useDeferredValue } from "react";
import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";
import { clip, oneLine, seen, visible } from "../lib/text";

const MOST_CHARACTERS = 100_000;
/** What is longer than this, or nested deeper, is shown as it was written: reading it as markup would take too long. */
const MOST_MARKUP = 16_000;
const MOST_DEPTH = 12;
const PLUGINS = [remarkGfm];

/** Returns the address of a link as the browser would contact it; none for what could be taken for another host. */
function address(href: string): string | undefined {
  if (!URL.canParse(href)) return undefined;
  const url = new URL(href);
  const isWeb = url.protocol === "http:" || url.protocol === "https:";
  return isWeb && url.username === "" && url.password === "" ? url.href : undefined;
}

function LinkOut({ href, children }: { href?: string; children?: React.ReactNode }) {
  const to = address(href ?? "");
  if (!to) return <span>{children}</span>;
  return (
    <>
      {children}{" "}
      <a className="small" href={to} target="_blank" rel="noopener noreferrer nofollow">
        <bdi>({oneLine(to, 120)})</bdi>
      </a>
    </>
  );
}

const COMPONENTS = {
  a: LinkOut,
  img: ({ alt }: { alt?: string }) => <span className="muted">[picture{alt ? `: ${oneLine(alt, 80)}` : ""}]</span>,
  input: ({ checked }: { checked?: boolean }) => <span aria-hidden>{checked ? "☑" : "☐"}</span>,
  h1: ({ children }: { children?: React.ReactNode }) => <h3>{children}</h3>,
  h2: ({ children }: { children?: React.ReactNode }) => <h3>{children}</h3>,
  pre: ({ children }: { children?: React.ReactNode }) => <pre tabIndex={0}>{children}</pre>,
};

/** Returns whether a text may be read as markdown in reasonable time. */
function isReadable(text: string): boolean {
  const isDeep = (line: string) => (/^[\s>*+-]*/.exec(line)?.[0] ?? "").replace(/\s/g, "").length > MOST_DEPTH && /[^\s*-]/.test(line);
  return text.length <= MOST_MARKUP && !/[[\]*_~<>!`]{100}/.test(text) && !text.split("\n").some(isDeep);
}

/** While more of it comes, a text is drawn when there is time for it. */
export const Markdown = memo(function Markdown({ text, isPlain = false }: { text: string; isPlain?: boolean }) {
  const drawn = useDeferredValue(text);
  const clipped = clip(drawn, MOST_CHARACTERS);
  // The planner writes out what is not seen in a name.
  const shown = isPlain ? seen(clipped) : visible(clipped);
  return (
    <div className="answer" dir="auto">
      {isPlain ? (
        <p className="lines">{shown}</p>
      ) : isReadable(shown) ? (
        <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS}>{shown}</ReactMarkdown>
      ) : (
        <pre tabIndex={0}>{shown}</pre>
      )}
      {drawn.length > MOST_CHARACTERS && <p className="muted small">{drawn.length.toLocaleString("en")} characters; the rest is not shown.</p>}
    </div>
  );
});
