// Writes a compressed copy beside each built text, and says how much a browser loads first.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const dist = new URL("../dist/", import.meta.url);
const sizes = new Map();
for (const name of readdirSync(dist, { recursive: true })) {
  if (!/\.(html|js|css|svg)$/.test(name)) continue;
  const small = gzipSync(readFileSync(new URL(name, dist)), { level: 9 });
  writeFileSync(new URL(`${name}.gz`, dist), small);
  sizes.set(name, small.length);
}
const index = readFileSync(new URL("index.html", dist), "utf8");
const first = [...sizes].filter(([name]) => name.endsWith(".js") && index.includes(name));
const all = [...sizes].filter(([name]) => name.endsWith(".js"));
const kB = (list) => (list.reduce((sum, [, size]) => sum + size, 0) / 1000).toFixed(1);
for (const [name, size] of [...sizes].toSorted((a, b) => b[1] - a[1])) console.log(`${(size / 1000).toFixed(1).padStart(8)} kB  ${name}`);
console.log(`scripts, gzipped: ${kB(first)} kB at first, ${kB(all)} kB in all`);
if (first.reduce((sum, [, size]) => sum + size, 0) > 250_000) throw new Error("the first load exceeds 250 kB");
