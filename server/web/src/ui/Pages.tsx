// The pages of a long list, whose rows are all here already: as many are drawn as can be read.
import { Button } from "./basics";

export const PAGE_ROWS = 50;

/** Returns how many pages a list has, and its rows on one of them. */
export function pageOf<T>(rows: T[], page: number): { pages: number; shown: T[]; page: number } {
  const pages = Math.max(1, Math.ceil(rows.length / PAGE_ROWS));
  const current = Math.min(Math.max(1, page), pages);
  return { pages, page: current, shown: rows.slice((current - 1) * PAGE_ROWS, current * PAGE_ROWS) };
}

export function Pages({ page, pages, go }: { page: number; pages: number; go: (page: number) => void }) {
  if (pages === 1) return null;
  return (
    <nav className="row pages" aria-label="Pages of the list">
      <Button look="small" disabled={page === 1} onClick={() => go(page - 1)}>Previous</Button>
      <span className="muted" aria-current="page">Page {page} of {pages}</span>
      <Button look="small" disabled={page === pages} onClick={() => go(page + 1)}>Next</Button>
    </nav>
  );
}
