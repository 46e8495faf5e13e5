// node report.js FILE ARTEFACTS: a report file as its reader uses it, with hostile texts in it.
"use strict";
const {check, until, untilLed, withPage, finish} = require("./browser.js");
const [file, artefacts] = process.argv.slice(2);

const own = (url) => url === "file://" + file || url.startsWith("file://" + file + "#") || url.startsWith("data:");

const report = (page) => page.evaluate(() => JSON.parse(document.getElementById("report").textContent));

withPage(own, artefacts, async (page, shoot) => {
  await page.goto("file://" + file, {waitUntil: "domcontentloaded"});
  await page.waitForSelector(".report[data-drawn]");
  const answer = await page.textContent(".head h1");
  check(/^FAIL: (1 cause|\d+ causes)\. /.test(answer), "the answer stands first: " + answer);
  check(answer === (await report(page)).sentence.en, "it is the sentence of every format");
  check(await page.locator(".cause").count() >= 1, "causes are shown");
  await shoot("report-en");

  // Text from outside is text: no element came of it, nothing of it ran.
  check(await page.evaluate(() => window.hostile === undefined), "a hostile name ran");
  check(await page.locator("main img, main script, main iframe, main svg").count() === 0, "a hostile name became markup");
  check(!(await page.evaluate(() => document.getElementById("app").textContent)).includes("\u202e"),
    "a mark that turns the direction is obeyed");

  await page.click("#language");
  await page.waitForSelector(".report[data-drawn]");
  check((await page.getAttribute("html", "lang")).startsWith("zh"), "the language is Chinese");
  check((await page.textContent(".head h1")).startsWith("不通过："), "the verdict in Chinese");
  await page.click("#theme");
  await page.waitForSelector(".report[data-drawn]");
  check(await page.getAttribute("html", "data-theme") !== null, "the colours are chosen");
  await shoot("report-zh-other-colours");
  await page.click("#language");
  await page.waitForSelector(".report[data-drawn]");

  // Items are narrowed to those that fail, one is opened down to a finding.
  await page.selectOption("#items select", "fail");
  const shown = await page.locator("table.items > tbody > tr:visible").count();
  check(shown >= 1 && shown < await page.locator("table.items > tbody > tr").count(), "the filter of items narrows");
  await page.locator("table.items > tbody > tr:visible > th > details > summary").first().click();
  const failing = page.locator("table.items details.check.fail > summary").first();
  await failing.focus();
  await page.keyboard.press("Enter");
  // An opened part is filled when the browser tells of it, some time after the key.
  await page.locator("table.items li.finding.error").first().waitFor();

  await page.click("#findings summary");
  const before = await page.textContent("#findings .count");
  await page.fill("#findings input[name=text]", "truncated");
  await until(page, (old) => document.querySelector("#findings .count").textContent !== old, before);
  check(await page.locator("#findings li.finding").count() >= 1, "the search finds");
  await page.fill("#findings input[name=text]", "no such words at all");
  await until(page, () => document.querySelectorAll("#findings li.finding").length === 0);

  // A curve under the pointer tells its values.
  const curve = page.locator("figure.curve").first();
  await curve.scrollIntoViewIfNeeded();
  await curve.locator("canvas").first().waitFor();
  // Charts above it may still be made, and move it away from under the pointer: it is led there again.
  await untilLed(page, () => curve.locator(".u-over").first().hover(),
    () => [...document.querySelectorAll("figure.curve .u-legend .u-value")].some((value) => /\d/.test(value.textContent)));
  await shoot("report-curve");

  // No chart is wider than A4 within its margins of 14 mm, and each is as wide as its place again behind the printer.
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const widest = () => page.evaluate(() => Math.max(...[...document.querySelectorAll("figure.curve .u-wrap")].map((one) =>
    one.offsetWidth)));
  const onPaper = await widest();
  check(onPaper > 400 && onPaper <= (210 - 28) / 25.4 * 96, "charts on paper: " + onPaper);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  check(await widest() > onPaper, "charts behind the printer: " + await widest());
  const paper = await page.pdf({format: "A4"});
  check(paper.length > 10000, "it prints");
}).then(finish, (error) => {
  console.error(error);
  process.exit(1);
});
