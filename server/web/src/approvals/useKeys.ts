// The keys of the inbox: `j` and `k` move, `e` shows the details, `a` and `d` go to the button that answers, or to the field that
// has to be filled in before; Enter then presses it. Any other key leaves it: letters of a sentence that is typed beside a
// field answer nothing, and what is answered is in view.
import { useEffect } from "react";
import { isTyping } from "../shell/shortcuts";

const KEYS = ["j", "k", "a", "d", "e"];
/** No key counts so soon after another letter: it is a part of a sentence. */
const SENTENCE_MS = 1_200;

export function useKeys(move: (step: number) => void) {
  useEffect(() => {
    let typed = -SENTENCE_MS;
    /** The button that a key went to. */
    let held: HTMLElement | undefined;
    const press = (event: KeyboardEvent) => {
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.key.length === 1 && held && document.activeElement === held && held.dataset.key !== event.key) {
        event.preventDefault();
        held.blur();
      }
      if (event.repeat) return;
      if (event.key.length === 1 && (!KEYS.includes(event.key) || event.timeStamp - typed < SENTENCE_MS)) {
        typed = event.timeStamp;
        return;
      }
      if (event.key === "j" || event.key === "k") {
        move(event.key === "j" ? 1 : -1);
        return;
      }
      if (!["a", "d", "e"].includes(event.key)) return;
      const wanted = document.querySelector<HTMLElement>(`[data-key="${event.key}"]:not(:disabled)`);
      if (!wanted) {
        typed = event.timeStamp;
        return;
      }
      event.preventDefault();
      if (event.key === "e") {
        wanted.click();
      } else {
        wanted.focus();
        held = wanted;
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [move]);
}
