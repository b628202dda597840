// The icons of the navigation: one path each, drawn for 16 by 16.
const PATHS = {
  chat: "M2 3.5h12v7.5H7l-3 2.5V11H2z",
  approvals: "M8 1.5 2.5 3.5v4c0 3.5 2.3 5.8 5.5 7 3.2-1.2 5.5-3.5 5.5-7v-4zM5.5 8l2 2 3.2-3.7",
  devices: "M2 3h12v8H2zM5.5 13.5h5M8 11v2.5",
  jobs: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 5v3.3l2.2 1.4",
  tools: "M9.5 2.5a3.4 3.4 0 0 0-3.2 4.6L2.5 11v2.5H5l3.9-3.8a3.4 3.4 0 0 0 4.4-4.3L11 7.5 8.7 5.2 11 3a3.4 3.4 0 0 0-1.5-.5z",
  policy: "M3.5 1.5h6l3 3v10h-9zM6 7.5h4.5M6 10.5h4.5",
  audit: "M2.5 3.5h11M2.5 6.5h11M2.5 9.5h7M2.5 12.5h5",
  insights: "M2.5 13.5v-5M6.2 13.5v-11M9.8 13.5v-7M13.5 13.5v-9",
  access: "M10.5 7a3 3 0 1 0-2.8-2L2.5 10v3.5H5v-2h2v-2l1.5-1.6c.6.5 1.3.6 2 .6z",
  people: "M6 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5c0-2.5 2-4 4.5-4s4.5 1.5 4.5 4M11 2.7a2.5 2.5 0 0 1 0 4.6M12.5 9.8c1.3.6 2 1.9 2 3.7",
  more: "M2.5 4h11M2.5 8h11M2.5 12h11",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.7 10.7 14 14",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor" strokeWidth="1.4" strokeLinejoin="round" strokeLinecap="round" aria-hidden focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
