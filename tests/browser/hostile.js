// node hostile.js FILE ARTEFACTS: a report file whose data are changed into what reports may come to: nothing found, one
// item, ten thousand nodes, texts of a megabyte, curves with gaps. Each is drawn whole, without an error and harmlessly.
"use strict";
const fs = require("fs");
const path = require("path");
const {check, until, withPage, finish} = require("./browser.js");
const [file, artefacts] = process.argv.slice(2);
const html = fs.readFileSync(file, "utf8");

const opens = (id) => '<script type="application/json" id="' + id + '">';
const read = (text, id) => {
  const begin = text.indexOf(opens(id)) + opens(id).length;
  return JSON.parse(text.slice(begin, text.indexOf("</script>", begin)));
};
const write = (text, id, data) => {
  const begin = text.indexOf(opens(id)) + opens(id).length;
  const json = JSON.stringify(data).replace(/</g, "\\u003c");
  return text.slice(0, begin) + json + text.slice(text.indexOf("</script>", begin));
};

const evil = "<img src=x onerror=window.hostile=1></script><script>window.hostile=1</script><!--\u202e\u0000\ud800`\n=cmd|x";
const text = (words) => ({en: words, zh: words});
const finding = (more) => Object.assign({severity: "error", subject: "a", kind: "truncated", message: text("a is cut off"),
  baseline: "1", migrated: "2", facts: {}, evidence: [], waived: null, remedy: text("copy it")}, more);
const curve = (at, baseline, migrated, more) => Object.assign({metric: "loss", baseline_run: "b", migrated_run: "m", engine: "",
  axis: "steps", points_total: at.length, limit: 0.01, paired: true, at, baseline, migrated, difference_at: [], difference: [],
  baseline_overflows: [], migrated_overflows: [], baseline_nonfinite: [], migrated_nonfinite: [], first_divergent: null}, more);
// Nothing printed from 101 to 299, and one value alone in a hole of a hundred.
const printed = Array.from({length: 500}, (_, i) => i).filter((i) => i < 101 || (i > 299 && i < 350) || i === 400 || i > 450);
const holed = curve(printed, printed.map(() => 1), printed.map(() => null), {metric: "lr", limit: 0});
const checksOf = (report) => report.items.flatMap((item) => item.checks);

const cases = {
  nothing(report) {
    for (const one of checksOf(report)) Object.assign(one, {findings: [], missing: [], verdict: "pass"});
    Object.assign(report, {causes: [], openings: [], verdict: "pass", warnings: []});
    return null;
  },
  no_items(report) {
    Object.assign(report, {items: [], causes: [], openings: [], sides: {baseline: [], migrated: []}});
  },
  one_item(report) {
    report.items = report.items.filter((item) => item.id === "data.dataset");
  },
  hostile_texts(report, pictures) {
    const long = evil + "x".repeat(1 << 20);
    const [first] = checksOf(report);
    first.findings = [evil, long].map((words) => finding({subject: words, message: text(words), baseline: words,
      migrated: words, evidence: [words], nodes: [words], facts: {[evil]: words, list: [words], __proto__: null},
      waived: {by: words, reason: words, until: words, ref: words}, remedy: text(words), kind: words}));
    first.missing = [{what: text(long), from: long, how: text(long)}];
    first.attested = {by: evil, reason: evil, until: "2000-01-01"};
    report.sentence = text(evil);
    report.profile = evil;
    report.warnings = [text(evil)];
    report.sides.migrated = [{run: evil, role: evil, nodes: [evil, "toString", "__proto__", "constructor"]}];
    report.causes = [{check: first.id, kind: evil, stage: "data", findings: 2, consequences: []}];
    pictures.trees = [{dataset: evil, baseline_where: evil, migrated_where: evil, folders_total: 2, files_total: 1,
      folders: [{path: "", same: 1, different: 1, only_baseline: 0, only_migrated: 0, unknown: 0, baseline_bytes: -1,
        migrated_bytes: 1e18}], files: [{path: evil, state: "different", baseline_bytes: 0, migrated_bytes: 1}]}];
  },
  many_nodes(report) {
    const nodes = Array.from({length: 10000}, (_, i) => "npu-" + String(i).padStart(5, "0"));
    report.sides.migrated = [{run: "npu", role: "run", nodes}];
    // Of everyone, of each alone, and of one.
    checksOf(report).forEach((one, at) => {
      const same = Object.entries(finding({})).map(([key, value]) => [key, {all: value}]);
      one.findings = {packed_rows: 200, columns: Object.assign(Object.fromEntries(same), {nodes: at % 2 ? {all: nodes}
        : {plain: Array.from({length: 200}, (_, i) => nodes.slice(50 * i, 50 * i + 50))}})};
      one.verdict = "fail";
    });
  },
  odd_nodes(report) {
    const nodes = Array.from({length: 3000}, (_, i) => "npu-" + i);
    report.sides.migrated = [{run: "npu", role: "run", nodes}];
    const checks = checksOf(report);
    // No two nodes alike.
    nodes.forEach((node, i) => {
      for (let bit = 0; bit < 12; ++bit) {
        if ((i >> bit) & 1) {
          const one = report.items[bit].checks[0];
          one.verdict = report.items[bit].verdict = "fail";
          (one.mine = one.mine || []).push(node);
        }
      }
    });
    for (const one of checks) {
      if (one.mine) one.findings = [finding({nodes: one.mine})];
      delete one.mine;
    }
  },
  curves(report, pictures) {
    const many = Array.from({length: 100000}, (_, i) => i);
    pictures.curves = [
      curve([], [], []), curve([1], [2], [3], {difference_at: [1], difference: [0.5]}),
      curve([1, 2, 3], [null, null, null], [null, null, null]), curve([1, 2, 3], [1, null, 3], [null, 2, null]),
      curve([5, 5, 5], [1, 1, 1], [1, 1, 1]), curve([1, 2], [1e308, -1e308], [1e-320, 0], {limit: 1e300}),
      curve([0, 1e15], [1, 2], [2, 1], {first_divergent: 1e16, baseline_overflows: [-5, 1e17], migrated_nonfinite: [0]}),
      curve(many, many.map((i) => 1 / (i + 1)), many.map(() => null), {points_total: 1e9}),
      holed,
    ];
  },
  long_paths(report, pictures) {
    const deep = Array.from({length: 200}, (_, i) => "folder-" + i).join("/") + "/" + "x".repeat(4000);
    const [first] = checksOf(report);
    first.findings = [finding({subject: deep, message: text(deep + " is cut off"), evidence: [deep], baseline: deep})];
    pictures.evidence = Array.from({length: 5000}, (_, i) => ({side: "baseline", run: "r", node: "n", kind: "files",
      source: deep + i, outcome: "failed", format: "", entries: -1, by: "", at: "", problem: text(deep)}));
  },
};

// A hole in a curve is no line: of what is drawn, the columns of pixels in the middle of the hole have nothing of the line.
async function holesAreSeen(page) {
  const found = await page.evaluate(() => {
    const steps = (from, to, by) => Array.from({length: (to - from) / by}, (_, i) => from + i * by);
    const of = (at, broken) => holesOf(at, at.map(() => 1), broken || [], false);
    return {even: of(steps(0, 100, 10)), cadence: of(steps(0, 20, 1).concat(steps(100, 1000, 100))),
      hole: of(steps(0, 100, 10).concat(steps(200, 300, 10))), broken: of(steps(0, 50, 10), [25]), none: of([]), one: of([1]),
      other: holesOf([0, 1, 2, 3, 4], [1, null, 1, null, 1], [], false)};
  });
  check(JSON.stringify(found) === JSON.stringify({even: [], cadence: [], hole: [[90, 200]], broken: [[20, 30]], none: [],
    one: [], other: []}), "holes of curves: " + JSON.stringify(found));
  const drawn = await page.evaluate(() => {
    const canvas = document.querySelector("figure[data-metric=lr] canvas");
    const {width, height} = canvas;
    const colour = (x) => {
      const pixels = canvas.getContext("2d").getImageData(Math.round(x), 0, 1, height).data;
      let count = 0;
      for (let i = 0; i < pixels.length; i += 4) count += pixels[i + 2] > pixels[i] + 60 && pixels[i + 3] > 128 ? 1 : 0;
      return count;
    };
    // The axis takes a fixed room at the left, and some at the right.
    const left = 70 * devicePixelRatio, right = width - 32 * devicePixelRatio;
    const at = (step) => left + ((right - left) * step) / 499;
    const around = (step) => Math.max(...[-3, -2, -1, 0, 1, 2, 3].map((dx) => colour(at(step) + dx)));
    return {line: around(50), hole: around(200), beside: around(375), alone: around(400), behind: around(475)};
  });
  check(drawn.line > 0 && drawn.behind > 0 && drawn.hole + drawn.beside === 0 && drawn.alone > 0, "a hole as drawn: " + JSON.stringify(drawn));
}

withPage((url) => url.startsWith("file://") || url.startsWith("data:"), artefacts, async (page, shoot) => {
  for (const [name, change] of Object.entries(cases)) {
    const report = read(html, "report");
    const pictures = read(html, "pictures");
    change(report, pictures);
    const made = path.join(path.dirname(file), "hostile-" + name + ".html");
    fs.writeFileSync(made, write(write(html, "report", report), "pictures", pictures));
    await page.goto("file://" + made + "#%E0%A4%A", {waitUntil: "domcontentloaded"});
    await page.waitForSelector(".report[data-drawn]");
    const drawnMs = await page.evaluate(() => performance.getEntriesByName("drawn")[0].startTime);
    // All that is folded is drawn, too: as paper shows it.
    await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
    const seen = await page.evaluate(() => ({hostile: window.hostile, elements: document.querySelectorAll("*").length,
      markup: document.querySelectorAll("main img, main script, main iframe, main svg, main link").length,
      marks: /[\u0000\u202e]/.test(document.getElementById("app").textContent), wide: document.documentElement.scrollWidth,
      text: document.getElementById("app").textContent.length}));
    check(seen.hostile === undefined && seen.markup === 0, name + ": a text became markup");
    check(!seen.marks, name + ": a character is obeyed");
    check(seen.wide <= 1280, name + ": is wider than the window: " + seen.wide + await page.evaluate(() =>
      [...document.querySelectorAll("main *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1).slice(0, 5)
        .map((one) => " " + one.tagName + "." + one.className).join()));
    check(seen.elements < 60000, name + ": " + seen.elements + " elements");
    console.log(name, Math.round(drawnMs) + " ms", JSON.stringify(seen));
    await until(page, () => [...document.querySelectorAll(".chart")].every((room) => room.querySelector("canvas")));
    if (name === "curves") await holesAreSeen(page);
    await shoot("hostile-" + name);
    await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  }
}).then(finish, (error) => {
  console.error(error);
  process.exit(1);
});
