// The frame around every page of somebody who is signed in.
import { useEffect, useState } from "react";
import { Link, NavLink, Outlet, useLocation, useNavigate } from "react-router";
import { isSignedOut } from "../lib/api";
import { signOut, useMe } from "../lib/session";
import { type Theme, setTheme, theme } from "../lib/theme";
import { Button, Loading } from "../ui/basics";
import { ErrorNote } from "../ui/ErrorNote";
import { Icon } from "../ui/icons";
import { useToast } from "../ui/toasts";
import { LiveProvider, useLive } from "./Live";
import { Keys, SEARCH_KEYS } from "./Keys";
import { Palette } from "./Palette";
import { StopBanner } from "./StopBanner";
import { ENTRIES, type Entry } from "./pages";
import { useShortcuts } from "./shortcuts";

function Count({ entry }: { entry: Entry }) {
  const { waiting, access } = useLive();
  const count = entry.to === "/approvals" ? waiting : entry.to === "/access" ? access : 0;
  if (count === 0) return null;
  return (
    <span className="count" aria-label={`${count} open`}>
      {count > 99 ? "99+" : count}
    </span>
  );
}

function Me() {
  const { user, role } = useMe();
  const navigate = useNavigate();
  const toast = useToast();
  const [chosen, setChosen] = useState<Theme>(theme);
  const choose = (next: Theme) => {
    setTheme(next);
    setChosen(next);
  };
  const leave = async () => {
    const problem = await signOut();
    if (problem) toast(`You are still signed in. ${problem.message}`);
    else void navigate("/sign-in", { replace: true });
  };
  return (
    <div className="me small">
      <select aria-label="Colours" value={chosen} onChange={(event) => choose(event.target.value as Theme)}>
        <option value="system">Automatic colours</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </select>
      <div className="row apart">
        <span className="clip">
          {user} <span className="muted">· {role}</span>
        </span>
        <Button look="small quiet" onClick={() => void leave()}>
          Sign out
        </Button>
      </div>
    </div>
  );
}

function LinkBanner() {
  const { link } = useLive();
  if (link !== "lost") return null;
  return (
    <div className="banner" role="status">
      <span className="dot warn pulse" /> The backend does not answer. This page shows what it knew, and comes back by itself.
    </div>
  );
}

function Frame() {
  const me = useMe();
  const [isOpen, setOpen] = useState(false);
  const [dialog, setDialog] = useState<"search" | "keys">();
  const { pathname } = useLocation();
  useEffect(() => setOpen(false), [pathname]);
  const search = () => setDialog("search");
  const showKeys = () => setDialog("keys");
  const close = () => setDialog(undefined);
  useShortcuts(search, showKeys);
  const entries = ENTRIES.filter((entry) => me.is(entry.least));
  return (
    <div className="shell">
      <aside className={isOpen ? "side open" : "side"} aria-label="Navigation">
        <Link to="/chat" className="brand">
          <img src="/icon.svg" alt="" width="22" height="22" /> Orion
        </Link>
        <button type="button" className="search-button" onClick={search}>
          <Icon name="search" /> Go to… <kbd>{SEARCH_KEYS}</kbd>
        </button>
        <nav aria-label="Pages">
          {entries.map((entry) => (
            <NavLink key={entry.to} to={entry.to}>
              <Icon name={entry.icon} /> {entry.label} <Count entry={entry} />
            </NavLink>
          ))}
        </nav>
        <Me />
      </aside>
      <div className="content">
        <LinkBanner />
        <StopBanner />
        <Outlet />
      </div>
      <nav className="bottom" aria-label="Main pages">
        {entries.slice(0, 3).map((entry) => (
          <NavLink key={entry.to} to={entry.to}>
            <Icon name={entry.icon} /> {entry.label} <Count entry={entry} />
          </NavLink>
        ))}
        <button type="button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Icon name="more" /> More
        </button>
      </nav>
      {dialog === "search" && <Palette entries={entries} showKeys={showKeys} onClose={close} />}
      {dialog === "keys" && <Keys entries={entries} onClose={close} />}
    </div>
  );
}

export function Shell() {
  const { user, error, isPending } = useMe();
  if (isPending || isSignedOut(error)) {
    return <div className="alone"><Loading what="Orion" /></div>;
  }
  // Who is known already keeps the page while the backend does not answer.
  if (error && user === "") {
    return (
      <div className="alone">
        <main>
          <h1>Orion</h1>
          <ErrorNote error={error} retry={() => location.reload()} />
        </main>
      </div>
    );
  }
  return (
    <LiveProvider>
      <Frame />
    </LiveProvider>
  );
}
