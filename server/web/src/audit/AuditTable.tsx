// Rows of the audit log.
import { memo, useCallback, useState } from "react";
import { Link } from "react-router";
import type { AuditRow } from "../gen/orion/v1/audit_pb";
import { json } from "../lib/text";
import { fullTime } from "../lib/time";
import { Block, Button, Line } from "../ui/basics";

const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

function More({ row }: { row: AuditRow }) {
  return (
    <tr>
      <td colSpan={7}>
        <div className="stack tight">
          <span className="small muted">Row {row.seq.toString()} · hash <span className="mono break">{hex(row.hash)}</span></span>
          <Block text={JSON.stringify(json(row.body) ?? row.body, null, 2)} label="What was recorded" />
          {row.callId !== "" && <Link className="small" to={`/calls/${encodeURIComponent(row.callId)}`}>The call</Link>}
        </div>
      </td>
    </tr>
  );
}

/** When a row was written, and its number: the log is in the order of these. */
function Written({ row }: { row: AuditRow }) {
  return (
    <div>
      <time dateTime={new Date(Number(row.at)).toISOString()}>{fullTime(row.at)}</time> <span className="small muted">#{row.seq.toString()}</span>
    </div>
  );
}

/** Drawn again only where it changes: a long list stays quick while more rows are added. */
const Row = memo(function Row({ row, isOpen, toggle }: { row: AuditRow; isOpen: boolean; toggle: (seq: bigint) => void }) {
  return (
    <>
      <tr>
        <td data-label="When"><Written row={row} /></td>
        <td data-label="What"><Line text={row.kind} most={60} mono /></td>
        <td data-label="Who"><Line text={row.user} most={40} /></td>
        <td data-label="Device"><Line text={row.device} most={40} /></td>
        <td data-label="Tool"><Line text={row.tool} most={40} mono /></td>
        <td data-label="Result"><Line text={row.result} most={60} /></td>
        <td><Button look="small quiet" aria-expanded={isOpen} onClick={() => toggle(row.seq)}>{isOpen ? "Less" : "More"}<span className="sr"> of row {row.seq.toString()}</span></Button></td>
      </tr>
      {isOpen && <More row={row} />}
    </>
  );
});

export function AuditTable({ rows }: { rows: AuditRow[] }) {
  const [open, setOpen] = useState<bigint>();
  const toggle = useCallback((seq: bigint) => setOpen((before) => (before === seq ? undefined : seq)), []);
  return (
    <div className="panel scroll">
      <table className="stackable">
        <thead><tr><th>When</th><th>What</th><th>Who</th><th>Device</th><th>Tool</th><th>Result</th><th><span className="sr">Details</span></th></tr></thead>
        <tbody>{rows.map((row) => <Row key={row.seq.toString()} row={row} isOpen={open === row.seq} toggle={toggle} />)}</tbody>
      </table>
    </div>
  );
}
