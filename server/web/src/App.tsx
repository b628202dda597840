// Which page is shown at which address, and what is shown where one fails.
import { Component, type ReactNode, Suspense, lazy, useEffect, useState } from "react";
import { Link, Navigate, Route, Routes, matchPath, useNavigate } from "react-router";
import { onSignedOut, queries } from "./lib/api";
import { lastUser } from "./lib/session";
import { PAGES, type Page, SIGNED_OUT } from "./routes";
import { Shell } from "./shell/Shell";
import { Button, Empty, Loading } from "./ui/basics";

/** How often it is looked whether the backend is back, in milliseconds. */
const LOOK_MS = 2_000;

const isThere = () => fetch("/", { cache: "no-store" }).then(({ ok }) => ok, () => false);

/** Whether the backend was away while a part was missing. */
let wasAway = false;

/** A part of the page that could not be loaded while the backend was away is loaded, with the page, once it is back. */
function Failed() {
  const [isAway, setAway] = useState(false);
  useEffect(() => {
    const look = async () => {
      const isBack = await isThere();
      if (isBack && wasAway) location.reload();
      wasAway ||= !isBack;
      setAway(!isBack);
    };
    void look();
    const timer = setInterval(() => void look(), LOOK_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <main className="page">
      <div className="note bad" role="alert">
        {isAway ? "The backend does not answer, so this page cannot be loaded. It is shown once the backend is back." : "This part of the page failed, or the backend was updated since it was loaded."}
      </div>
      {!isAway && <div className="row"><Button look="primary" onClick={() => location.reload()}>Load the page again</Button></div>}
    </main>
  );
}

/** A page that fails leaves the others usable. A missing part means that the backend was updated. */
class Guard extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    return this.state.failed ? <Failed /> : this.props.children;
  }
}

function Titled({ title, children }: { title: string; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Orion`;
  }, [title]);
  return children;
}

function NoPage() {
  return (
    <main className="page">
      <Empty title="There is no page at this address" action={<Link className="button" to="/chat">Open the chat</Link>}>
        The address may be mistyped, or of an older version.
      </Empty>
    </main>
  );
}

function view({ path, title, load }: Page) {
  const View = lazy(load);
  const element = (
    <Titled title={title}>
      <Guard key={path}>
        <Suspense fallback={<main className="page"><Loading what="the page" /></main>}>
          <View />
        </Suspense>
      </Guard>
    </Titled>
  );
  return <Route key={path} path={path} element={element} />;
}

/** The page of the address is loaded while the backend is asked who is signed in, and not after that. */
function loadFirst() {
  const { pathname } = location;
  const first = [...SIGNED_OUT, ...PAGES].find(({ path }) => matchPath(path, pathname === "/" ? "/chat" : pathname));
  // Where this fails, the page itself says so.
  first?.load().catch(() => {});
}
loadFirst();

const signedOut = SIGNED_OUT.map(view);
const pages = PAGES.map(view);

export function App() {
  const navigate = useNavigate();
  useEffect(() => {
    onSignedOut(() => {
      // The address is read where it is true at once: React shows it only when the next page is loaded, and what is
      // answered late until then must not change it again.
      const { pathname, search } = location;
      if (SIGNED_OUT.some(({ path }) => path === pathname)) return;
      const hasEnded = lastUser() !== "";
      queries.clear();
      const next = pathname === "/" ? "" : `?next=${encodeURIComponent(pathname + search)}`;
      void navigate(`/sign-in${next}`, { replace: true, state: { hasEnded } });
    });
  }, [navigate]);
  return (
    <Routes>
      {signedOut}
      <Route element={<Shell />}>
        {pages}
        <Route path="/" element={<Navigate to="/chat" replace />} />
        <Route path="*" element={<Titled title="No such page"><NoPage /></Titled>} />
      </Route>
    </Routes>
  );
}
