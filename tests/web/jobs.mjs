// Stories of what runs and what will run: calls that are followed and stopped, schedules, macros, and secrets in results.
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { account, card, commandLine, defineTool, enrol, firstAdmin, loaded, pictures, signIn, storyOf } from "./setup.mjs";
import { World } from "./world.mjs";

const world = new World();
const test = storyOf(world);
const SECRET = "ghp_0123456789abcdefABCDEF0123456789abcd";
let admin;
let laptop;
let orion;

before(async () => {
  await world.start();
  admin = await firstAdmin(world);
  laptop = await enrol(world, admin, "laptop", { profile: "developer" });
  orion = commandLine(world);
});
after(() => world.end());

const row = (name) => admin.getByRole("row").filter({ hasText: name });

test("a call is seen while it waits and runs, and is stopped there", async () => {
  await admin.goto("/jobs");
  await admin.getByText("Nothing runs, and nothing waits").waitFor();
  defineTool(world, "laptop", "sleep_well", 'description = "Sleeps."\nprogram = "/usr/bin/sleep"\nargv = ["{seconds}"]\n[arguments.seconds]\ntype = "integer"\nminimum = 1\nmaximum = 600\nrequired = true\n');
  await admin.goto("/tools");
  await admin.getByRole("button", { name: "Approve this definition" }).click();
  await admin.getByRole("region", { name: "Tool that waits for a decision" }).waitFor({ state: "detached" });
  await admin.goto("/jobs");
  orion(6, "call", "laptop", "sleep_well", "seconds=600", "confirm=true");
  const running = admin.getByRole("region", { name: "Running" });
  await running.getByText("needs approval").waitFor();
  await running.getByRole("link", { name: "Answer" }).click();
  await admin.getByRole("button", { name: "Approve once" }).click();
  await admin.getByText("approved", { exact: true }).waitFor();
  await admin.goto("/jobs");
  await running.getByText(/^(sent|running)$/).waitFor();
  await running.getByRole("button", { name: "Stop sleep_well" }).click();
  // Without a reload it moves from the one list to the other.
  const recent = admin.getByRole("region", { name: "Recent" });
  await recent.getByRole("row").filter({ hasText: "sleep_well" }).getByText("cancelled").waitFor();
  await running.getByText("Nothing runs, and nothing waits").waitFor();
  await admin.getByLabel("Which ended calls").selectOption("failed");
  await admin.waitForURL("**/jobs?show=failed");
  await recent.getByText("sleep_well").waitFor();
});

test("schedules are turned on by an admin who sees what that grants", async () => {
  await admin.goto("/jobs");
  await admin.getByRole("link", { name: "Schedules", exact: true }).click();
  await admin.getByRole("link", { name: /^Turn them on/ }).click();
  const draft = admin.getByRole("region", { name: "Draft" });
  for (const tool of ["schedule_task", "list_tasks", "cancel_task"]) await draft.getByText(new RegExp(`^\\+ *- ${tool}$`)).waitFor();
  await draft.getByRole("button", { name: "Apply" }).click();
  await admin.getByText("The permissions are active").waitFor();
  await admin.goto("/jobs/schedules");
  await admin.getByRole("link", { name: "Make the first schedule" }).waitFor();
});

async function schedule(name, when, tool, args) {
  await admin.goto("/jobs/schedules/new");
  await admin.getByLabel("Name", { exact: true }).fill(name);
  await admin.getByLabel("When", { exact: true }).fill(when);
  await admin.getByLabel("Time zone").fill("Europe/Brussels");
  await admin.getByLabel("Tool", { exact: true }).selectOption(tool);
  await admin.getByLabel("Arguments", { exact: true }).fill(JSON.stringify(args));
}

test("a schedule is previewed, approved where it is made, makes its call at its time and shows what came of it", async () => {
  const soon = new Date(Date.now() + 20_000).toISOString().replace(/\.\d+Z$/, "Z");
  await schedule("one folder", soon, "create_directory", { path: "Planned" });
  await admin.getByRole("button", { name: "Show the next times" }).click();
  await card(admin, "schedule_task").getByText("preview", { exact: true }).waitFor();
  await card(admin, "schedule_task").getByText("succeeded").waitFor();
  await admin.getByRole("button", { name: "Make the schedule" }).click();
  await card(admin, "schedule_task").getByRole("button", { name: "Approve once" }).click();
  await card(admin, "schedule_task").getByText("succeeded").waitFor();
  await admin.goto("/jobs/schedules");
  await row("one folder").getByText(/^in \d+ s$|^now$/).first().waitFor();
  await row("one folder").getByText("succeeded").waitFor();
  await row("one folder").getByText("done", { exact: true }).waitFor();
  assert.ok(existsSync(join(laptop.files, "Planned")));
});

test("a schedule opens by its address, its call is made at once, and it is cancelled", async () => {
  await schedule("workdays", "0 8 * * 1-5", "list_directory", { path: "." });
  await admin.getByRole("button", { name: "Make the schedule" }).click();
  await card(admin, "schedule_task").getByRole("button", { name: "Approve once" }).click();
  await card(admin, "schedule_task").getByText("succeeded").waitFor();
  await admin.goto("/jobs/schedules");
  await row("workdays").getByText("Monday to Friday at 08:00").waitFor();
  await row("workdays").getByRole("link", { name: "workdays" }).click();
  await admin.waitForURL("**/jobs/schedules/*");
  await admin.reload();
  const view = admin.getByRole("region", { name: "Schedule" });
  await view.getByText("in Europe/Brussels").waitFor();
  const address = admin.url();
  await view.getByRole("button", { name: "Make this call now" }).click();
  await admin.waitForURL("**/calls/*");
  await card(admin, "list_directory").getByText("succeeded").waitFor();
  await admin.goto(address);
  await view.getByRole("button", { name: "Cancel the schedule…" }).click();
  await admin.getByRole("dialog").getByRole("button", { name: "Cancel the schedule" }).click();
  await view.getByText("cancelled", { exact: true }).waitFor();
  assert.equal(await view.getByRole("button", { name: "Cancel the schedule…" }).count(), 0);
});

test("a macro is run with its parameter, and removed", async () => {
  orion(0, "devices", "permissions", "add", "backend", "--tool", "save_macro", "--tool", "run_macro", "--tool", "list_macros");
  const file = join(world.folder, "macro.json");
  writeFileSync(file, JSON.stringify({ calls: [{ tool: "create_directory", device: "laptop", arguments: { path: "{{folder}}" } }], parameters: ["folder"] }));
  await admin.goto("/jobs/macros");
  await admin.getByText("No macro yet").waitFor();
  orion(0, "macros", "save", "new-project", `@${file}`);
  const macro = admin.getByRole("region", { name: "Macro" });
  await macro.getByText("path={{folder}}").waitFor();
  await macro.getByRole("button", { name: "Run…" }).click();
  await admin.getByRole("dialog").getByLabel("folder").fill("Project");
  await admin.getByRole("dialog").getByRole("button", { name: "Run it" }).click();
  await admin.waitForURL("**/calls/*");
  await card(admin, "run_macro").getByText("succeeded").first().waitFor();
  assert.ok(existsSync(join(laptop.files, "Project")));
  await admin.goto("/jobs/macros");
  await macro.getByRole("button", { name: "Remove…" }).click();
  await admin.getByRole("dialog").getByRole("button", { name: "Remove the macro" }).click();
  await admin.getByText("No macro yet").waitFor();
});

test("secrets in a result are hidden until somebody with the right asks, which the audit log records", async () => {
  writeFileSync(join(laptop.files, "key.txt"), `token: ${SECRET}\n`);
  orion(0, "call", "laptop", "read_file", "path=key.txt");
  await admin.goto("/jobs");
  await row("read_file").getByRole("link", { name: "read_file" }).click();
  const call = card(admin, "read_file");
  await call.getByRole("button", { name: "Details" }).click();
  await call.getByText(/\[secret: github token/).first().waitFor();
  assert.ok(!(await admin.locator("main").textContent()).includes(SECRET));
  await call.getByRole("button", { name: "Show hidden secrets…" }).click();
  const dialog = admin.getByRole("dialog");
  await dialog.getByRole("button", { name: "Keep them hidden" }).click();
  const address = new URL(admin.url()).pathname;
  await admin.goto(`/audit?call=${address.split("/").at(-1)}`);
  await loaded(admin);
  assert.equal(await admin.getByText("secret.revealed").count(), 0);
  await admin.goto(address);
  await call.getByRole("button", { name: "Show hidden secrets…" }).click();
  await dialog.getByRole("button", { name: "Show the secrets" }).click();
  await dialog.getByText(new RegExp(SECRET)).first().waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.ok(!(await admin.locator("body").textContent()).includes(SECRET));
  await admin.getByText("secret.revealed").waitFor();
});

test("a person sees their own jobs and schedules alone, on a phone too", async () => {
  await account(admin, "ann");
  const ann = await world.browser({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
  await ann.goto("/sign-in?next=/jobs");
  await signIn(ann, "ann");
  await ann.getByText("No call yet").waitFor();
  await ann.getByRole("link", { name: "Schedules", exact: true }).click();
  await ann.getByText("No schedule yet").waitFor();
  for (const path of ["/jobs", "/jobs/schedules", "/jobs/schedules/new", "/jobs/macros"]) {
    await admin.setViewportSize({ width: 390, height: 844 });
    await admin.goto(path);
    await loaded(admin);
    const [wide, shown] = await admin.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    assert.ok(wide <= shown, `${path}: ${wide} of ${shown} pixels`);
  }
  await ann.context().close();
});

test("pictures are taken where they are asked for", { skip: !process.env.ORION_PICTURES }, async () => {
  await schedule("disk check", "0 8 * * 1-5", "list_directory", { path: "." });
  await admin.getByRole("button", { name: "Make the schedule" }).click();
  await card(admin, "schedule_task").getByRole("button", { name: "Approve once" }).click();
  await card(admin, "schedule_task").getByText("succeeded").waitFor();
  orion(6, "call", "laptop", "sleep_well", "seconds=600", "confirm=true");
  const file = join(world.folder, "macro.json");
  orion(0, "macros", "save", "new-project", `@${file}`);
  await admin.goto("/jobs/schedules");
  const one = await row("disk check").getByRole("link", { name: "disk check" }).getAttribute("href");
  await pictures(world, admin, [["jobs", "/jobs"], ["jobs-schedules", "/jobs/schedules"], ["jobs-schedule", one], ["jobs-schedules-new", "/jobs/schedules/new"], ["jobs-macros", "/jobs/macros"]]);
});

test("nothing violated the content security policy, and no script failed", () => {
  assert.deepEqual(world.violations, []);
});
