// The catalogue of tools, and one tool with a form to try it.
import { useQuery } from "@connectrpc/connect-query";
import { useDeferredValue, useState } from "react";
import { Link, NavLink, useParams } from "react-router";
import { type Tool, ToolService } from "../gen/orion/v1/tool_pb";
import { riskOf } from "../lib/call";
import { title } from "../lib/text";
import { CustomTools } from "../tools/CustomTools";
import { Schema, TryTool } from "../tools/TryTool";
import { Badge, Empty, Head, Line, Loading } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";

function Risk({ tool }: { tool: Tool }) {
  const risk = riskOf(tool.risk);
  return <Badge tone={risk.tone}>{risk.text}</Badge>;
}

function Detail({ tool }: { tool: Tool }) {
  return (
    <div className="panel beside">
      <div className="body stack">
        <Link className="small only-phone" to="/tools">← All tools</Link>
        <div className="row"><h2 className="mono">{tool.name}</h2><Risk tool={tool} />{tool.hasEffects ? <Badge>changes something</Badge> : <Badge>only reads</Badge>}{tool.undo && <Badge tone="good">can be undone</Badge>}</div>
        <p><Line text={tool.description} most={1_000} /></p>
        <dl className="facts small">
          <dt>Capability</dt><dd>{tool.permissions.join(", ") || "none"}</dd>
          {tool.aliases.length > 0 && <><dt>Other names</dt><dd>{tool.aliases.join(", ")}</dd></>}
          <dt>Runs on</dt><dd>{tool.allowedDevices.includes("all") ? "every device" : tool.allowedDevices.join(", ")}</dd>
          {tool.untrusted && <><dt>Result</dt><dd>may contain untrusted content</dd></>}
        </dl>
        <TryTool tool={tool} />
        <h2>Arguments</h2>
        <Schema schema={tool.argumentsSchema} />
      </div>
    </div>
  );
}

export default function Tools() {
  const { name } = useParams();
  const [text, setText] = useState("");
  const wanted = useDeferredValue(text).toLowerCase();
  const { data, error, isPending, refetch } = useQuery(ToolService.method.listTools, {}, { staleTime: 60_000 });
  const tools = (data?.tools ?? []).filter((tool) => `${tool.name} ${tool.aliases.join(" ")} ${tool.description} ${tool.category}`.toLowerCase().includes(wanted));
  const categories = [...new Set(tools.map(({ category }) => category))].toSorted();
  const chosen = data?.tools.find((tool) => tool.name === name);
  return (
    <main className="page">
      <Head title="Tools">What a person or a model can ask a device for. Each call is decided by the policy, whoever makes it.</Head>
      <ErrorNote error={error} retry={() => void refetch()} />
      {isPending && <Loading what="tools" />}
      <CustomTools />
      <div className={name ? "split detail" : "split"}>
        <div className="stack tight list-side">
          <input type="search" aria-label="Search tools" placeholder="Search tools" value={text} onChange={(event) => setText(event.target.value)} />
          {categories.map((category) => (
            <section key={category} className="stack tight">
              <h3 className="muted">{title(category)}</h3>
              <nav className="list" aria-label={title(category)}>
                {tools.filter((tool) => tool.category === category).map((tool) => (
                  <NavLink key={tool.name} to={`/tools/${encodeURIComponent(tool.name)}`}>
                    <div className="row"><span className="mono grow clip">{tool.name}</span>{tool.risk > 1 && <Risk tool={tool} />}</div>
                  </NavLink>
                ))}
              </nav>
            </section>
          ))}
          {data && tools.length === 0 && <p className="muted">No tool has this in its name or description.</p>}
        </div>
        {chosen && <Detail key={chosen.name} tool={chosen} />}
        {data && name && !chosen && <Empty title="There is no such tool" action={<Link className="button" to="/tools">All tools</Link>}>The name may be mistyped, or it is a tool of one device.</Empty>}
        {!name && <div className="wide-only"><Empty title="Choose a tool">Its arguments and a form to try it appear here. A preview changes nothing.</Empty></div>}
      </div>
    </main>
  );
}
