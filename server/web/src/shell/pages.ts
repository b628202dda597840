// The navigation: the pages that a role may use.
import type { Role } from "../lib/session";
import type { IconName } from "../ui/icons";

export interface Entry {
  to: string;
  label: string;
  icon: IconName;
  least: Role;
  /** The key after `g` that goes there. */
  key: string;
}

export const ENTRIES: Entry[] = [
  { to: "/chat", label: "Chat", icon: "chat", least: "viewer", key: "c" },
  { to: "/approvals", label: "Approvals", icon: "approvals", least: "operator", key: "a" },
  { to: "/devices", label: "Devices", icon: "devices", least: "viewer", key: "d" },
  { to: "/jobs", label: "Jobs & schedules", icon: "jobs", least: "viewer", key: "j" },
  { to: "/tools", label: "Tools", icon: "tools", least: "viewer", key: "t" },
  { to: "/access", label: "Access requests", icon: "access", least: "viewer", key: "r" },
  { to: "/policy", label: "Policy", icon: "policy", least: "operator", key: "p" },
  { to: "/audit", label: "Audit", icon: "audit", least: "admin", key: "u" },
  { to: "/insights", label: "Insights", icon: "insights", least: "admin", key: "i" },
  { to: "/people", label: "People", icon: "people", least: "viewer", key: "o" },
];
