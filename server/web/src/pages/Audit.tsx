// The audit log: newest first, with filters that are in the address.
import { useInfiniteQuery } from "@tanstack/react-query";
import { type ChangeEvent, useMemo } from "react";
import { useSearchParams } from "react-router";
import { AuditTable } from "../audit/AuditTable";
import { Chain } from "../audit/Chain";
import { AuditService } from "../gen/orion/v1/audit_pb";
import { client } from "../lib/api";
import { useMe } from "../lib/session";
import { Button, Empty, Field, Head, Loading } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";

const PAGE = 50;
const DAY_MS = 86_400_000;
const FILTERS = ["user", "device", "tool", "call"] as const;
const LABELS = { user: "Person", device: "Device", tool: "Tool", call: "Call id" };

function startOfDay(daysAgo: number): number {
  const day = new Date(Date.now() - daysAgo * DAY_MS);
  return day.setHours(0, 0, 0, 0);
}

/** Returns the times of a named period. */
function period(name: string): { since: bigint; until: bigint } {
  switch (name) {
    case "today":
      return { since: BigInt(startOfDay(0)), until: 0n };
    case "yesterday":
      return { since: BigInt(startOfDay(1)), until: BigInt(startOfDay(0)) };
    case "week":
      return { since: BigInt(startOfDay(7)), until: 0n };
    default:
      return { since: 0n, until: 0n };
  }
}

export default function Audit() {
  const me = useMe();
  const [search, setSearch] = useSearchParams();
  const get = (name: string) => search.get(name) ?? "";
  const [user, device, tool, callId, when] = [get("user"), get("device"), get("tool"), get("call"), get("when")];
  const denied = get("denied") === "1";
  const log = useInfiniteQuery({
    queryKey: ["audit", user, device, tool, callId, when, denied],
    queryFn: ({ pageParam, signal }) =>
      client(AuditService).listAudit({ limit: PAGE, beforeSeq: pageParam, user, device, tool, callId, denied, ...period(when) }, { signal }),
    initialPageParam: 0n,
    getNextPageParam: ({ rows, searchedTo }) => (searchedTo > 0n ? searchedTo : rows.length === PAGE ? rows.at(-1)?.seq : undefined),
    enabled: me.is("admin"),
  });
  const rows = useMemo(() => log.data?.pages.flatMap((page) => page.rows) ?? [], [log.data]);
  if (!me.is("admin")) return <main className="page"><Head title="Audit" /><Empty title="Admins read the audit log">Your own calls are in the chat and under each device.</Empty></main>;
  /** Searches for all that the form says, typed text included. */
  const submit = (form: HTMLFormElement) => {
    const said = new FormData(form);
    const next = new URLSearchParams();
    for (const name of [...FILTERS, "when", "denied"]) {
      const value = String(said.get(name) ?? "").trim();
      if (value !== "") next.set(name, value);
    }
    setSearch(next);
  };
  const change = (event: ChangeEvent<HTMLInputElement | HTMLSelectElement>) => event.currentTarget.form && submit(event.currentTarget.form);
  return (
    <main className="page">
      <Head title="Audit">Everything that was asked for, decided and done, in one signed log.</Head>
      <Chain />
      <form key={search.toString()} className="row align-end filters" onSubmit={(event) => { event.preventDefault(); submit(event.currentTarget); }} aria-label="Filters">
        {FILTERS.map((name) => <Field key={name} label={LABELS[name]}>{(props) => <input {...props} name={name} defaultValue={get(name)} autoComplete="off" />}</Field>)}
        <Field label="When">
          {(props) => (
            <select {...props} name="when" value={when} onChange={change}>
              <option value="">Any time</option><option value="today">Today</option><option value="yesterday">Yesterday</option><option value="week">The last 7 days</option>
            </select>
          )}
        </Field>
        <label className="check"><input type="checkbox" name="denied" value="1" checked={denied} onChange={change} /> denials only</label>
        <Button type="submit">Search</Button>
        {search.size > 0 && <Button look="quiet" onClick={() => setSearch({})}>Clear</Button>}
      </form>
      <ErrorNote error={log.error} retry={() => void log.refetch()} />
      {log.isPending && <Loading what="the log" />}
      {log.data && rows.length === 0 && <Empty title="No row matches">Take a filter away, or look further back.</Empty>}
      {rows.length > 0 && <AuditTable rows={rows} />}
      {log.hasNextPage && <div className="row older"><Button busy={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>Load older rows</Button></div>}
    </main>
  );
}
