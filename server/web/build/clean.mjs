// Empties `dist`, but for the file that keeps the folder in the repository.
import { readdirSync, rmSync } from "node:fs";

const dist = new URL("../dist/", import.meta.url);
for (const name of readdirSync(dist)) {
  if (name !== ".gitignore") rmSync(new URL(name, dist), { recursive: true });
}
