// node page.js LOGIN-ADDRESS AUDIT ARTEFACTS: the server's page as an operator uses it.
"use strict";
const {check, until, withPage, finish} = require("./browser.js");
const [address, audit, artefacts] = process.argv.slice(2);
const origin = new URL(address).origin;

const own = (url) => url.startsWith(origin + "/") || url.startsWith("data:");

// The old place stands until the server has answered.
async function go(page, place) {
  await page.click("nav.places a[href='#/" + place + "']");
  await page.waitForSelector("nav.places a[href='#/" + place + "'][aria-current]");
}

withPage(own, artefacts, async (page, shoot) => {
  await page.goto(origin + "/", {waitUntil: "domcontentloaded"});
  await page.waitForSelector("h1");
  check((await page.textContent("main")).includes("paritect web"), "a stranger is told how to log in");

  // The address differs from the open page's in its fragment alone: the page itself logs in, once. To load it anew meanwhile
  // could spend the token and lose the answer.
  await page.goto(address, {waitUntil: "domcontentloaded"});
  await page.waitForSelector("table a[href*=audit]");
  check(!page.url().includes("login"), "the token does not stay in the address");
  await shoot("page-audits");

  await page.click("table a[href*=audit]");
  await page.waitForSelector(".report .head h1");
  check((await page.textContent("h1")).includes(audit), "the audit's page");
  check(await page.locator("#history tbody tr").count() >= 1, "its history");
  await shoot("page-audit");

  // A new run is watched until it is done.
  const runs = await page.locator("#history tbody tr").count();
  await page.click("#run-now");
  await until(page, (old) => document.querySelectorAll("#history tbody tr").length > old, runs);
  await until(page, () => /pass|fail/.test(document.querySelector("#history tbody tr td.verdict").textContent));

  await page.locator(".cause button.act").first().click();
  await page.fill("dialog input[name=by]", "A. Tester");
  await page.fill("dialog input[name=reason]", "known, \"harmless\" <b>here</b>");
  await page.fill("dialog input[name=until]", "2099-12-31");
  await shoot("page-waive");
  await page.click("dialog button[type=submit]");
  await page.waitForSelector("dialog", {state: "detached"});

  await go(page, "answers");
  await until(page, () => document.body.textContent.includes("known, \"harmless\" <b>here</b>"));
  await page.locator("table tbody button").first().click();
  await until(page, () => !document.body.textContent.includes("harmless"));

  await go(page, "nodes");
  await until(page, () => document.querySelectorAll("main tbody tr .mark").length >= 2);
  await shoot("page-nodes");

  await go(page, "log");
  await until(page, () => document.body.textContent.includes("AddWaiver"));
  await page.click("#logout");
  await until(page, () => document.body.textContent.includes("paritect web"));
}).then(finish, (error) => {
  console.error(error);
  process.exit(1);
});
