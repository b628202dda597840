// The answers to an approval request.
import { useMutation } from "@connectrpc/connect-query";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type FormEvent, useState } from "react";
import { type Approval, ApprovalService, ApprovalState, type DecideApprovalRequestSchema } from "../gen/orion/v1/approval_pb";
import { useMe } from "../lib/session";
import { useSettled } from "../lib/settled";
import { useSignature } from "../passkeys/useSignature";
import { oneLine } from "../lib/text";
import { Badge, Button, Field, Line, Time } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";
import { useToast } from "../ui/toasts";
import { CallEnd } from "./CallEnd";
import { MoreAnswers } from "./MoreAnswers";
import { refreshRules } from "./StandingRules";

export function endOf(state: ApprovalState): string {
  switch (state) {
    case ApprovalState.OPEN:
      return "open";
    case ApprovalState.APPROVED:
      return "approved";
    case ApprovalState.DENIED:
      return "denied";
    case ApprovalState.EXPIRED:
      return "expired";
    case ApprovalState.WITHDRAWN:
      return "withdrawn";
    case ApprovalState.UNSPECIFIED:
      return "unknown";
  }
}

function Ended({ approval }: { approval: Approval }) {
  return (
    <div className="row">
      <Badge>{endOf(approval.state)}</Badge>
      {approval.decidedBy !== "" && <span className="muted">by <Line text={approval.decidedBy} /> <Time at={approval.decidedAt} /></span>}
      {approval.reason !== "" && <Line text={approval.reason} />}
      {approval.state === ApprovalState.WITHDRAWN && <span className="muted">nobody answered it: what is allowed there changed, or the call was stopped. The call can be made again.</span>}
      {approval.state === ApprovalState.APPROVED && <CallEnd approval={approval} />}
    </div>
  );
}

interface Props {
  approval: Approval;
  isWhole: boolean;
  detailsShown: boolean;
  /** Called with the request as it is after the answer. */
  onDecided?: (now: Approval | undefined) => void;
}

export type More = MessageInitShape<typeof DecideApprovalRequestSchema>["more"];

export function Decide({ approval, isWhole, detailsShown, onDecided }: Props) {
  const me = useMe();
  const toast = useToast();
  const [reason, setReason] = useState("");
  const [isDenying, setDenying] = useState(false);
  const isSettled = useSettled(isDenying);
  const { isAsking, error: unsigned, signed } = useSignature();
  const decide = useMutation(ApprovalService.method.decideApproval, {
    onSuccess: ({ approval: now }, { more }) => {
      const made = more?.case === "narrowRule" && now?.state === ApprovalState.APPROVED ? "; its rule is listed under Approvals" : "";
      if (made !== "") void refreshRules();
      if (now) toast(now.state === ApprovalState.OPEN ? "Your answer counts; others must answer, too." : `${oneLine(now.tool, 40)} on ${oneLine(now.device, 40)}: ${endOf(now.state)}${made}`);
      onDecided?.(now);
    },
  });
  const latest = decide.data?.approval ?? approval;
  if (latest.state !== ApprovalState.OPEN) {
    return (
      <>
        <Ended approval={latest} />
        {isDenying && reason !== "" && !decide.data && <p className="note" role="status">It ended before your answer was sent. You had written: <Line text={reason} most={500} /></p>}
      </>
    );
  }
  if (!me.is("operator")) return <p className="muted">An operator or an admin answers this request.</p>;
  const send = (approve: boolean, more?: More) =>
    decide.mutate({ approvalId: approval.approvalId, approve, reason, detailsShown, more: more ?? { case: undefined } });
  const approve = () => {
    if (!approval.passkeyRequired) return send(true);
    const { approvalId, shownDigest } = approval;
    decide.reset();
    return void signed({ of: { case: "approvalId", value: approvalId }, shownDigest }, (passkey) =>
      decide.mutate({ approvalId, approve: true, reason, detailsShown, passkey }),
    );
  };
  const isBusy = !isWhole || decide.isPending || isAsking;
  const isOff = !isSettled || isBusy;
  const deny = (event: FormEvent) => {
    event.preventDefault();
    // Enter that is held down on the button before is no answer.
    if (!isBusy && (isSettled || reason !== "")) send(false);
  };
  const back = () => {
    setDenying(false);
    setReason("");
  };
  const isUnexplained = approval.reasonRequired && reason.trim() === "";
  const failed = <ErrorNote error={decide.error ?? unsigned} />;
  const because = (
    <Field label={isDenying ? "Reason (the requester and the model read it)" : "Reason (required)"}>
      {(props) => <input {...props} value={reason} maxLength={500} autoFocus={isDenying} data-key={!isDenying && isUnexplained ? "a" : undefined} onChange={(event) => setReason(event.target.value)} />}
    </Field>
  );
  if (isDenying) {
    // Enter denies. Nothing is approved by it: the other answers are in no form.
    return (
      // Escape leaves it, as it does a dialog, unless something is written.
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
      <form className="stack" onSubmit={deny} onKeyDown={(event) => event.key === "Escape" && reason === "" && !event.nativeEvent.isComposing && back()}>
        {failed}
        {because}
        <div className="row">
          <Button look="danger" type="submit" disabled={isBusy || (!isSettled && reason === "")}>Deny</Button>
          <Button look="quiet" onClick={back}>Back</Button>
        </div>
      </form>
    );
  }
  return (
    <div className="stack">
      {approval.planId !== "" && <p className="note">This is a step of a plan, which is answered as a whole.</p>}
      {failed}
      {approval.reasonRequired && because}
      {approval.planId === "" && (
        <div className="row">
          <Button look="primary" disabled={isOff || isUnexplained} onClick={approve} data-key="a">
            {approval.passkeyRequired ? "Approve with passkey" : "Approve once"} on {oneLine(approval.device, 24)} <kbd aria-hidden>a</kbd>
          </Button>
          <Button look="danger" disabled={isOff} onClick={() => { setDenying(true); setReason(""); }} data-key="d">
            Deny… <kbd aria-hidden>d</kbd>
          </Button>
          <MoreAnswers approval={approval} disabled={isOff} send={(more) => send(true, more)} />
        </div>
      )}
    </div>
  );
}
