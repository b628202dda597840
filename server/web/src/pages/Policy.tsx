// The policy file: edited with a live check, tried on recorded calls, applied, and its versions.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { keepPreviousData } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { PolicyService } from "../gen/orion/v1/policy_pb";
import { refresh } from "../lib/api";
import { useDraft } from "../lib/draft";
import { useMe } from "../lib/session";
import { Changes, WhatIf } from "../policy/Changes";
import { Editor } from "../policy/Editor";
import { OnDevices } from "../policy/OnDevices";
import { Versions } from "../policy/Versions";
import { Badge, Button, Empty, Field, Head, Loading } from "../ui/basics";
import { Diff, difference } from "../ui/Diff";
import { ErrorNote } from "../ui/ErrorNote";
import { useToast } from "../ui/toasts";

const CHECK_AFTER_MS = 700;
const FIRST = `version: 1

# Records the deletions that a person would be asked about, and decides nothing.
# With \`action: ask\` in place of the last two lines, the person is asked.
rules:
  - id: deletions
    tools: [delete_file, delete_directory]
    action: log
    would: ask
`;

/** The text once nobody has changed it for a moment, so that not every key is checked. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), CHECK_AFTER_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

interface Begun {
  text: string;
  /** The version that the text was begun from, or gone on from. */
  since: string;
}

function isBegun(value: unknown): value is Begun {
  const begun = value as Partial<Begun> | undefined;
  return typeof begun?.text === "string" && typeof begun.since === "string";
}

const isText = (value: unknown): value is string => typeof value === "string";

const refreshPolicy = () => refresh(PolicyService.method.getPolicy, PolicyService.method.listPolicyVersions);

/** `since` names the active version, in this database and no other. */
function EditPolicy({ active, version, since }: { active: string; version: bigint; since: string }) {
  const me = useMe();
  const toast = useToast();
  const [draft, setDraft] = useDraft("policy", isBegun);
  const first = active === "" ? FIRST : active;
  const text = me.is("admin") && draft ? draft.text : first;
  const setText = (next: string) => setDraft(next === first ? undefined : { text: next, since: draft?.since ?? since });
  const [begunNote, setBegunNote] = useDraft("policy note", isText);
  const note = begunNote ?? "";
  const setNote = (next: string) => setBegunNote(next === "" ? undefined : next);
  const settled = useSettled(text);
  const isChanged = text !== active;
  // What was begun is there no more.
  useEffect(() => {
    if (draft?.text === active) setDraft(undefined);
  }, [draft, active, setDraft]);
  const check = useQuery(PolicyService.method.checkPolicy, { text: settled }, { enabled: me.is("admin") && settled !== active, placeholderData: keepPreviousData, staleTime: 60_000 });
  const apply = useMutation(PolicyService.method.applyPolicy, {
    onSuccess: async ({ isApplied, version: now }) => {
      if (!isApplied) return;
      toast(`Policy version ${now?.version ?? ""} is now active.`);
      setNote("");
      setCompared(false);
      return refreshPolicy();
    },
  });
  const findings = isChanged ? (apply.data?.isApplied === false ? apply.data.findings : (check.data?.findings ?? [])) : [];
  const isOlder = isChanged && !apply.isPending && draft !== undefined && draft.since !== since;
  const { data: checked, refetch: checkAgain } = check;
  const isOfAnother = checked !== undefined && checked.activeVersion !== version;
  useEffect(() => {
    if (isOfAnother) void checkAgain();
  }, [isOfAnother, settled, version, checkAgain]);
  // Somebody else's version is one of the list, too.
  useEffect(() => void refresh(PolicyService.method.listPolicyVersions), [version]);
  const [isCompared, setCompared] = useState(false);
  if (isOlder && !isCompared) setCompared(true);
  const isCurrent = settled === text && !check.isFetching && checked?.isValid === true && !isOfAnother && !isOlder;
  return (
    <div className="stack">
      {active === "" && text === first && <p className="note">This text is an example to begin with. It changes nothing until it is applied. Devices that it does not name keep their grants; a rule that names no device is for all of them.</p>}
      {isOlder && (
        <div className="note warn stack tight" role="status">
          <p>Version {version.toString()} became active since you began this text. Applying your text takes back what that version changed and yours lacks: read the difference of the texts below.</p>
          <div><Button look="small" onClick={() => setDraft({ text, since })}>I have read it: go on from version {version.toString()}</Button></div>
        </div>
      )}
      <Editor text={text} onChange={(next) => { setText(next); apply.reset(); }} findings={findings} isReadOnly={!me.is("admin") || apply.isPending} />
      {isChanged && me.is("admin") && (
        <>
          <div className="row">{check.isFetching || settled !== text || isOfAnother ? <Badge>checking…</Badge> : check.data?.isValid ? <Badge tone="good">valid</Badge> : check.data ? <Badge tone="bad">not valid</Badge> : null}</div>
          <ErrorNote error={check.error} retry={() => void checkAgain()} />
          {check.data?.isValid && !isOfAnother && <section className="stack tight"><h2>What changes on which device</h2><Changes changes={check.data.changes} /></section>}
          <details open={isCompared}><summary>Difference of the texts</summary><Diff text={difference(active, text)} /></details>
          <section className="stack tight"><h2>What if</h2><WhatIf key={version.toString()} text={text} /></section>
          <ErrorNote error={apply.error} />
          <Field label="Note" hint="Why; it is kept with the version">{(props) => <input {...props} value={note} maxLength={500} onChange={(event) => setNote(event.target.value)} />}</Field>
          <div className="row">
            <Button look="primary" disabled={!isCurrent} busy={apply.isPending} onClick={() => apply.mutate({ text, expectedVersion: version, note })}>Apply</Button>
            <Button onClick={() => { setDraft(undefined); setNote(""); setCompared(false); apply.reset(); }}>Discard</Button>
          </div>
        </>
      )}
    </div>
  );
}

export default function Policy() {
  const me = useMe();
  const policy = useQuery(PolicyService.method.getPolicy, {}, { enabled: me.is("operator"), refetchInterval: 10_000 });
  if (!me.is("operator")) return <main className="page"><Head title="Policy" /><Empty title="Operators read the policy, admins change it">Ask why a call was denied on the call itself.</Empty></main>;
  const { data } = policy;
  const version = data?.version?.version ?? 0n;
  return (
    <main className="page">
      <Head title="Policy">{version > 0n ? `Version ${version} is active.` : `One file can say what may happen on which device.${data ? " None is applied yet." : ""}`}</Head>
      <ErrorNote error={policy.error} retry={() => void policy.refetch()} />
      {policy.isPending && <Loading what="the policy" />}
      {data?.unreadable.map((finding) => <p key={finding.message} className="note bad" role="alert">The active policy cannot be read, so every call is denied. Line {finding.line}: {finding.message}</p>)}
      {data && <EditPolicy active={data.text} version={version} since={`${version} ${data.version?.sha256 ?? ""}`} />}
      {data && data.devices.length > 0 && <OnDevices devices={data.devices} isApplied={version > 0n} />}
      {data && <section className="stack tight"><h2>Versions</h2><Versions active={data.text} onRestored={() => void refreshPolicy()} /></section>}
    </main>
  );
}
