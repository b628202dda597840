// The versions of the policy: who applied each, how it differs from the active one, and the way back.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { PolicyService, type PolicyVersion } from "../gen/orion/v1/policy_pb";
import { useMe } from "../lib/session";
import { Badge, Button, Line, Loading, Time } from "../ui/basics";
import { Diff, difference } from "../ui/Diff";
import { Dialog } from "../ui/Dialog";
import { ErrorNote } from "../ui/ErrorNote";

function Compare({ version, active, onClose, onRestored }: { version: PolicyVersion; active: string; onClose: () => void; onRestored: () => void }) {
  const me = useMe();
  const { data, error, isPending } = useQuery(PolicyService.method.getPolicy, { version: version.version });
  const rollback = useMutation(PolicyService.method.rollbackPolicy, { onSuccess: ({ isApplied }) => isApplied && onRestored() });
  const diff = data ? difference(active, data.text) : "";
  return (
    <Dialog title={active === "" ? `Version ${version.version}` : `From the active version to version ${version.version}`} onClose={onClose}>
      {isPending && <Loading what="the version" />}
      <ErrorNote error={error ?? rollback.error} />
      {data && (diff === "" ? <p className="muted">The texts are the same.</p> : <Diff text={diff} />)}
      {rollback.data?.findings.map((finding) => <p key={finding.message} className="note bad"><Line text={`line ${finding.line}: ${finding.message}`} most={300} /></p>)}
      <div className="row end">
        <Button onClick={onClose}>Close</Button>
        {me.is("admin") && !version.active && <Button look="primary" busy={rollback.isPending} onClick={() => rollback.mutate({ version: version.version, note: `Restored version ${version.version} on the page.` })}>Restore this text</Button>}
      </div>
    </Dialog>
  );
}

export function Versions({ active, onRestored }: { active: string; onRestored: () => void }) {
  const { data, error } = useQuery(PolicyService.method.listPolicyVersions, {});
  const [chosen, setChosen] = useState<PolicyVersion>();
  return (
    <div className="stack">
      <ErrorNote error={error} />
      {data?.versions.length === 0 && <p className="muted">No policy was applied yet. Each device has its own grants: those of its invitation, and what was changed since.</p>}
      {data && data.versions.length > 0 && (
        <div className="panel scroll">
          <table className="stackable">
            <thead><tr><th>Version</th><th>Applied</th><th>By</th><th>Note</th><th><span className="sr">Actions</span></th></tr></thead>
            <tbody>
              {data.versions.slice(0, 100).map((version) => (
                <tr key={version.version.toString()}>
                  <td>{version.version.toString()} {version.active && <Badge tone="good">active</Badge>}{version.restores > 0n && <span className="muted small"> restores {version.restores.toString()}</span>}</td>
                  <td data-label="Applied"><Time at={version.appliedAt} short /></td>
                  <td data-label="By"><Line text={version.appliedBy} most={40} /></td>
                  <td data-label="Note"><Line text={version.note} most={120} /></td>
                  <td><Button look="small" onClick={() => setChosen(version)}>Compare</Button></td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {chosen && <Compare version={chosen} active={active} onClose={() => setChosen(undefined)} onRestored={() => { setChosen(undefined); onRestored(); }} />}
    </div>
  );
}
