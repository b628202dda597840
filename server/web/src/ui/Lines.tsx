// Lines of a card, each with both ends where it is cut: a path says most at its end.
import { bothEnds, counted, oneLine } from "../lib/text";

interface Props {
  texts: string[];
  most: number;
  cut?: number;
}

function First({ texts, most, cut = 200 }: Props) {
  return (
    <>
      {texts.slice(0, most).map((text, index) => <div key={index}><bdi className="break" title={text.length > cut ? oneLine(text, 1000) : undefined}>{bothEnds(text, cut)}</bdi></div>)}
      {texts.length > most && <span className="muted">and {counted(texts.length - most, "more line")}</span>}
    </>
  );
}

export function Lines({ name, ...rest }: Props & { name: string }) {
  if (rest.texts.length === 0) return null;
  return <><dt>{name}</dt><dd><First {...rest} /></dd></>;
}

/** A warning of the words that can be read as others. */
export function LookAlikes({ texts, most = texts.length }: { texts: string[]; most?: number }) {
  if (texts.length === 0) return null;
  return <div className="note warn"><First texts={texts} most={most} /></div>;
}
