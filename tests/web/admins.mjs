// Stories of what admins do all day: plans over several devices, the policy, requests for access, tools of devices, and
// chats that are found again.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { account, answered, card, commandLine, defineTool, enrol, firstAdmin, heading, loaded, say, signIn, storyOf } from "./setup.mjs";
import { World, eventually } from "./world.mjs";

const world = new World();
const test = storyOf(world);
let admin;
let ann;
let laptop;
let server;
let orion;

before(async () => {
  await world.start();
  admin = await firstAdmin(world);
  laptop = await enrol(world, admin, "laptop");
  server = await enrol(world, admin, "server");
  await account(admin, "ann");
  ann = await world.browser();
  await ann.goto("/sign-in");
  await signIn(ann, "ann");
  await ann.getByLabel("Message", { exact: true }).waitFor();
  orion = commandLine(world);
});
after(() => world.end());

test("a plan over two devices is read as a whole, approved once, and done on both", async () => {
  for (const { files } of [laptop, server]) mkdirSync(join(files, "Old/Inside"), { recursive: true });
  orion(6, "plan", "call", "laptop,server", "delete_directory", "path=Old", "recursive=true", "confirm=true");
  await ann.goto("/approvals");
  await ann.getByRole("navigation", { name: "Plans" }).getByRole("link").click();
  await ann.getByRole("button", { name: "Approve all 2 steps" }).waitFor();
  const steps = ann.getByRole("main").getByRole("listitem");
  assert.equal(await steps.count(), 2);
  for (const [index, name] of ["laptop", "server"].entries()) {
    await steps.nth(index).getByText(name, { exact: true }).waitFor();
    await steps.nth(index).getByText(/^Would move/).waitFor();
  }
  const axe = readFileSync(join(import.meta.dirname, "node_modules/axe-core/axe.min.js"), "utf8");
  for (const colorScheme of ["light", "dark"]) {
    await ann.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await ann.evaluate(axe);
    const { violations } = await ann.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
    assert.deepEqual(violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id, nodes }) => [id, nodes[0].html]), []);
  }
  assert.ok(existsSync(join(laptop.files, "Old")) && existsSync(join(server.files, "Old")));
  await ann.getByRole("button", { name: "Approve all 2 steps" }).click();
  await ann.getByRole("heading", { level: 1 }).getByText("succeeded").waitFor();
  assert.ok(!existsSync(join(laptop.files, "Old")) && !existsSync(join(server.files, "Old")));
});

test("a rule made from an approval names what it covers, and is listed until it is ended", async () => {
  mkdirSync(join(laptop.files, "drafts/deep"), { recursive: true });
  const draft = (name) => writeFileSync(join(laptop.files, "drafts", name), "");
  for (const name of ["one.txt", "deep/two.txt", "three.txt"]) draft(name);
  const deletion = (name) => ["call", "laptop", "delete_file", `path=drafts/${name}`, "confirm=true"];
  orion(6, ...deletion("one.txt"));
  await ann.goto("/approvals");
  await ann.getByRole("button", { name: "More…" }).click();
  const covered = ann.getByRole("list", { name: "Covered by the rule" });
  await covered.getByText(join(laptop.files, "drafts/one.txt"), { exact: true }).waitFor();
  await ann.getByLabel("the whole folder that holds the path").check();
  await covered.getByText(join(laptop.files, "drafts"), { exact: true }).waitFor();
  await ann.getByRole("button", { name: "Approve and make the rule" }).click();
  await ann.getByRole("status").getByText("its rule is listed under Approvals").waitFor();
  const rules = ann.getByRole("region", { name: "Rules made from approvals" });
  await rules.getByText(join(laptop.files, "drafts"), { exact: true }).waitFor();
  await rules.getByText(/^delete_file/).waitFor();
  orion(0, ...deletion("deep/two.txt"));
  await rules.getByRole("button", { name: "End the rule…" }).click();
  await ann.getByRole("dialog").getByRole("button", { name: "End the rule" }).click();
  await rules.waitFor({ state: "detached" });
  orion(6, ...deletion("three.txt"));
  await ann.getByRole("navigation", { name: "Requests" }).getByRole("link", { name: /three/ }).click();
  await ann.getByRole("button", { name: "Deny…" }).click();
  await ann.getByLabel(/^Reason/).fill("no more");
  await ann.getByRole("button", { name: "Deny", exact: true }).click();
  await ann.getByText("denied").first().waitFor();
  assert.ok(existsSync(join(laptop.files, "drafts/three.txt")));
  // The answered ones are listed with the first click where none is open.
  await ann.goto("/approvals");
  await ann.getByRole("button", { name: "Also answered ones" }).click();
  await ann.getByRole("button", { name: "Only open ones" }).waitFor();
  await ann.getByRole("navigation", { name: "Requests" }).getByRole("link").nth(1).waitFor();
});

test("what a request touches is shown to its end, however long its path is", async () => {
  const deep = join("a".repeat(90), "Inmidst", "b".repeat(90));
  mkdirSync(join(laptop.files, deep), { recursive: true });
  writeFileSync(join(laptop.files, deep, "signed.txt"), "");
  orion(6, "call", "laptop", "delete_file", `path=${deep}/signed.txt`, "confirm=true");
  await ann.goto("/approvals");
  await ann.getByRole("navigation", { name: "Requests" }).getByRole("link", { name: /signed/ }).click();
  const request = ann.getByRole("region", { name: "Approval request" });
  for (const name of ["Preview", "Touches", "Arguments"]) {
    await request.locator(`dt:text-is("${name}") + dd`).first().getByText(/Inmidst.*signed\.txt/s).waitFor();
  }
  await request.getByRole("button", { name: "Deny…" }).click();
  await ann.getByLabel(/^Reason/).press("Escape");
  await request.getByRole("button", { name: "Approve once" }).waitFor();
  await request.getByRole("button", { name: "Deny…" }).click();
  await ann.getByLabel(/^Reason/).fill("It is signed.");
  await request.getByRole("button", { name: "Deny", exact: true }).click();
  await ann.getByText("denied").first().waitFor();
});

test("names that differ in what is not seen, or in what stands for it, do not look the same", async () => {
  const names = ["two words.txt", "two  words.txt", "two␣␣words.txt", "two\u00a0words.txt", "two\\u{a0}words.txt", "two words.txt ", "two\nwords.txt", "two␊words.txt", "two⏎words.txt", "two\u202ewords.txt", "two\\u{202e}words.txt", "two�words.txt", "two\u2800words.txt", "two\r\nwords.txt", "two w\u00f3rds.txt", "two wo\u0301rds.txt", "two w\u1ecd\u0301rds.txt", "two wo\u0301\u0323rds.txt"];
  const parts = ["Preview", "Touches", "Arguments"];
  const shown = parts.map(() => []);
  for (const name of names) {
    writeFileSync(join(laptop.files, name), "");
    orion(6, "call", "laptop", "delete_file", `path=${name}`, "confirm=true");
    await ann.goto("/approvals");
    const request = ann.getByRole("region", { name: "Approval request" });
    await request.getByText("can be undone").waitFor();
    for (const [at, part] of parts.entries()) shown[at].push(await request.locator(`dt:text-is("${part}") + dd`).first().innerText());
    await request.getByRole("button", { name: "More…" }).click();
    const json = await ann.getByLabel("Arguments as JSON").inputValue();
    assert.equal(JSON.parse(json).path, name);
    await ann.getByRole("button", { name: "Back" }).click();
    await request.getByRole("button", { name: "Deny…" }).click();
    await ann.getByLabel(/^Reason/).fill("A test.");
    await request.getByRole("button", { name: "Deny", exact: true }).click();
    await ann.getByText("denied").first().waitFor();
  }
  for (const texts of shown) assert.equal(new Set(texts).size, names.length, texts.join("\n"));
});

test("what can be read as another word is named on the card, in the name and in what is written", async () => {
  writeFileSync(join(laptop.files, "\u0441\u043e\u0440\u0443.txt"), "");
  writeFileSync(join(laptop.files, "shop.yaml"), `host: example.com\n${"# a comment\n".repeat(9)}`);
  const changes = [{ line: 1, old: "host: example.com", new: `host: p\u0430ypal.com\n${"# more\n".repeat(40)}evil: true` }];
  const calls = [
    [["delete_file", "path=\u0441\u043e\u0440\u0443.txt", "confirm=true"], /U\+0441 that looks like c/, undefined],
    [["modify_config", "path=shop.yaml", `changes=${JSON.stringify(changes)}`, "confirm=true"], /p\u0430ypal has U\+0430 that looks like a/, /Would put 42 lines in the place of 1 line of .*shop\.yaml/],
  ];
  for (const [call, alike, preview] of calls) {
    orion(6, "call", "laptop", ...call);
    await ann.goto("/approvals");
    const request = ann.getByRole("region", { name: "Approval request" });
    await request.locator('dt:text-is("Look-alikes") + dd').getByText(alike).waitFor();
    if (preview) {
      await request.getByText(preview).waitFor();
      await request.getByText(/^and \d+ more lines, in the details$/).waitFor();
    }
    await request.getByRole("button", { name: "Deny…" }).click();
    await ann.getByLabel(/^Reason/).fill("A test.");
    await request.getByRole("button", { name: "Deny", exact: true }).click();
    await ann.getByText("denied").first().waitFor();
  }
});

test("who approves sees how the call ended, also where nothing came of it", async () => {
  mkdirSync(join(laptop.files, "stale"));
  orion(6, "call", "laptop", "delete_directory", "path=stale", "recursive=true", "confirm=true");
  await ann.goto("/approvals");
  await ann.getByRole("navigation", { name: "Requests" }).getByRole("link", { name: /stale/ }).click();
  const request = ann.getByRole("region", { name: "Approval request" });
  await request.getByText("can be undone").waitFor();
  writeFileSync(join(laptop.files, "stale/new.txt"), "");
  await request.getByRole("button", { name: "Approve once" }).click();
  await request.getByText("failed", { exact: true }).waitFor();
  await request.getByText("PRECONDITION_FAILED").waitFor();
  await ann.getByText("admin, who made the call, and the admins see its result.").waitFor();
  assert.ok(existsSync(join(laptop.files, "stale/new.txt")));
});

test("a plan whose files change after it was shown does not touch them", async () => {
  for (const { files } of [laptop, server]) writeFileSync(join(files, "old.txt"), "old");
  orion(6, "plan", "call", "laptop,server", "delete_file", "path=old.txt", "confirm=true");
  await ann.goto("/approvals");
  await ann.getByRole("navigation", { name: "Plans" }).getByRole("link").click();
  await ann.getByRole("button", { name: "Approve all 2 steps" }).waitFor();
  writeFileSync(join(laptop.files, "old.txt"), "changed since");
  await ann.getByRole("button", { name: "Approve all 2 steps" }).click();
  await ann.getByRole("heading", { level: 1 }).getByText("failed").waitFor();
  await ann.getByText(/is not as it was when the preview was shown/).first().waitFor();
  assert.ok(existsSync(join(laptop.files, "old.txt")) && existsSync(join(server.files, "old.txt")));
});

test("a plan whose permissions changed ends when it is approved, and says why", async () => {
  orion(6, "plan", "call", "laptop", "create_directory", "path=Never");
  await admin.goto("/approvals");
  await admin.getByRole("navigation", { name: "Plans" }).getByRole("link").click();
  await admin.getByRole("button", { name: "Approve the step" }).waitFor();
  orion(0, "devices", "permissions", "add", "laptop", "--path", "/srv/never", "--access", "read");
  await admin.getByRole("button", { name: "Approve the step" }).click();
  await admin.getByRole("heading", { level: 1 }).getByText("expired").waitFor();
  await admin.getByText(/Nothing was approved, and the plan has ended: since it was made, the device of step 1, its permissions or paths/).waitFor();
  assert.ok(!existsSync(join(laptop.files, "Never")));
  orion(0, "devices", "permissions", "remove", "laptop", "--path", "/srv/never");
});

test("what a denied person lacked is asked for on the denial, and granted by an admin, for a while", async () => {
  await admin.goto("/devices/laptop");
  await admin.getByRole("button", { name: "Edit", exact: true }).click();
  await admin.getByRole("region", { name: "Permissions" }).getByRole("row", { name: `path ${laptop.files}` }).getByRole("button", { name: /^Remove/ }).click();
  await admin.getByRole("button", { name: "Apply" }).click();
  await admin.getByText("acknowledged by the device").waitFor();
  await ann.goto("/chat");
  await say(ann, "make a folder Wanted on laptop");
  const denied = card(ann, "create_directory");
  await denied.getByText("denied", { exact: true }).waitFor();
  await denied.getByRole("button", { name: "Request access for two hours" }).click();
  await denied.getByRole("link", { name: "Requested" }).waitFor();

  await admin.goto("/access");
  const request = admin.getByRole("region", { name: "Access request" });
  await request.getByText("Exactly this would be granted").waitFor();
  await request.getByText(/Wanted/).first().waitFor();
  await request.getByLabel("Reason").fill("For today.");
  await request.getByRole("button", { name: "Grant", exact: true }).click();
  await request.getByText("granted", { exact: true }).waitFor();
  await denied.getByText(/^Granted: make the call again\. It ends /).waitFor();
  await eventually("the folder", async () => {
    await answered(ann);
    await say(ann, "make a folder Wanted on laptop");
    await answered(ann);
    return existsSync(join(laptop.files, "Wanted"));
  });
  await ann.goto("/access");
  await ann.getByText("granted", { exact: true }).waitFor();
  await admin.getByRole("button", { name: "End this access" }).click();
  await admin.getByText("No requests").waitFor();
});

test("a draft outlasts a look elsewhere and a reload, and takes back nothing that others changed since", async () => {
  await admin.goto("/devices/server");
  const matrix = admin.getByRole("region", { name: "Permissions" });
  await matrix.getByRole("row", { name: "tool analyze_disk" }).getByRole("button", { name: /^Remove/ }).click();
  const draft = admin.getByRole("region", { name: "Draft" });
  await draft.getByText("- analyze_disk").waitFor();
  await admin.getByRole("link", { name: "Audit", exact: true }).first().click();
  await admin.goto("/devices/server");
  await draft.getByText("- analyze_disk").waitFor();
  orion(0, "devices", "permissions", "add", "server", "--path", "/srv/since", "--access", "read");
  await draft.getByText("Somebody else has changed these permissions since you began").waitFor();
  await draft.getByText("- analyze_disk").waitFor();
  assert.equal(await draft.getByText("/srv/since").count(), 0);
  assert.ok(await draft.getByRole("button", { name: "Apply" }).isDisabled());
  await draft.getByRole("button", { name: "Discard" }).click();
  await matrix.getByRole("row", { name: "path /srv/since" }).waitFor();
  await matrix.getByRole("row", { name: "tool analyze_disk" }).getByRole("button", { name: /^Remove/ }).click();
  await draft.getByText("- analyze_disk").waitFor();
  await draft.getByRole("button", { name: "Apply" }).click();
  await draft.waitFor({ state: "detached" });
  await admin.getByText("acknowledged by the device").waitFor();
  await admin.reload();
  await matrix.getByRole("row", { name: "path /srv/since" }).waitFor();
  await matrix.getByRole("row", { name: "tool list_directory" }).waitFor();
  assert.equal(await matrix.getByRole("row", { name: "tool analyze_disk" }).getByTitle("The backend grants it: yes").count(), 0);
  assert.equal(await draft.count(), 0);

  const text = "version: 1\n# Mine.\nrules: []\n";
  await admin.goto("/policy");
  const editor = admin.getByLabel("Policy file");
  await editor.fill(text);
  await admin.getByRole("link", { name: "Insights", exact: true }).first().click();
  await heading(admin, "Insights").waitFor();
  await admin.goto("/policy");
  assert.equal(await editor.inputValue(), text);
  await admin.getByRole("button", { name: "Discard" }).click();
  await admin.reload();
  await editor.waitFor();
  assert.doesNotMatch(await editor.inputValue(), /Mine/);
});

test("what a device's owner allows later is shown without a reload", async () => {
  orion(0, "devices", "permissions", "add", "server", "--path", "/srv/later", "--access", "read");
  await admin.goto("/devices/server");
  const row = admin.getByRole("region", { name: "Permissions" }).getByRole("row", { name: "path /srv/later" });
  await row.getByTitle("The owner allows it: no").waitFor();
  world.device("server", { paths: ["/srv/later"] });
  await row.getByTitle("The owner allows it: yes").waitFor();
  orion(0, "devices", "permissions", "remove", "server", "--path", "/srv/later");
});

test("a policy is checked while it is written, tried on what happened, applied, compared and restored", async () => {
  const text = (access) => `version: 1\ndevices:\n  laptop:\n    profile: operator\n    paths:\n      - { path: "${laptop.files}", access: [${access}] }\nrules: []\n`;
  await admin.goto("/policy");
  const editor = admin.getByLabel("Policy file");
  await editor.fill(text("read, wriite"));
  await admin.getByText("not valid").waitFor();
  await admin.getByRole("button", { name: "line 6" }).first().click();
  assert.equal(await editor.evaluate((area) => area.value.slice(area.selectionStart, area.selectionEnd)), `      - { path: "${laptop.files}", access: [read, wriite] }`);
  assert.ok(await admin.getByRole("button", { name: "Apply" }).isDisabled());
  await editor.fill(text("read, write, delete"));
  await admin.getByText("valid", { exact: true }).waitFor();
  await admin.getByRole("heading", { name: "What changes on which device" }).waitFor();
  await admin.getByText("laptop", { exact: true }).first().waitFor();
  await admin.getByRole("button", { name: "Try on the calls of the last 30 days" }).click();
  await admin.getByText(/recorded calls? evaluated in/).waitFor();
  await admin.getByText("denied, would run").waitFor();
  await admin.getByLabel("Note").fill("First.");
  await admin.getByRole("button", { name: "Apply" }).click();
  await admin.getByText("Version 1 is active.").waitFor();
  await editor.fill(text("read"));
  // Somebody else's version is not taken back without a word.
  writeFileSync(join(world.folder, "theirs.yaml"), text("read, write"));
  orion(0, "policy", "apply", join(world.folder, "theirs.yaml"), "--yes");
  await admin.getByText("Version 2 became active since you began this text.").waitFor();
  assert.equal(await editor.inputValue(), text("read"));
  assert.ok(await admin.getByRole("button", { name: "Apply" }).isDisabled());
  await admin.getByRole("button", { name: "I have read it: go on from version 2" }).click();
  await admin.getByText("valid", { exact: true }).waitFor();
  await admin.getByRole("button", { name: "Apply" }).click();
  await admin.getByText("Version 3 is active.").waitFor();

  await admin.getByRole("row", { name: /^1 / }).getByRole("button", { name: "Compare" }).click();
  const dialog = admin.getByRole("dialog");
  await dialog.getByText("access: [read, write, delete]").waitFor();
  await dialog.getByRole("button", { name: "Restore this text" }).click();
  await admin.getByText("Version 4 is active.").waitFor();
  await admin.getByRole("row", { name: /restores 1/ }).waitFor();
  assert.equal(await editor.inputValue(), text("read, write, delete"));
});

test("a tool of a device is approved as it is defined, and asked about again where that changes", async () => {
  const define = (format) => defineTool(world, "server", "say_word", `description = "Says a word."\nprogram = "/usr/bin/printf"\nargv = ["${format}", "{word}"]\n[arguments.word]\ntype = "string"\nrequired = true\n`);
  const pending = admin.getByRole("region", { name: "Tool that waits for a decision" });
  for (const format of ["%s", "again %s"]) {
    define(format);
    await admin.goto("/tools");
    await pending.getByText("custom tool of server").waitFor();
    await pending.getByLabel("Definition").getByText(`"${format}"`).waitFor();
    await pending.getByRole("button", { name: "Approve this definition" }).click();
    await pending.waitFor({ state: "detached" });
  }
});

test("a device that shows a code is enrolled by words that each end types of the other", async () => {
  const kiosk = world.askByCode("kiosk");
  const shows = (text) => eventually(text, () => world.log("terminal.kiosk").includes(text));
  await shows("Words that are not accepted");
  const shown = world.log("terminal.kiosk");
  const code = /orion devices enroll (\S+)/.exec(shown)[1];
  const words = /^\s*([a-z]+-[a-z]+-[a-z]+)\s*$/m.exec(shown)[1];

  await admin.goto("/enrol");
  await admin.getByLabel("What it may do at first").selectOption("operator");
  await admin.getByLabel("In these folders").fill(kiosk.files);
  await admin.getByLabel("Labels").fill("env=lab, group=kiosks");
  const panel = admin.getByRole("region", { name: "A device that shows a code" });
  await panel.getByLabel("Code").fill("BBBB-BBBB");
  await panel.getByRole("button", { name: "See what asks" }).click();
  await panel.getByText(/shows this code/).waitFor();
  await panel.getByLabel("Code").fill(code.toLowerCase());
  await panel.getByRole("button", { name: "See what asks" }).click();
  await panel.getByText("127.0.0.1").waitFor();
  assert.ok(!(await panel.innerText()).includes(words), "the words are read on the device");
  await panel.getByLabel("Words").fill("babel-babel-babel");
  await panel.getByRole("button", { name: "Confirm" }).click();
  await panel.getByText(/not the words of this request/).waitFor();
  await panel.getByLabel("Words").fill(words.replaceAll("-", " "));
  await panel.getByRole("button", { name: "Confirm" }).click();
  await panel.getByText("Confirmed. On the device, type:").waitFor();
  const answer = await panel.locator(".words code").allTextContents();
  assert.equal(answer.length, 2);

  kiosk.type("babel babel");
  await shows("These are other words");
  kiosk.type(answer.join(" "));
  await shows("enrolled as kiosk");
  await kiosk.ended;
  kiosk.connect();
  await admin.goto("/devices/kiosk");
  await admin.getByText("connected", { exact: true }).first().waitFor();
  await admin.goto("/devices/kiosk/facts");
  await admin.getByText("env=lab, group=kiosks").waitFor();
});

test("an invitation that went astray is withdrawn, and lets no device in", async () => {
  await admin.goto("/enrol");
  await admin.getByLabel("Name").fill("astray");
  await admin.getByRole("button", { name: "Make the command" }).click();
  const command = await admin.locator(".command code").textContent();
  await admin.getByRole("button", { name: "Enrol another device" }).click();
  const row = admin.getByRole("region", { name: "Open invitations" }).getByRole("row").filter({ hasText: "astray" });
  await row.getByText("after approval").waitFor();
  await row.getByText("anyone who has it").waitFor();
  await row.getByRole("button", { name: "Withdraw…" }).click();
  await admin.getByRole("dialog").getByRole("button", { name: "Withdraw" }).click();
  await row.waitFor({ state: "detached" });
  await world.enrol("astray", command.split(" ")[2], {});
  await eventually("the refusal", () => world.log("orion-agent.astray").includes("An admin withdrew this token"));
});

test("a chat is found again by a word that was said in it", async () => {
  for (const words of ["make a folder Apples on laptop", "make a folder Pears on laptop"]) {
    await admin.goto("/chat");
    await say(admin, words);
    await card(admin, "create_directory").getByText("succeeded").waitFor();
    await answered(admin);
  }
  await admin.getByLabel("Search chats").fill("Apples");
  const chats = admin.getByRole("navigation", { name: "Chats" }).getByRole("link");
  await eventually("the search", async () => (await chats.count()) === 1);
  await chats.click();
  await admin.getByRole("log").getByText("make a folder Apples on laptop").waitFor();
  await card(admin, "create_directory").getByText("succeeded").waitFor();
  await admin.getByLabel("Search chats").fill("Oranges");
  await admin.getByText("No chat contains this.").waitFor();
});

test("a viewer and an operator see what they may, and are told who may the rest", async () => {
  await account(admin, "vera", "viewer");
  const vera = await world.browser();
  await vera.goto("/sign-in?next=/approvals");
  await signIn(vera, "vera");
  await vera.getByText("Operators and admins answer approvals").waitFor();
  for (const [page, path, told] of [[vera, "/policy", "Operators read the policy, admins change it"], [ann, "/audit", "Admins read the audit log"]]) {
    await page.goto(path);
    await loaded(page);
    await page.getByText(told).waitFor();
  }
  await ann.goto("/enrol");
  await heading(ann, /Enrol/).waitFor();
  assert.equal(await ann.getByRole("button", { name: "Make the command" }).count(), 0);
  await vera.context().close();
});

test("a sentence that is typed beside the field of the reason answers no request", async () => {
  const policy = join(world.folder, "reasons.yaml");
  writeFileSync(policy, "version: 1\nrules:\n  - { id: reasons, tools: [write_file], action: ask, approvers: { reason: required }, because: Writes are looked at. }\n");
  orion(0, "policy", "apply", policy, "--yes");
  mkdirSync(join(server.files, "precious"));
  writeFileSync(join(server.files, "list.txt"), "Bread\n");
  orion(6, "call", "server", "delete_directory", "path=precious", "confirm=true");
  orion(6, "call", "server", "write_file", "path=list.txt", "content=Milk");
  await ann.goto("/approvals");
  await ann.getByRole("navigation", { name: "Requests" }).getByRole("link", { name: /list\.txt/ }).click();
  const request = ann.getByRole("region", { name: "Approval request" });
  await request.getByText("rule reasons").waitFor();
  // A short difference is on the card: what is written over is seen.
  await request.getByLabel("Difference").getByText("-Bread").waitFor();
  const reason = request.getByLabel("Reason (required)");
  const isThere = async () => {
    assert.ok(existsSync(join(server.files, "precious")));
    assert.equal(readFileSync(join(server.files, "list.txt"), "utf8"), "Bread\n");
    assert.equal(await ann.getByRole("navigation", { name: "Requests" }).getByRole("link").count(), 2);
  };
  // The key that approves goes to the field that has to be filled in before.
  await ann.waitForTimeout(1_000);
  await ann.keyboard.press("a");
  await ann.keyboard.type("ok, and deleted as asked", { delay: 30 });
  assert.equal(await reason.inputValue(), "ok, and deleted as asked");
  await reason.fill("");
  await reason.blur();
  for (const [sentence, delay] of [["looked at it, jack added a dear thing", 150], ["at noon", 900], ["delete", 900], ["ja", 200], ["dea", 150]]) {
    await ann.keyboard.type(sentence, { delay });
    await ann.keyboard.press("Enter");
    await ann.waitForTimeout(1_300);
    await isThere();
  }
  assert.equal(await request.getByRole("button", { name: "Deny…" }).count(), 1);
  await ann.getByRole("navigation", { name: "Requests" }).getByRole("link", { name: /list\.txt/ }).click();
  await ann.waitForTimeout(1_300);
  await reason.fill("It is asked for.");
  await reason.blur();
  await ann.keyboard.press("a");
  await ann.keyboard.press("Enter");
  await eventually("the write", () => readFileSync(join(server.files, "list.txt"), "utf8") === "Milk");
  assert.ok(existsSync(join(server.files, "precious")));
});

test("nothing violated the content security policy, and no script failed", () => {
  assert.deepEqual(world.violations, []);
});
