// Tasks: their states in words, and the lists to load again after a change.
import { ScheduleService, ScheduleState } from "../gen/orion/v1/schedule_pb";
import { refresh } from "../lib/api";
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

export const refreshSchedules = () => refresh(ScheduleService.method.listSchedules);
