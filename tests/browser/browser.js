// What the tests in a browser share: a page that tells of every error and every request to outside, and screenshots.
"use strict";
const {chromium} = require("playwright-core");
const path = require("path");

// A browser on a machine that builds beside it may take minutes for what takes seconds elsewhere.
const patienceMs = Number(process.env.PARITECT_BROWSER_PATIENCE_MS || 240000);

let failures = 0;

function check(condition, what) {
  if (condition) return;
  failures += 1;
  console.error("FAILED: " + what);
}

// Waits until `condition(argument)` holds in the page. Playwright's own way evaluates a text there, which the page's policy
// forbids.
async function until(page, condition, argument) {
  const end = Date.now() + patienceMs;
  while (!(await page.evaluate(condition, argument))) {
    if (Date.now() > end) throw new Error("never became true: " + condition);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

// The same; `lead` is done anew before each look.
async function untilLed(page, lead, condition) {
  const end = Date.now() + patienceMs;
  for (;;) {
    await lead();
    if (await page.evaluate(condition)) return;
    if (Date.now() > end) throw new Error("never became true: " + condition);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

// Calls `body(page, shoot, refused)` with a page on which nothing went wrong so far; `own`: requests that are allowed.
// `refused(pattern)`: from now on such errors on the console are wanted.
async function withPage(own, artefacts, body) {
  const browser = await chromium.launch({executablePath: process.env.PARITECT_CHROMIUM || "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"], timeout: patienceMs});
  try {
    const context = await browser.newContext({viewport: {width: 1280, height: 900}, ignoreHTTPSErrors: true});
    const page = await context.newPage();
    page.setDefaultTimeout(patienceMs);
    page.setDefaultNavigationTimeout(patienceMs);
    let wanted = /status of 4/;
    page.on("console", (message) => check(message.type() !== "error" || wanted.test(message.text()),
      "console: " + message.text()));
    page.on("pageerror", (error) => check(false, "script: " + error.message));
    page.on("dialog", async (dialog) => {
      check(false, "a dialog was opened: " + dialog.message());
      await dialog.dismiss();
    });
    page.on("request", (request) => check(own(request.url()), "a request to " + request.url().slice(0, 200)));
    await body(page, (name) => page.screenshot({path: path.join(artefacts, name + ".png"), timeout: patienceMs}),
      (pattern) => wanted = pattern);
  } finally {
    await browser.close();
  }
}

function finish() {
  process.exit(failures === 0 ? 0 : 1);
}

module.exports = {check, until, untilLed, withPage, finish};
