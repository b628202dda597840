// The place in a chat: its end, unless the person has scrolled up.
import { useCallback, useEffect, useRef } from "react";

/** Keeps the end in view as messages come and cards grow, unless the person has scrolled up in this chat. */
export function useFollow(chat: string | undefined) {
  const element = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const lastTop = useRef(0);
  const toEnd = useCallback(() => {
    isAtEnd.current = true;
    if (element.current) element.current.scrollTop = element.current.scrollHeight;
  }, []);
  useEffect(toEnd, [chat, toEnd]);
  useEffect(() => {
    const box = element.current;
    if (!box?.firstElementChild) return undefined;
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current) box.scrollTop = box.scrollHeight;
    });
    for (const each of [box, box.firstElementChild]) observer.observe(each);
    return () => observer.disconnect();
  }, []);
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
