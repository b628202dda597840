// Jobs and schedules: the calls that run and that ended, the calls at times to come, and the macros.
import { NavLink, useParams } from "react-router";
import { Macros } from "../jobs/Macros";
import { NewSchedule } from "../jobs/NewSchedule";
import { Running } from "../jobs/Running";
import { Schedule } from "../jobs/Schedule";
import { Schedules } from "../jobs/Schedules";
import { Head } from "../ui/basics";

const TABS = [
  { to: "/jobs", label: "Running and recent" },
  { to: "/jobs/schedules", label: "Schedules" },
  { to: "/jobs/macros", label: "Macros" },
];

function Tab({ tab, id }: { tab: string; id: string }) {
  if (tab === "macros") return <Macros />;
  if (tab !== "schedules") return <Running />;
  if (id === "new") return <NewSchedule />;
  return id === "" ? <Schedules /> : <Schedule key={id} id={id} />;
}

export default function Jobs() {
  const { tab = "", id = "" } = useParams();
  return (
    <main className="page">
      <Head title="Jobs & schedules">What runs, what ran, and what Orion does by itself at times to come.</Head>
      <nav className="tabs" aria-label="Parts of this page">
        {TABS.map(({ to, label }) => <NavLink key={to} end={to === "/jobs"} to={to}>{label}</NavLink>)}
      </nav>
      <Tab tab={tab} id={id} />
    </main>
  );
}
