// The addresses of the page. The backend serves the page at exactly these: a test of it reads this file.
import type { ComponentType } from "react";

export interface Page {
  path: string;
  /** What the browser's tab shows. */
  title: string;
  load: () => Promise<{ default: ComponentType }>;
}

/** The pages of somebody who is not signed in. */
export const SIGNED_OUT: Page[] = [
  {
    path: "/sign-in",
    title: "Sign in",
    load: () => import("./pages/SignIn"),
  },
  {
    path: "/first-admin",
    title: "First admin",
    load: () => import("./pages/FirstAdmin"),
  },
];

export const PAGES: Page[] = [
  {
    path: "/chat/:id?",
    title: "Chat",
    load: () => import("./pages/Chat"),
  },
  {
    path: "/approvals/:id?",
    title: "Approvals",
    load: () => import("./pages/Approvals"),
  },
  {
    path: "/plans/:id",
    title: "Plan",
    load: () => import("./pages/Plan"),
  },
  {
    path: "/devices",
    title: "Devices",
    load: () => import("./pages/Devices"),
  },
  {
    path: "/devices/:name/:tab?",
    title: "Device",
    load: () => import("./pages/Device"),
  },
  {
    path: "/enrol",
    title: "Enrol a device",
    load: () => import("./pages/Enrol"),
  },
  {
    path: "/calls/:id",
    title: "Call",
    load: () => import("./pages/Call"),
  },
  {
    path: "/audit",
    title: "Audit",
    load: () => import("./pages/Audit"),
  },
  {
    path: "/jobs/:tab?/:id?",
    title: "Jobs & schedules",
    load: () => import("./pages/Jobs"),
  },
  {
    path: "/tools/:name?",
    title: "Tools",
    load: () => import("./pages/Tools"),
  },
  {
    path: "/policy",
    title: "Policy",
    load: () => import("./pages/Policy"),
  },
  {
    path: "/access",
    title: "Access requests",
    load: () => import("./pages/Access"),
  },
  {
    path: "/people",
    title: "People",
    load: () => import("./pages/People"),
  },
  {
    path: "/insights",
    title: "Insights",
    load: () => import("./pages/Insights"),
  },
];
