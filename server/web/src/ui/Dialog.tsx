// A dialog over the page. The browser keeps the focus in it, and Escape closes it.
import { type ReactNode, useEffect, useRef } from "react";

export function Dialog({ title, onClose, children }: { title: string; onClose: () => void; children: ReactNode }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    if (!dialog?.open) dialog?.showModal();
  }, []);
  return (
    <dialog ref={element} onClose={onClose} aria-label={title} className="fade">
      <div className="dialog-body">
        <h2>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}
