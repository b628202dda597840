// The keys of the inbox: `j` and `k` move, `a`, `d` and `e` press the button that shows them.
import { useEffect } from "react";
import { isTyping } from "../shell/shortcuts";

export function useKeys(move: (step: number) => void) {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
      if (event.key === "j" || event.key === "k") {
        move(event.key === "j" ? 1 : -1);
        return;
      }
      if (!["a", "d", "e"].includes(event.key)) return;
      const button = document.querySelector<HTMLButtonElement>(`button[data-key="${event.key}"]:not(:disabled)`);
      if (!button) return;
      event.preventDefault();
      button.click();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [move]);
}
