// A small plot of counts, with the same numbers as a table for those who do not see it.
export interface Bar {
  label: string;
  parts: { name: string; count: number; color: string }[];
}

const HEIGHT = 120;
const ALL = 720;
const GAP = 8;

export function Bars({ title, bars }: { title: string; bars: Bar[] }) {
  const total = (bar: Bar) => bar.parts.reduce((sum, { count }) => sum + count, 0);
  const most = Math.max(1, ...bars.map(total));
  const names = bars[0]?.parts ?? [];
  const width = ALL / Math.max(1, bars.length) - GAP;
  return (
    <figure className="stack tight">
      <figcaption className="row apart">
        <h3>{title}</h3>
        <span className="row small">{names.map(({ name, color }) => <span key={name} className="row"><svg width="10" height="10" aria-hidden><rect width="10" height="10" rx="2" fill={color} /></svg>{name}</span>)}</span>
      </figcaption>
      <svg className="plot" viewBox={`0 0 ${ALL} ${HEIGHT + 18}`} role="img" aria-label={`${title}: ${bars.map((bar) => `${bar.label} ${total(bar)}`).join(", ")}`}>
        {bars.map((bar, index) => {
          let top = HEIGHT;
          return (
            <g key={bar.label} transform={`translate(${index * (width + GAP)} 0)`}>
              <title>{`${bar.label}: ${bar.parts.map(({ name, count }) => `${count} ${name}`).join(", ")}`}</title>
              <rect y={HEIGHT - 1} width={width} height="1" fill="var(--line)" />
              {bar.parts.map(({ name, count, color }) => {
                const height = (count / most) * (HEIGHT - 4);
                top -= height;
                return <rect key={name} y={top} width={width} height={height} rx="2" fill={color} />;
              })}
              {((bars.length - index) % 2 === 1 || bars.length < 10) && <text x={width / 2} y={HEIGHT + 14} fontSize="10" textAnchor="middle" fill="var(--muted)">{bar.label}</text>}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}
