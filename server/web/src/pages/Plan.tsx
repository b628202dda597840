// A plan: all its steps as they were previewed, answered once, and how far it is.
import { useMutation, useQuery } from "@connectrpc/connect-query";
import { useState } from "react";
import { Link, useParams } from "react-router";
import { Arguments } from "../calls/Arguments";
import { type Plan as PlanMessage, PlanService, PlanState, type PlanStep, PlanStepState } from "../gen/orion/v1/plan_pb";
import { type Tone, outcome, riskOf } from "../lib/call";
import { useSettled } from "../lib/settled";
import { useSignature } from "../passkeys/useSignature";
import { counted, object } from "../lib/text";
import { Badge, Button, Field, Head, Line, Loading, Time } from "../ui/basics";
import { Diff } from "../ui/Diff";
import { ErrorNote } from "../ui/ErrorNote";
import { LookAlikes } from "../ui/Lines";

const MOST_TOUCHES = 5;

function stateOf(state: PlanState): { text: string; tone: Tone } {
  switch (state) {
    case PlanState.OPEN: return { text: "needs approval", tone: "warn" };
    case PlanState.RUNNING: return { text: "running", tone: "info" };
    case PlanState.SUCCEEDED: return { text: "succeeded", tone: "good" };
    case PlanState.FAILED: return { text: "failed", tone: "bad" };
    case PlanState.DENIED: return { text: "denied", tone: "bad" };
    case PlanState.EXPIRED: return { text: "expired", tone: "quiet" };
    case PlanState.CANCELLED: return { text: "stopped", tone: "quiet" };
    case PlanState.INTERRUPTED: return { text: "interrupted", tone: "warn" };
    case PlanState.UNSPECIFIED: return { text: "unknown", tone: "quiet" };
  }
}

function stepOf(state: PlanStepState): { text: string; tone: Tone } {
  switch (state) {
    case PlanStepState.WAITING: return { text: "waits", tone: "quiet" };
    case PlanStepState.RUNNING: return { text: "running", tone: "info" };
    case PlanStepState.SUCCEEDED: return { text: "succeeded", tone: "good" };
    case PlanStepState.FAILED: return { text: "failed", tone: "bad" };
    case PlanStepState.DRIFTED: return { text: "changed since the preview", tone: "bad" };
    case PlanStepState.SKIPPED: return { text: "skipped", tone: "quiet" };
    case PlanStepState.UNSPECIFIED: return { text: "unknown", tone: "quiet" };
  }
}

function Step({ step }: { step: PlanStep }) {
  const state = stepOf(step.state);
  const risk = riskOf(step.risk);
  const preview = outcome(step.preview);
  return (
    <li className="panel">
      <div className="body stack tight">
        <div className="row">
          <strong>{step.number}. <Line text={step.tool} most={40} /></strong> on <Line text={step.device} most={40} />
          <Badge tone={risk.tone}>{risk.text}</Badge> <Badge tone={state.tone}>{state.text}</Badge>
          {step.callId !== "" && <Link className="small" to={`/calls/${step.callId}`}>The call</Link>}
        </div>
        {step.touches.slice(0, MOST_TOUCHES).map((it) => <div key={it} className="small"><Line text={it} most={140} mono /></div>)}
        {step.touches.length > MOST_TOUCHES && (
          <details className="small">
            <summary>and {counted(step.touches.length - MOST_TOUCHES, "more path")}</summary>
            {step.touches.slice(MOST_TOUCHES).map((it) => <div key={it}><Line text={it} most={140} mono /></div>)}
          </details>
        )}
        <LookAlikes texts={step.lookAlikes} />
        {preview && <p className="small"><Line text={preview.message} most={300} /></p>}
        {step.message !== "" && <p className="small"><Line text={step.message} most={300} /></p>}
        {/* What is approved is in view: a preview alone does not say what would be written. */}
        <Arguments values={object(step.arguments)} />
        {preview?.diff !== undefined && <Diff text={preview.diff} />}
        <p className="small muted">Decided by <Line text={step.rule} most={200} />; {counted(step.compared, "path is", "paths are")} compared with the preview before it runs.</p>
      </div>
    </li>
  );
}

function useDecide(refetch: () => void) {
  return useMutation(PlanService.method.decidePlan, { onSettled: refetch });
}

function Answer({ plan, decide }: { plan: PlanMessage; decide: ReturnType<typeof useDecide> }) {
  const isSettled = useSettled();
  const [reason, setReason] = useState("");
  const { isAsking, error: unsigned, signed } = useSignature();
  const { planId, hash } = plan;
  const send = (approve: boolean) => decide.mutate({ planId, hash, approve, reason });
  const isOpen = plan.state === PlanState.OPEN;
  const isSigned = plan.steps.some(({ approval }) => approval?.passkeyRequired);
  const approve = () => {
    if (!isSigned) return send(true);
    decide.reset();
    return void signed({ of: { case: "planId", value: planId }, shownDigest: hash }, (passkey) => decide.mutate({ planId, hash, approve: true, reason, passkey }));
  };
  return (
    <section className="panel" aria-label="Answer the plan">
      <div className="body stack">
        <ErrorNote error={unsigned} />
        <Field label="Reason" hint="Where the policy requires one, and for a denial">{(props) => <input {...props} maxLength={500} value={reason} onChange={(event) => setReason(event.target.value)} />}</Field>
        <div className="row">
          {isOpen && <Button look="primary" disabled={!isSettled} busy={decide.isPending || isAsking} onClick={approve}>{plan.stepCount === 1 ? "Approve the step" : `Approve all ${plan.stepCount} steps`}{isSigned && " with passkey"}</Button>}
          <Button look="danger" disabled={!isSettled} busy={decide.isPending} onClick={() => send(false)}>{isOpen ? "Deny" : "Stop the plan"}</Button>
        </div>
      </div>
    </section>
  );
}

export default function PlanPage() {
  const { id = "" } = useParams();
  return <Plan key={id} id={id} />;
}

function Plan({ id }: { id: string }) {
  const { data, error, isPending, refetch } = useQuery(PlanService.method.getPlan, { planId: id }, { refetchInterval: 2_000 });
  const decide = useDecide(() => void refetch());
  const plan = data?.plan;
  if (!plan) return <main className="page"><Head title="Plan" />{isPending && <Loading what="the plan" />}<ErrorNote error={error} /></main>;
  const state = stateOf(plan.state);
  const isOpen = plan.state === PlanState.OPEN || plan.state === PlanState.RUNNING;
  return (
    <main className="page">
      <Head title={<>Plan <Badge tone={state.tone}>{state.text}</Badge></>}>
        By <Line text={plan.requester} most={60} />, <Time at={plan.createdAt} />. {plan.keepGoing ? "It goes on after a step that fails." : "It ends at the first step that fails."}
        {plan.state === PlanState.OPEN && <> The request ends <Time at={plan.expiresAt} />.</>}
      </Head>
      <ol className="stack bare">{plan.steps.map((step) => <Step key={step.number} step={step} />)}</ol>
      {/* An approval that comes too late ends the plan, and its error stays in view. */}
      {(isOpen || plan.state === PlanState.EXPIRED) && <ErrorNote error={decide.error} />}
      {isOpen && <Answer plan={plan} decide={decide} />}
    </main>
  );
}
