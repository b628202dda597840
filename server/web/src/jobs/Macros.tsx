// This person's macros: calls in order by one name.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { useNavigate } from "react-router";
import { type Macro, MacroService } from "../gen/orion/v1/macro_pb";
import { ToolService } from "../gen/orion/v1/tool_pb";
import { refresh } from "../lib/api";
import { bytesOf, counted, object, oneLine, show } from "../lib/text";
import { Badge, Button, Empty, Field, Line, Loading, Time } from "../ui/basics";
import { Dialog } from "../ui/Dialog";
import { ErrorNote } from "../ui/ErrorNote";

const refreshMacros = () => refresh(MacroService.method.listMacros);

function Run({ macro, onClose }: { macro: Macro; onClose: () => void }) {
  const navigate = useNavigate();
  const [values, setValues] = useState<Record<string, string>>({});
  const call = useMutation(ToolService.method.callTool, {
    onSuccess: ({ call: made }) => made && void navigate(`/calls/${encodeURIComponent(made.callId)}`),
  });
  const run = () => call.mutate({ tool: "run_macro", arguments: bytesOf({ name: macro.name, parameters: values }), background: true, idempotencyKey: crypto.randomUUID() });
  return (
    <Dialog title={`Run: ${oneLine(macro.name, 60)}`} onClose={onClose}>
      <p className="muted small">Each call is decided by itself. The macro stops at the first one that does not succeed.</p>
      {macro.parameters.map((name) => (
        <Field key={name} label={oneLine(name, 60)}>
          {(props) => <input {...props} value={values[name] ?? ""} autoComplete="off" onChange={(event) => setValues({ ...values, [name]: event.target.value })} />}
        </Field>
      ))}
      <ErrorNote error={call.error} />
      <div className="row end"><Button onClick={onClose}>Back</Button><Button look="primary" busy={call.isPending} onClick={run}>Run it</Button></div>
    </Dialog>
  );
}

function Remove({ macro, onClose }: { macro: Macro; onClose: () => void }) {
  const remove = useMutation(MacroService.method.removeMacro, { onSuccess: () => { onClose(); return refreshMacros(); } });
  return (
    <Dialog title={`Remove: ${oneLine(macro.name, 60)}`} onClose={onClose}>
      <p>Its calls are forgotten, and schedules that run it fail from then on.</p>
      <ErrorNote error={remove.error} />
      <div className="row end"><Button onClick={onClose}>Keep it</Button><Button look="danger" busy={remove.isPending} onClick={() => remove.mutate({ name: macro.name })}>Remove the macro</Button></div>
    </Dialog>
  );
}

function View({ macro }: { macro: Macro }) {
  const [dialog, setDialog] = useState<"run" | "remove">();
  const close = () => setDialog(undefined);
  return (
    <section className="panel" aria-label="Macro">
      <div className="body stack">
        <div className="row">
          <h2><Line text={macro.name} most={60} mono /></h2>
          <span className="muted">{counted(macro.steps.length, "call")}, saved <Time at={macro.savedAt} /></span>
          {macro.untrusted && <Badge tone="warn">saved beside untrusted content</Badge>}
          <span className="grow" />
          <Button look="small" onClick={() => setDialog("run")}>Run…</Button>
          <Button look="small danger" onClick={() => setDialog("remove")}>Remove…</Button>
        </div>
        <ol className="small">
          {macro.steps.map((step, index) => (
            <li key={index}>
              <Line text={step.tool} most={60} mono />{step.device !== "" && <> on <Line text={step.device} most={60} /></>}{" "}
              <span className="muted"><Line text={Object.entries(object(step.arguments)).map(([name, value]) => `${name}=${show(value)}`).join("  ")} most={200} mono /></span>
            </li>
          ))}
        </ol>
      </div>
      {dialog === "run" && <Run macro={macro} onClose={close} />}
      {dialog === "remove" && <Remove macro={macro} onClose={close} />}
    </section>
  );
}

export function Macros() {
  const { data, error, isPending, refetch } = useQuery(MacroService.method.listMacros, {}, { refetchInterval: 10_000 });
  return (
    <>
      <ErrorNote error={error} retry={() => void refetch()} />
      {isPending && <Loading what="macros" />}
      {data?.macros.length === 0 && (
        <Empty title="No macro yet">
          A macro makes several calls in order by one name. With a language model, say in a chat that it should keep what it has just done; or save a file with{" "}
          <code>orion macros save NAME @FILE</code>. You alone see your macros.
        </Empty>
      )}
      {data?.macros.map((macro) => <View key={macro.name} macro={macro} />)}
    </>
  );
}
