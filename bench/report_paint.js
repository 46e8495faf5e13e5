// node report_paint.js FILE: prints what a reader waits for; ends with 1 where an aim is missed.
"use strict";
const {until, withPage} = require("./browser.js");

const file = process.argv[2];
const aims = {drawn: 3000, answer: 1000};
let missed = false;

function say(what, ms, aim) {
  console.log(what.padEnd(19) + (ms / 1000).toFixed(2) + " s" + (aim ? " (aim " + aim / 1000 + ")" : ""));
  missed = missed || (aim !== undefined && ms > aim);
}

// What `act` takes until `done` holds, on the clock of the page: nothing of the tool between them.
const timed = (page, act, done) => page.evaluate(async ([act, done]) => {
  const acts = {
    open: () => document.querySelector("#findings summary").click(),
    search: (text) => {
      const field = document.querySelector("#findings input[name=text]");
      field.value = text;
      field.dispatchEvent(new Event("input", {bubbles: true}));
    },
    choose: () => {
      const field = document.querySelector("#findings select[name=class]");
      field.value = "warning";
      field.dispatchEvent(new Event("change", {bubbles: true}));
    },
    drill: () => {
      document.querySelector("table.items > tbody details > summary").click();
    },
    drill2: () => document.querySelector("table.items details.check > summary").click(),
  };
  const ready = {
    filled: () => document.querySelectorAll("#findings li.finding").length > 0,
    one: () => document.querySelectorAll("#findings li.finding").length === 1,
    twenty: () => document.querySelectorAll("#findings li.finding.warning").length >= 20,
    checks: () => document.querySelectorAll("table.items details.check").length > 0,
    rows: () => document.querySelectorAll("table.items li.finding").length > 0,
  };
  const began = performance.now();
  acts[act[0]](act[1]);
  while (!ready[done]()) await new Promise((resolve) => setTimeout(resolve, 5));
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  return performance.now() - began;
}, [act, done]);

withPage(() => true, ".", async (page) => {
  await page.goto("file://" + file, {waitUntil: "commit"});
  // All on the page's own clock, since the file was asked for. The sentence stands there first, then the causes.
  await until(page, () => document.querySelector(".report[data-drawn]") !== null);
  const at = await page.evaluate(() => ({elements: document.querySelectorAll("*").length,
    sentence: performance.getEntriesByType("paint").map((entry) => entry.startTime)[0],
    causes: performance.getEntriesByName("causes")[0].startTime, drawn: performance.getEntriesByName("drawn")[0].startTime}));
  if (at.sentence !== undefined) say("answer in words", at.sentence);
  say("causes", at.causes, aims.drawn);
  say("drawn whole", at.drawn);
  say("list of findings", await timed(page, ["open"], "filled"), aims.answer);
  say("search", await timed(page, ["search", "part-099999"], "one"), aims.answer);
  await timed(page, ["search", ""], "filled");
  say("filter", await timed(page, ["choose"], "twenty"), aims.answer);
  say("an item opens", await timed(page, ["drill"], "checks"), aims.answer);
  say("a check opens", await timed(page, ["drill2"], "rows"), aims.answer);
  const heap = await page.evaluate(() => performance.memory ? performance.memory.usedJSHeapSize : 0);
  console.log("elements           " + at.elements + ", memory of the scripts " + Math.round(heap / 1048576) + " MiB");
}).then(() => process.exit(missed ? 1 : 0), (error) => {
  console.error(error);
  process.exit(1);
});
