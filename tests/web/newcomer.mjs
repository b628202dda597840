// Five tasks of a person who sees the page for the first time, from the sign-in link on. What they may take at most is
// held here: a change of the page that makes them longer fails.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { Newcomer } from "./person.mjs";
import { account, answered, card, firstAdmin, link, say, signIn, storyOf } from "./setup.mjs";
import { World, eventually } from "./world.mjs";

const DAY_MS = 86_400_000;
const world = new World();
const test = storyOf(world);
let admin;
let ann;
let device;
let newcomer;

before(async () => {
  await world.start();
  admin = await firstAdmin(world);
  await account(admin, "ann");
  ann = await world.browser();
  await ann.goto("/sign-in");
  await signIn(ann, "ann");
  await ann.getByLabel("Message", { exact: true }).waitFor();
});
after(async () => {
  if (newcomer) console.log(newcomer.table());
  await world.end();
});

/** A folder that the device's owner allows, and the backend does not grant. */
const photos = () => join(world.folder, "laptop", "photos");

function atMost({ name, clicks, keys }, mostClicks, mostKeys) {
  assert.ok(clicks <= mostClicks && keys <= mostKeys, `${name}: ${clicks} clicks of ${mostClicks}, ${keys} keys of ${mostKeys}`);
}

test("a device is enrolled", async () => {
  const page = await world.browser();
  newcomer = new Newcomer(page, process.env.ORION_STEPS);
  await page.goto(await link(admin));
  const files = join(world.folder, "laptop", "files");
  const took = await newcomer.task("enrol a device", async () => {
    await newcomer.click("Go on as admin");
    await newcomer.click("Enrol your first device");
    await newcomer.write("Name", "laptop");
    await newcomer.choose("What it may do at first", "operator");
    await newcomer.write("In these folders", files, { paste: true });
    await newcomer.click("Make the command");
    await newcomer.click("Copy the command");
    const command = await page.locator(".command code").textContent();
    device = await world.enrol("laptop", command.split(" ")[2], { paths: [photos()] });
    await newcomer.click("The words are the same: approve");
    await device.enrolled;
    device.connect();
    await newcomer.sees("connected");
  });
  atMost(took, 9, 7);
});

test("a denial is understood, and just that is allowed", async () => {
  const { page } = newcomer;
  mkdirSync(photos());
  await page.goto("/chat");
  const took = await newcomer.task("allow just what was denied", async () => {
    await newcomer.write("Message", `list files in ${photos()}`, { paste: true });
    await newcomer.press("Enter");
    const denied = card(page, "list_directory");
    await newcomer.sees("denied", denied);
    await newcomer.click("Allow on this device…", denied);
    await newcomer.sees("What this changes");
    await newcomer.click("Apply");
    await newcomer.sees("permissions acknowledged by the device");
  });
  await page.goto("/chat");
  await say(page, `list files in ${photos()}`);
  await card(page, "list_directory").getByText("succeeded").waitFor();
  atMost(took, 3, 3);
});

test("a deletion that somebody else asks for is approved", async () => {
  const { page } = newcomer;
  mkdirSync(join(device.files, "Old"));
  await page.goto("/chat");
  await say(ann, "delete the folder Old with everything in it");
  await card(ann, "delete_directory").getByRole("region", { name: "Approval request" }).waitFor();
  const took = await newcomer.task("approve a deletion", async () => {
    await newcomer.click(/^Approvals/);
    await newcomer.click(/^Approve once/);
    await newcomer.sees("approved");
  });
  await eventually("the deletion", () => !existsSync(join(device.files, "Old")));
  atMost(took, 2, 0);
});

test("a change is taken back", async () => {
  const { page } = newcomer;
  writeFileSync(join(device.files, "list.txt"), "milk");
  await page.goto("/chat");
  await say(page, "delete list.txt");
  await card(page, "delete_file").getByRole("button", { name: "Approve once" }).click();
  await eventually("the deletion", () => !existsSync(join(device.files, "list.txt")));
  await answered(page);
  await page.goto("/devices");
  const took = await newcomer.task("take a change back", async () => {
    await newcomer.click("laptop");
    await newcomer.click("Activity");
    await newcomer.click("delete_file");
    await newcomer.click("Undo");
    await newcomer.sees("Taken back");
  });
  assert.ok(existsSync(join(device.files, "list.txt")));
  atMost(took, 4, 0);
  // A person who looks later sees it, and is offered nothing that is done.
  await page.reload();
  await page.getByRole("link", { name: "Taken back" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Undo" }).count(), 0);
});

test("a change that is taken back by a message says so on its card", async () => {
  await ann.goto("/chat");
  await say(ann, "make a folder Brief");
  await card(ann, "create_directory").getByRole("button", { name: "Undo" }).waitFor();
  await answered(ann);
  await say(ann, "undo that");
  await card(ann, "create_directory").getByRole("link", { name: "Taken back" }).waitFor();
  assert.ok(!existsSync(join(device.files, "Brief")));
});

test("an answer keeps its lines, and a chat that is opened again shows its end", async () => {
  await ann.setViewportSize({ width: 1000, height: 500 });
  await ann.goto("/chat");
  await say(ann, "help");
  await answered(ann);
  const text = await ann.locator(".answer").last().innerText();
  assert.ok(text.split("\n").length > 10, text);
  // The messages scroll, and not the page around them.
  assert.ok(await ann.evaluate(() => document.documentElement.scrollHeight <= innerHeight));
  await say(ann, "list files");
  await card(ann, "list_directory").getByText("succeeded").waitFor();
  await answered(ann);
  const below = () => ann.locator(".messages").evaluate((it) => it.scrollHeight - it.scrollTop - it.clientHeight);
  const address = ann.url();
  for (let opening = 0; opening < 3; opening += 1) {
    await ann.goto("/devices");
    await ann.goto(address);
    await card(ann, "list_directory").getByText("succeeded").waitFor();
    await ann.waitForTimeout(1_500);
    assert.ok(await below() < 80, `${await below()} px are below`);
  }
  // A person who reads further up stays there.
  await ann.locator(".messages").hover();
  await ann.mouse.wheel(0, -5_000);
  await ann.waitForTimeout(500);
  assert.ok(await below() > 80);
  // What one says is seen, and so is its answer.
  await say(ann, "list files");
  await answered(ann);
  await ann.waitForTimeout(500);
  assert.ok(await below() < 80, `${await below()} px are below`);
  await ann.setViewportSize({ width: 1280, height: 800 });
});

test("a new approval request shows no error", async () => {
  await ann.goto("/chat");
  for (let n = 1; n <= 4; n += 1) {
    mkdirSync(join(device.files, `New${n}`));
    await say(ann, `delete the folder New${n} with everything in it`);
    const asked = card(ann, "delete_directory");
    await asked.getByRole("region", { name: "Approval request" }).waitFor();
    await ann.waitForTimeout(1_000);
    assert.equal(await ann.getByText("There is nothing with that name or id").count(), 0);
    await asked.getByRole("button", { name: "Approve once" }).click();
    await asked.getByText("succeeded").waitFor();
    await answered(ann);
  }
});

test("an answer that waits goes on by itself once its request is approved", async () => {
  await ann.goto("/chat");
  mkdirSync(join(device.files, "Late"));
  await say(ann, "delete the folder Late with everything in it");
  await card(ann, "delete_directory").getByRole("region", { name: "Approval request" }).waitFor();
  await ann.reload();
  await ann.getByText("The answer goes on here once the request above is approved or denied.").waitFor();
  await card(ann, "delete_directory").getByRole("button", { name: "Approve once" }).click();
  await card(ann, "delete_directory").getByText("succeeded").waitFor();
  await ann.locator(".answer").getByText(/Late to the trash/).waitFor();
});

test("many files are listed, and the answer says so", async () => {
  for (let n = 1; n <= 60; n += 1) writeFileSync(join(device.files, `file number ${n}.txt`), "x");
  await ann.goto("/chat");
  await say(ann, "list files");
  await card(ann, "list_directory").getByText("succeeded").waitFor();
  await answered(ann);
  const text = await ann.locator(".answer").last().innerText();
  assert.doesNotMatch(text, /did not work/);
  assert.match(text, /file number/);
});

test("names of files are shown as they are, live and later", async () => {
  for (const name of ["__init__.py", "*star*.md", "# hash.md", "www.example.com.md"]) {
    mkdirSync(join(device.files, "Odd"), { recursive: true });
    writeFileSync(join(device.files, "Odd", name), "x");
  }
  await ann.goto("/chat");
  await say(ann, "list files in Odd");
  await card(ann, "list_directory").getByText("succeeded").waitFor();
  await answered(ann);
  for (const when of ["live", "later"]) {
    const answer = ann.locator(".answer").last();
    await answer.getByText("__init__.py").waitFor();
    const text = await answer.innerText();
    for (const name of ["__init__.py", "*star*.md", "# hash.md", "www.example.com.md"]) assert.ok(text.includes(name), `${when}: ${text}`);
    assert.equal(await answer.getByRole("link").count(), 0, when);
    await ann.reload();
  }
});

test("an address that is no page says so, and leads back", async () => {
  const answer = await ann.goto("/nowhere/at/all");
  assert.equal(answer.status(), 404);
  await ann.getByText("There is no page at this address").waitFor();
  await ann.getByRole("link", { name: "Open the chat" }).click();
  await ann.getByLabel("Message", { exact: true }).waitFor();
  const asked = await ann.request.get("/nowhere", { headers: { accept: "*/*" } });
  assert.deepEqual([asked.status(), (await asked.json()).error.code], [404, "NOT_FOUND"]);
});

test("what a device did yesterday is seen", async () => {
  const { page } = newcomer;
  await page.clock.install({ time: Date.now() + DAY_MS });
  await page.goto("/chat");
  const took = await newcomer.task("see what a device did yesterday", async () => {
    await newcomer.click("Devices");
    await newcomer.click("laptop");
    await newcomer.click("Activity");
    await newcomer.click("Yesterday");
    await newcomer.sees("delete_file");
  });
  await page.getByText(/^delete \/.*\.txt$/).first().waitFor();
  assert.equal(await page.getByRole("heading", { level: 2 }).allTextContents().then((all) => all.join()), "Yesterday");
  atMost(took, 4, 0);
});

test("nothing violated the content security policy, and no script failed", () => {
  assert.deepEqual(world.violations, []);
});
