// Stories of approvals that are signed with a passkey, by the authenticator that Chromium has for tests.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before } from "node:test";
import { PASSWORD, account, card, enrol, firstAdmin, say, signIn, storyOf } from "./setup.mjs";
import { World, eventually } from "./world.mjs";

const RULES = `version: 1
rules:
  - id: signed
    tools: [delete_file]
    action: ask
    approvers: { role: operator, passkey: required }
    because: Deletions are signed.
`;

const world = new World();
const test = storyOf(world);
let admin;
let ann;
let laptop;
let authenticator;
let devtools;

/** Runs `orion` as ann, and returns what it says. */
function orion(code, ...args) {
  const env = { PATH: process.env.PATH, HOME: world.folder, NO_COLOR: "1", ORION_CONTEXT: join(world.folder, "context.toml") };
  const ended = spawnSync(join(process.env.ORION_PROGRAMS, "orion"), ["--backend", world.url, ...args], { env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  assert.equal(ended.status, code, ended.stderr);
  return ended.stdout + ended.stderr;
}

/** Changes the database behind the backend's back. */
function tamper(sql) {
  const script = "import sqlite3,sys; db = sqlite3.connect(sys.argv[1], timeout=20); db.execute(sys.argv[2]); db.commit()";
  const ended = spawnSync("python3", ["-c", script, join(world.folder, "data/orion.db"), sql], { encoding: "utf8" });
  assert.equal(ended.status, 0, ended.stderr);
}

/** The page as browsers can use passkeys on it. */
const here = () => world.url.replace("127.0.0.1", "localhost");

/** Gives a browser an authenticator, which says that it checked the person, or not. */
async function withAuthenticator(page) {
  devtools = await page.context().newCDPSession(page);
  await devtools.send("WebAuthn.enable", { enableUI: false });
  const options = { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true };
  ({ authenticatorId: authenticator } = await devtools.send("WebAuthn.addVirtualAuthenticator", { options }));
}

const approve = () => ann.getByRole("button", { name: "Approve with passkey" });

/** Asks for the deletion of a file, and shows its card to ann. */
async function asked(name) {
  writeFileSync(join(laptop.files, name), "x");
  orion(6, "call", "laptop", "delete_file", `path=${name}`, "confirm=true");
  const list = JSON.parse(orion(0, "approvals", "list", "-o", "json"));
  const id = list.find((it) => it.arguments.path.endsWith(name)).approval_id;
  await ann.goto(`/approvals/${id}`);
  await ann.locator('button[data-key="a"]:enabled').waitFor();
  return id;
}

async function register(name, password = PASSWORD) {
  await ann.getByRole("button", { name: "New passkey" }).click();
  await ann.getByLabel("Name", { exact: true }).fill(name);
  await ann.getByLabel("Your password").fill(password);
  await ann.getByRole("button", { name: "Register" }).click();
}

before(async () => {
  await world.start();
  admin = await firstAdmin(world);
  laptop = await enrol(world, admin, "laptop");
  await account(admin, "ann");
  const secret = join(world.folder, "password.txt");
  writeFileSync(secret, PASSWORD, { mode: 0o600 });
  orion(0, "login", "--user", "admin", "--password", `@${secret}`);
  writeFileSync(join(world.folder, "policy.yaml"), RULES);
  assert.match(orion(0, "policy", "check", join(world.folder, "policy.yaml")), /Nobody with the role operator or more has a passkey/);
  orion(0, "policy", "apply", join(world.folder, "policy.yaml"), "--yes");
  orion(0, "login", "--user", "ann", "--password", `@${secret}`);
  ann = await world.browser({ baseURL: here() });
  await withAuthenticator(ann);
  await ann.goto("/sign-in");
  await signIn(ann, "ann");
  await ann.getByLabel("Message", { exact: true }).waitFor();
});
after(() => world.end());

test("at an address without a name, the page says where passkeys work", async () => {
  await admin.goto("/people");
  const section = admin.getByRole("region", { name: "Your passkeys" });
  await section.getByText(`Passkeys work on this page at ${here()} alone.`).waitFor();
  assert.ok(await section.getByRole("button", { name: "New passkey" }).isDisabled());
  assert.equal(await section.getByRole("link", { name: "Open the page there" }).getAttribute("href"), `${here()}/people`);
});

test("a passkey is registered with the password alone, and approves a call as it was shown", async () => {
  const id = await asked("early.txt");
  await ann.getByText("an operator or an admin, with a passkey").waitFor();
  await approve().click();
  await ann.getByText(/you have no such passkey/i).waitFor();
  orion(0, "approvals", "deny", id);

  await ann.goto("/people");
  await register("blue key", "the wrong words of a test");
  await ann.getByText(/your password is wrong/i).waitFor();
  await ann.getByLabel("Your password").fill(PASSWORD);
  await ann.getByRole("button", { name: "Register" }).click();
  await ann.getByText("The passkey is registered.").waitFor();
  const section = ann.getByRole("region", { name: "Your passkeys" });
  await section.getByText("blue key").waitFor();
  assert.equal((await devtools.send("WebAuthn.getCredentials", { authenticatorId: authenticator })).credentials.length, 1);
  const axe = readFileSync(join(import.meta.dirname, "node_modules/axe-core/axe.min.js"), "utf8");
  await ann.evaluate(axe);
  const { violations } = await ann.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id: rule, nodes }) => [rule, nodes[0].html]), []);

  await asked("first.txt");
  await ann.keyboard.press("a");
  await ann.keyboard.press("Enter");
  await ann.getByText("approved", { exact: true }).waitFor();
  await eventually("the deletion", () => !existsSync(join(laptop.files, "first.txt")));
  await ann.goto("/people");
  await section.getByText("never").waitFor({ state: "detached" });
});

test("the terminal, a key that checks nobody and a request that changed approve nothing", async () => {
  const id = await asked("second.txt");
  assert.match(orion(5, "approvals", "approve", id), new RegExp(`needs your passkey[^]*${here()}/approvals/${id}`));
  assert.match(orion(0, "approvals", "show", id), /with a passkey on the page/);
  await devtools.send("WebAuthn.setUserVerified", { authenticatorId: authenticator, isUserVerified: false });
  await approve().click();
  await ann.getByText("The browser gave no signature").waitFor();
  await devtools.send("WebAuthn.setUserVerified", { authenticatorId: authenticator, isUserVerified: true });

  // The request is another one by the time that the browser has signed.
  await ann.route("**/DecideApproval", async (route) => {
    tamper(`UPDATE approvals SET rule = 'another' WHERE id = '${id}'`);
    await route.continue();
  });
  await approve().click();
  await ann.getByText(/signed something else than this request shows/i).waitFor();
  await ann.unroute("**/DecideApproval");
  await ann.reload();
  await ann.locator('button[data-key="a"]:enabled').waitFor();
  await approve().click();
  // Shown again, and signed again.
  await ann.getByText("approved", { exact: true }).waitFor();
  await eventually("the deletion", () => !existsSync(join(laptop.files, "second.txt")));
});

test("a passkey that was removed, and one whose counter went back, approve nothing", async () => {
  const id = await asked("third.txt");
  tamper("UPDATE passkeys SET sign_count = 1000000");
  await approve().click();
  await ann.getByText(/there may be a copy of it/).waitFor();
  await ann.goto("/people");
  await ann.getByRole("button", { name: "Remove the passkey blue key" }).click();
  await ann.getByRole("button", { name: "Remove for good" }).click();
  await ann.getByRole("region", { name: "Your passkeys" }).getByText("blue key").waitFor({ state: "detached" });
  await ann.goto(`/approvals/${id}`);
  await ann.locator('button[data-key="a"]:enabled').waitFor();
  await approve().click();
  await ann.getByText(/you have no such passkey/i).waitFor();
  assert.ok(existsSync(join(laptop.files, "third.txt")));
  await devtools.send("WebAuthn.clearCredentials", { authenticatorId: authenticator });
  await ann.goto("/people");
  await register("green key");
  await ann.getByText("The passkey is registered.").waitFor();
  await ann.goto(`/approvals/${id}`);
  await ann.locator('button[data-key="a"]:enabled').waitFor();
  await approve().click();
  await ann.getByText("approved", { exact: true }).waitFor();
});

test("in the chat, the card asks for the passkey as well", async () => {
  writeFileSync(join(laptop.files, "fourth.txt"), "x");
  await ann.goto("/chat");
  await say(ann, "delete fourth.txt");
  const deletion = card(ann, "delete_file");
  await deletion.getByRole("button", { name: "Approve with passkey" }).click();
  await deletion.getByText("succeeded").waitFor();
  assert.ok(!existsSync(join(laptop.files, "fourth.txt")));
});

test("a plan is signed as a whole", async () => {
  writeFileSync(join(laptop.files, "fifth.txt"), "x");
  orion(6, "plan", "call", "laptop", "delete_file", "path=fifth.txt", "confirm=true");
  await ann.goto("/approvals");
  await ann.getByRole("navigation", { name: "Plans" }).getByRole("link").click();
  await ann.getByRole("button", { name: "Approve the step with passkey" }).click();
  await ann.getByRole("heading", { level: 1 }).getByText("succeeded").waitFor();
  assert.ok(!existsSync(join(laptop.files, "fifth.txt")));
});

test("nothing violated the content security policy", () => assert.deepEqual(world.violations, []));
