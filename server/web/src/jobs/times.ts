// The times of a task in words.
import { timeIn } from "../lib/time";

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

const two = (text: string) => text.padStart(2, "0");

/** Returns the times of a task, in its zone, in words where they are simple, and as they were written where they are not. */
export function inWords(times: string, zone: string): string {
  const once = /^\d{4}-\d{2}-\d{2}T[\d:.]+(Z|[+-]\d{2}:\d{2})?$/.exec(times.trim());
  if (once) return `once, ${once[1] === undefined ? times.trim().replace("T", " ") : timeIn(Date.parse(times), zone)}`;
  const cron = /^(\d{1,2}) (\d{1,2}) \* \* (\*|[0-7]|1-5|0,6|6,0)$/.exec(times.trim());
  if (cron) {
    const [, minute = "", hour = "", day = ""] = cron;
    const at = `at ${two(hour)}:${two(minute)}`;
    if (day === "*") return `every day ${at}`;
    if (day === "1-5") return `Monday to Friday ${at}`;
    return day.length === 1 ? `every ${DAYS[Number(day)]} ${at}` : `Saturday and Sunday ${at}`;
  }
  const interval = /^every (\d+)([mhd])$/.exec(times.trim());
  if (!interval) return times;
  const unit = { m: "minute", h: "hour", d: "day" }[interval[2] ?? ""] ?? "";
  return interval[1] === "1" ? `every ${unit}` : `every ${interval[1]} ${unit}s`;
}
