// What all stories begin with: people, devices, and the way to what a page shows.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "./world.mjs";

export const PASSWORD = "four words of a test";

export const heading = (page, name) => page.getByRole("heading", { level: 1, name });
export const card = (page, tool) => page.getByRole("article", { name: `Call of ${tool}` }).last();

export async function say(page, text) {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.keyboard.press("Enter");
}

/** Waits until the newest answer is complete. */
export const answered = (page) => page.getByRole("button", { name: "Stop", exact: true }).first().waitFor({ state: "detached" });

/** Returns a way to tell stories of a world, which say what each browser showed where they fail. */
export const storyOf = (world) => (name, options, story = options) =>
  test(name, story === options ? {} : options, async (context) => {
    try {
      await story(context);
    } catch (error) {
      for (const page of world.pages()) {
        context.diagnostic(`at ${page.url()}:\n${await page.locator("body").innerText().catch(String)}`);
      }
      throw error;
    }
  });

/** Makes the first admin, and returns their browser at the empty chat. */
export async function firstAdmin(world) {
  const page = await world.browser();
  await page.goto(`/first-admin#${world.secret()}`);
  await page.getByLabel("Your name").fill("admin");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Make the admin" }).click();
  await page.getByText("What should happen on your devices?").waitFor();
  return page;
}

export async function account(admin, name, role = "operator") {
  await admin.goto("/people");
  await admin.getByRole("button", { name: "New account" }).click();
  await admin.getByLabel("Name", { exact: true }).fill(name);
  await admin.getByLabel("Role", { exact: true }).selectOption(role);
  await admin.getByLabel("First password").fill(PASSWORD);
  await admin.getByRole("button", { name: "Make the account" }).click();
  await admin.getByText("The account is made.").waitFor();
}

/** Signs in where the page asks for it. */
export async function signIn(page, name, password = PASSWORD) {
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.keyboard.press("Enter");
}

/** Enrols a device by the page, and waits until it is connected. */
export async function enrol(world, admin, name, options = {}) {
  const { profile = "operator", accesses = ["write", "delete"], ceiling } = options;
  const files = join(world.folder, name, "files");
  mkdirSync(files, { recursive: true });
  await admin.goto("/enrol");
  await admin.getByLabel("Name").fill(name);
  await admin.getByLabel("What it may do at first").selectOption(profile);
  await admin.getByLabel("In these folders").fill(files);
  for (const access of accesses) await admin.getByLabel(access, { exact: true }).check();
  await admin.getByRole("button", { name: "Make the command" }).click();
  const command = await admin.locator(".command code").textContent();
  const device = await world.enrol(name, command.split(" ")[2], { ceiling, profile });
  await admin.getByRole("button", { name: "The words are the same: approve" }).click();
  await device.enrolled;
  device.connect();
  await admin.getByText("connected", { exact: true }).waitFor();
  return device;
}

/** Signs the admin in on the command line, and returns what runs `orion` there. Code 6 says that an approval is needed. */
export function commandLine(world) {
  const run = (code, ...args) => {
    const env = { PATH: process.env.PATH, HOME: world.folder, NO_COLOR: "1", ORION_CONTEXT: join(world.folder, "context.toml") };
    const ended = spawnSync(join(process.env.ORION_PROGRAMS, "orion"), ["--backend", world.url, ...args], { env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    assert.equal(ended.status, code, ended.stderr);
  };
  const secret = join(world.folder, "password.txt");
  writeFileSync(secret, PASSWORD, { mode: 0o600 });
  run(0, "login", "--user", "admin", "--password", `@${secret}`);
  return run;
}

/** Defines a tool of a device's own, in the folder that its owner keeps. */
export function defineTool(world, device, name, text) {
  const tools = join(world.folder, device, "tools.d");
  mkdirSync(tools, { recursive: true });
  chmodSync(tools, 0o700);
  writeFileSync(join(tools, `${name}.toml`), `name = "${name}"\n${text}`);
}

/** Makes a one-time link for the person who is signed in in a browser. */
export const link = (page) =>
  page.evaluate(async () => {
    const headers = { "content-type": "application/grpc-web+proto", "x-orion-page": "1" };
    const answer = await fetch("/orion.v1.AuthService/CreateSignInLink", { method: "POST", headers, body: new Uint8Array(5) });
    // The frame of the message, its first field, and the length of the secret in it.
    const bytes = new Uint8Array(await answer.arrayBuffer());
    return `/sign-in#${new TextDecoder().decode(bytes.slice(7, 7 + bytes[6]))}`;
  });

/** Waits until a page has loaded everything that it shows. */
export async function loaded(page) {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await eventually("the page", async () => (await page.getByRole("status").filter({ hasText: "Loading" }).count()) === 0);
}

/** Takes pictures of pages as somebody sees them, in both sizes and both colours, where a folder for them is named. */
export async function pictures(world, person, pages) {
  const folder = process.env.ORION_PICTURES;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  const storageState = await person.context().storageState();
  for (const [size, viewport] of [["wide", { width: 1440, height: 900 }], ["phone", { width: 390, height: 844 }]]) {
    for (const colorScheme of ["light", "dark"]) {
      const page = await world.browser({ viewport, colorScheme, storageState });
      for (const [name, path] of pages) {
        await page.goto(path);
        await loaded(page).catch(() => {});
        if (path === "/approvals" && size === "phone") await page.getByRole("navigation", { name: "Requests" }).getByRole("link").first().click();
        // A card that has just appeared cannot be pressed yet, and is pale.
        if (/^\/(chat\/|approvals)/.test(path)) await page.locator('button[data-key="a"]:enabled').first().waitFor();
        await page.screenshot({ animations: "disabled", path: join(folder, `${name}-${size}-${colorScheme}.png`) });
      }
      await page.context().close();
    }
  }
}
