// Short messages about what was done.
import { type ReactNode, createContext, useCallback, useContext, useMemo, useState } from "react";

const Toasts = createContext<(text: string) => void>(() => {});

export const useToast = () => useContext(Toasts);

export function ToastProvider({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState<{ id: number; text: string }[]>([]);
  const add = useCallback((text: string) => {
    const id = Math.random();
    setShown((before) => [...before.slice(-2), { id, text }]);
    setTimeout(() => setShown((before) => before.filter((it) => it.id !== id)), 5_000);
  }, []);
  const list = useMemo(() => shown.map(({ id, text }) => <div className="toast fade" key={id}>{text}</div>), [shown]);
  return (
    <Toasts value={add}>
      {children}
      <div className="toasts" role="status" aria-live="polite">
        {list}
      </div>
    </Toasts>
  );
}
