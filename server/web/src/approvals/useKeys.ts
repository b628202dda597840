// The keys of the inbox: `j` and `k` move, `e` shows the details, `a` and `d` go to the button that answers, or to the field that
// has to be filled in before; Enter then presses it. Any other key leaves it: letters of a sentence that is typed beside a
// field answer nothing, and what is answered is in view.
import { useEffect } from "react";
import { isTyping } from "../shell/shortcuts";

const KEYS = ["j", "k", "a", "d", "e"];
/** No key counts so soon after a letter that is none of them: it is a part of a sentence. */
const SENTENCE_MS = 1_200;
/** None goes to an answer so soon after any other. */
const WORD_MS = 700;

function isInView(element: HTMLElement): boolean {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= 0 && bottom <= window.innerHeight;
}

export function useKeys(move: (step: number) => void) {
  useEffect(() => {
    let typed = -SENTENCE_MS;
    let last = -WORD_MS;
    /** The button that a key went to. */
    let held: HTMLElement | undefined;
    const press = (event: KeyboardEvent) => {
      const { key, timeStamp } = event;
      const since = timeStamp - last;
      if (key.length === 1) last = timeStamp;
      if (isTyping(event)) {
        if (key.length === 1) typed = timeStamp;
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (held && document.activeElement === held) {
        if (key === "Enter") {
          // What was scrolled away is shown first.
          if (isInView(held)) return;
          event.preventDefault();
          held.scrollIntoView({ block: "center" });
        } else if (key !== held.dataset.key && key !== "Tab" && key !== "Shift") {
          if (key === " ") event.preventDefault();
          held.blur();
        }
      }
      if (event.repeat || key.length !== 1) return;
      const isAnswer = key === "a" || key === "d";
      if (!KEYS.includes(key) || timeStamp - typed < SENTENCE_MS || (isAnswer && since < WORD_MS)) {
        typed = timeStamp;
        return;
      }
      if (key === "j" || key === "k") {
        move(key === "j" ? 1 : -1);
        return;
      }
      const wanted = document.querySelector<HTMLElement>(`[data-key="${key}"]:not(:disabled)`);
      if (!wanted) return;
      event.preventDefault();
      if (isAnswer) {
        wanted.focus();
        held = wanted;
      } else {
        wanted.click();
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [move]);
}
