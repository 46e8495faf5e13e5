// node viewer.js LOGIN-ADDRESS AUDIT ARTEFACTS: the server's page as a viewer uses it, by the keyboard alone, while the server
// is slow, away, or knows the login no more.
"use strict";
const {check, until, withPage, finish} = require("./browser.js");
const [address, audit, artefacts] = process.argv.slice(2);
const origin = new URL(address).origin;
// What the policy refuses is told of as a request, too.
const own = (url) => url.startsWith(origin + "/") || url.startsWith("data:") || url.startsWith("https://example.invalid/");

// Tabs on until what is focused fits; then presses the key.
async function press(page, selector, key) {
  for (let step = 0; step < 400; ++step) {
    await page.keyboard.press("Tab");
    if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return page.keyboard.press(key);
  }
  throw new Error("no key reaches " + selector);
}

withPage(own, artefacts, async (page, shoot, refused) => {
  // A slow server: every answer takes its time, and no second question is asked meanwhile.
  let open = 0, most = 0;
  const slow = async (route) => {
    most = Math.max(most, ++open);
    await new Promise((resolve) => setTimeout(resolve, 400));
    --open;
    await route.continue();
  };
  await page.route("**/api/**", slow);
  await page.goto(address, {waitUntil: "domcontentloaded"});
  await page.waitForSelector("table a[href*=audit]");
  await press(page, "table a[href*=audit]", "Enter");
  await page.waitForSelector(".report[data-drawn]");
  check(most <= 2, "questions pile up at a slow server: " + most);
  await page.unroute("**/api/**", slow);

  // A viewer sees all and has nothing to act with.
  check(await page.isHidden("#run-now"), "a viewer is offered a run");
  check(await page.locator("button.act").count() === 0, "a viewer is offered to waive or to answer");
  await press(page, "table.items details > summary", "Enter");
  await press(page, "table.items details.check > summary", "Enter");
  await page.waitForSelector("table.items details.check[open] .inside > *");
  await press(page, "#findings summary", "Enter");
  await press(page, "#findings input[name=text]", "x");
  await page.keyboard.type("no such words");
  await until(page, () => document.querySelectorAll("#findings li.finding").length === 0);
  // What is drawn again every second leaves alone what the reader is at.
  check(await page.evaluate(() => document.activeElement.name) === "text", "the field keeps the keyboard");
  await shoot("viewer-audit");
  await press(page, "#language", "Enter");
  await until(page, () => document.documentElement.lang === "zh-CN" && document.activeElement.id === "language");
  await press(page, "#language", "Enter");
  await until(page, () => document.documentElement.lang === "en");
  await page.waitForSelector(".report[data-drawn]");

  // What a page asks although nobody offered it, the server refuses.
  const status = await page.evaluate(async (name) => (await fetch("/api/audits/" + name + "/run", {method: "POST",
    headers: {"X-Paritect": "1"}, body: "{}"})).status, audit);
  check(status === 403, "a viewer starts a run: " + status);
  // The policy lets nothing out of the page.
  refused(/Content Security Policy|Failed to load resource|Refused to/);
  page.on("requestfailed", (request) => check(!request.url().includes("example.invalid") ||
    request.failure().errorText === "csp", "a request left the page: " + request.failure().errorText));
  const out = await page.evaluate(() => Promise.all([fetch("https://example.invalid/").then(() => "sent", () => "refused"),
    new Promise((resolve) => {
      const script = document.createElement("script");
      script.textContent = "window.hostile = 1";
      document.head.append(script);
      const image = new Image();
      image.onerror = () => resolve(window.hostile === undefined ? "refused" : "ran");
      image.src = "https://example.invalid/x.png";
    })]));
  check(out.every((word) => word === "refused"), "the policy lets " + out);

  // An address that is none, and one of an audit that is not there.
  for (const place of ["/#/audit/%E0%A4%A", "/#/audit/nobody%27s"]) {
    await page.goto(origin + place, {waitUntil: "domcontentloaded"});
    await until(page, () => document.getElementById("problem") !== null && document.getElementById("problem").textContent !== "");
  }
  await page.goto(origin + "/#/audit/" + audit, {waitUntil: "domcontentloaded"});
  await page.waitForSelector(".report[data-drawn]");

  // The server is away, and comes back.
  const away = (route) => route.abort();
  await page.route("**/api/**", away);
  await until(page, () => document.getElementById("problem").textContent !== "");
  check(await page.locator(".report .head h1").count() === 1, "what was drawn stays while the server is away");
  await page.unroute("**/api/**", away);
  await until(page, () => document.getElementById("problem").textContent === "");

  // The server knows the session no more: the page says how to log in.
  await page.context().clearCookies();
  await until(page, () => document.body.textContent.includes("paritect web"));
  // The token of the address is spent.
  await page.goto("about:blank");
  await page.goto(address, {waitUntil: "domcontentloaded"});
  await until(page, () => document.getElementById("problem") !== null && document.getElementById("problem").textContent !== "");
  check(!page.url().includes("login"), "a spent token stays in the address");
  await shoot("viewer-login");
}).then(finish, (error) => {
  console.error(error);
  process.exit(1);
});
