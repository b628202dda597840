// The place in a chat: its end, unless the person has scrolled up. Of a long question, its beginning.
import { useCallback, useEffect, useRef } from "react";

/** Keeps the end in view as messages come and cards grow, unless the person has scrolled up in this chat. */
export function useFollow(chat: string | undefined) {
  const element = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const lastTop = useRef(0);
  /** The question whose beginning was shown: that is done once. */
  const shown = useRef<string>(undefined);
  const show = useCallback((box: HTMLDivElement) => {
    const question = [...box.querySelectorAll<HTMLElement>("[data-approval]")].at(-1);
    const card = question?.closest<HTMLElement>(".call") ?? question;
    const isNew = question && question.dataset.approval !== shown.current;
    if (!card || !isNew || card.offsetHeight <= box.clientHeight || card.contains(document.activeElement)) {
      box.scrollTop = box.scrollHeight;
      return;
    }
    shown.current = question.dataset.approval;
    isAtEnd.current = false;
    box.scrollTop += card.getBoundingClientRect().top - box.getBoundingClientRect().top;
  }, []);
  const toEnd = useCallback(() => {
    isAtEnd.current = true;
    if (element.current) show(element.current);
  }, [show]);
  useEffect(toEnd, [chat, toEnd]);
  useEffect(() => {
    const box = element.current;
    if (!box?.firstElementChild) return undefined;
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current) show(box);
    });
    for (const each of [box, box.firstElementChild]) observer.observe(each);
    return () => observer.disconnect();
  }, [show]);
  const onScroll = () => {
    const box = element.current;
    if (!box) return;
    // What has grown below leaves the place as it was, and is no scrolling of the person.
    if (box.scrollHeight - box.scrollTop - box.clientHeight < 80) isAtEnd.current = true;
    else if (box.scrollTop < lastTop.current) isAtEnd.current = false;
    lastTop.current = box.scrollTop;
  };
  return { box: { ref: element, onScroll }, toEnd };
}
