// The text of a model. It is untrusted: no markup of its own, no pictures, and a link shows where it leads.
import ReactMarkdown from "react-markdown";
import remarkGfm from "remark-gfm";
import { oneLine, visible } from "../lib/text";

const MOST_CHARACTERS = 100_000;
const PLUGINS = [remarkGfm];

const COMPONENTS = {
  a: ({ href, children }: { href?: string; children?: React.ReactNode }) =>
    href && /^https?:/.test(href) ? (
      <>
        {children}{" "}
        <a className="small" href={href} target="_blank" rel="noopener noreferrer nofollow">
          ({oneLine(href, 120)})
        </a>
      </>
    ) : (
      <span>{children}</span>
    ),
  img: ({ alt }: { alt?: string }) => <span className="muted">[picture{alt ? `: ${oneLine(alt, 80)}` : ""}]</span>,
  input: ({ checked }: { checked?: boolean }) => <span aria-hidden>{checked ? "☑" : "☐"}</span>,
  h1: ({ children }: { children?: React.ReactNode }) => <h3>{children}</h3>,
  h2: ({ children }: { children?: React.ReactNode }) => <h3>{children}</h3>,
  pre: ({ children }: { children?: React.ReactNode }) => <pre tabIndex={0}>{children}</pre>,
};

export function Markdown({ text }: { text: string }) {
  return (
    <div className="answer" dir="auto">
      <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS}>
        {visible(text.slice(0, MOST_CHARACTERS))}
      </ReactMarkdown>
    </div>
  );
}
