// The plans that wait for an answer.
import { useQuery } from "@connectrpc/connect-query";
import { Link } from "react-router";
import { PlanService, PlanState } from "../gen/orion/v1/plan_pb";
import { counted } from "../lib/text";
import { Badge, Line, Time } from "../ui/basics";

export function OpenPlans() {
  const { data } = useQuery(PlanService.method.listPlans, {}, { refetchInterval: 10_000 });
  const open = data?.plans.filter(({ state }) => state === PlanState.OPEN) ?? [];
  if (open.length === 0) return null;
  return (
    <nav className="list" aria-label="Plans">
      {open.map((plan) => (
        <Link key={plan.planId} to={`/plans/${plan.planId}`}>
          <div className="row"><strong>A plan of {counted(plan.stepCount, "step")}</strong> <Badge tone="warn">needs approval</Badge></div>
          <div className="small muted"><Line text={plan.requester} most={60} /> · <Time at={plan.createdAt} /></div>
        </Link>
      ))}
    </nav>
  );
}
