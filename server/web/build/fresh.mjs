// Generates the client again, and says whether the committed one is that of the API.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const web = join(import.meta.dirname, "..");
const fresh = mkdtempSync(join(tmpdir(), "orion-gen-"));
const files = (folder) => readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".ts")).toSorted();
try {
  execFileSync(join(web, "node_modules/.bin/buf"), ["generate", "../../proto", "--template", "buf.gen.yaml", "-o", fresh], { cwd: web, env: { ...process.env, PATH: `${join(web, "node_modules/.bin")}:${process.env.PATH}` } });
  const [made, kept] = [join(fresh, "src/gen"), join(web, "src/gen")];
  const names = files(made);
  const isSame = names.join() === files(kept).join() && names.every((name) => readFileSync(join(made, name), "utf8") === readFileSync(join(kept, name), "utf8"));
  if (!isSame) throw new Error("server/web/src/gen is not that of proto/: run `npm run generate` in server/web");
} finally {
  rmSync(fresh, { recursive: true, force: true });
}
