// The keys that work on every page: Ctrl-K or Cmd-K searches, `g` and a letter goes to a page, `?` shows the keys.
import { useEffect } from "react";
import { useNavigate } from "react-router";
import { ENTRIES } from "./pages";

const CHORD_MS = 1_200;

/** Returns whether a key press belongs to a field or a dialog, and to nothing else. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target;
  if (document.querySelector("dialog[open]")) return true;
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.closest("input, textarea, select, dialog") !== null;
}

export function useShortcuts(search: () => void, help: () => void) {
  const navigate = useNavigate();
  useEffect(() => {
    let since = 0;
    const press = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        search();
        return;
      }
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key === "?") help();
      const entry = ENTRIES.find(({ key }) => key === event.key);
      if (entry && Date.now() - since < CHORD_MS) {
        event.stopImmediatePropagation();
        void navigate(entry.to);
      }
      since = event.key === "g" ? Date.now() : 0;
    };
    window.addEventListener("keydown", press, true);
    return () => window.removeEventListener("keydown", press, true);
  }, [navigate, search, help]);
}
