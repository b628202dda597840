// Tasks: their states in words, and the lists to load again after a change.
import { createConnectQueryKey } from "@connectrpc/connect-query";
import { ScheduleService, ScheduleState } from "../gen/orion/v1/schedule_pb";
import { queries } from "../lib/api";
import type { Tone } from "../lib/call";

export function stateOf(state: ScheduleState): { text: string; tone: Tone } {
  switch (state) {
    case ScheduleState.ACTIVE:
      return { text: "active", tone: "good" };
    case ScheduleState.DONE:
      return { text: "done", tone: "quiet" };
    case ScheduleState.CANCELLED:
      return { text: "cancelled", tone: "quiet" };
    case ScheduleState.UNSPECIFIED:
      return { text: "unknown state", tone: "quiet" };
  }
}

export const refreshSchedules = () =>
  queries.invalidateQueries({ queryKey: createConnectQueryKey({ schema: ScheduleService.method.listSchedules, cardinality: "finite" }) });
