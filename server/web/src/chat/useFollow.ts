// The place in a chat: its end, unless the person has scrolled up. Of a long question, its beginning.
import { useCallback, useEffect, useRef } from "react";

/** Keeps the end in view as messages come and cards grow, unless the person has scrolled up in this chat. */
export function useFollow(chat: string | undefined) {
  const element = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const lastTop = useRef(0);
  /** The call that waits for an answer, of which the beginning was shown: that is done once. */
  const shown = useRef<string>(undefined);
  const show = useCallback((box: HTMLDivElement) => {
    const card = [...box.querySelectorAll<HTMLElement>(".call.ask")].at(-1);
    const said = [...box.querySelectorAll<HTMLElement>(".said")].at(-1);
    // What was said since is to be seen, and its answer.
    const isOlder = card && said && (card.compareDocumentPosition(said) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
    if (!card || isOlder || card.offsetHeight <= box.clientHeight) {
      box.scrollTop = box.scrollHeight;
    } else if (card.dataset.call !== shown.current) {
      shown.current = card.dataset.call;
      box.scrollTop += card.getBoundingClientRect().top - box.getBoundingClientRect().top;
    }
    // This is no scrolling of the person.
    lastTop.current = box.scrollTop;
  }, []);
  const toEnd = useCallback(() => {
    isAtEnd.current = true;
    shown.current = undefined;
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
