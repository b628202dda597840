// A device that shows a code: an admin types it, sees what asks, types its words, and then sees two for the device.
import { Code, ConnectError } from "@connectrpc/connect";
import { useMutation } from "@connectrpc/connect-query";
import { type FormEvent, useState } from "react";
import { DeviceService, type PendingEnrollment } from "../gen/orion/v1/device_pb";
import { useSettled } from "../lib/settled";
import { Button, Field, Line, Time } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";
import { useToast } from "../ui/toasts";

export function ByCode({ grants, labels }: { grants: string; labels: string[] }) {
  const [code, setCode] = useState("");
  const [asking, setAsking] = useState<PendingEnrollment>();
  const find = useMutation(DeviceService.method.findEnrollment, { onSuccess: ({ enrollment }) => setAsking(enrollment) });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    find.mutate({ code });
  };
  const done = () => {
    setAsking(undefined);
    setCode("");
  };
  return (
    <section className="panel" aria-label="A device that shows a code">
      <header><h2>Or type the code that a device shows</h2></header>
      <div className="body stack">
        {asking ? <Asking code={code} asking={asking} grants={grants} labels={labels} onDone={done} /> : (
          <form className="stack" onSubmit={submit}>
            <Field label="Code" hint="On the device: orion-agent enroll --server, with this backend's address.">
              {(props) => <input {...props} className="mono" value={code} onChange={(event) => setCode(event.target.value)} placeholder="XXXX-XXXX" maxLength={20} autoComplete="off" autoCapitalize="characters" spellCheck={false} />}
            </Field>
            <ErrorNote error={find.error} />
            <div><Button type="submit" busy={find.isPending} disabled={code.trim() === ""}>See what asks</Button></div>
          </form>
        )}
      </div>
    </section>
  );
}

interface AskingProps {
  code: string;
  asking: PendingEnrollment;
  grants: string;
  labels: string[];
  onDone: () => void;
}

function Asking({ code, asking, grants, labels, onDone }: AskingProps) {
  const toast = useToast();
  const isSettled = useSettled();
  const [name, setName] = useState(asking.suggestedName);
  const [words, setWords] = useState("");
  const [answer, setAnswer] = useState("");
  // A request that has ended is not asked about again.
  const onError = (error: unknown) => {
    if (ConnectError.from(error).code !== Code.NotFound) return;
    toast("This device asks no more. Ask again on it, which shows another code.");
    onDone();
  };
  const confirm = useMutation(DeviceService.method.confirmEnrollment, { onSuccess: (confirmed) => setAnswer(confirmed.answer), onError });
  const refuse = useMutation(DeviceService.method.refuseEnrollment, { onSuccess: () => { toast("The device is refused."); onDone(); }, onError });
  if (answer !== "") {
    return (
      <>
        <p role="status">Confirmed. On the device, type:</p>
        <p className="words">{answer.split("-").map((word, index) => <code key={index}>{word}</code>)}</p>
        <p className="small muted">The device asked from <Line text={asking.address} most={60} />. It enrols by itself once these words are typed there, within ten minutes.</p>
        <div><Button onClick={onDone}>Done</Button></div>
      </>
    );
  }
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    confirm.mutate({ code, words, name: name.trim(), grants, labels });
  };
  return (
    <form className="stack" onSubmit={submit}>
      <p><strong><Line text={asking.address} most={60} /></strong> asks, since <Time at={asking.requestedAt} />, until <Time at={asking.expiresAt} />. It says that it is <Line text={asking.hostname} most={80} />, on <Line text={asking.platform} most={40} />, with version <Line text={asking.agentVersion} most={40} />.</p>
      <Field label="Words" hint="Type them only from the device in front of you. A code that somebody sent you may be of a device of theirs.">
        {(props) => <input {...props} className="mono" value={words} onChange={(event) => setWords(event.target.value)} maxLength={100} autoComplete="off" autoCapitalize="none" spellCheck={false} />}
      </Field>
      <Field label="Name of the device" hint="It starts with the permissions and labels that are chosen above.">
        {(props) => <input {...props} value={name} onChange={(event) => setName(event.target.value)} autoComplete="off" autoCapitalize="none" />}
      </Field>
      <ErrorNote error={confirm.error ?? refuse.error} />
      <div className="row">
        <Button type="submit" look="primary" disabled={!isSettled || words.trim() === ""} busy={confirm.isPending}>Confirm</Button>
        <Button look="danger" disabled={!isSettled} busy={refuse.isPending} onClick={() => refuse.mutate({ code })}>Refuse</Button>
        <Button onClick={onDone}>Back</Button>
      </div>
    </form>
  );
}
