// The parts of a report, from top to bottom.

function runsText(report, side) {
  const runs = (report.sides && report.sides[side]) || [];
  if (runs.length === 0) return t("none");
  const nodesShown = 4;
  return runs.map((run) => {
    const nodes = run.nodes.slice(0, nodesShown).join(", ") +
      (run.nodes.length > nodesShown ? " " + t("and_more", {count: run.nodes.length - nodesShown}) : "");
    return run.run + (nodes ? " (" + nodes + ")" : "") + (run.role === "run" || !run.role ? "" : " [" + run.role + "]");
  }).join(page.language === "zh" ? "；" : "; ");
}

function headOf(report) {
  const meta = report.meta || {};
  const checks = report.items.flatMap((item) => item.checks);
  const counts = tally(checks);
  const items = tally(report.items);
  const coverage = report.coverage || {};
  const line = (label, value) => value ? el("div", {}, el("dt", {}, label), el("dd", {}, value)) : null;
  const seen = (part) => coverage[part] && coverage[part].expected > 0
    ? coverage[part].reported + " / " + coverage[part].expected : "";
  return el("header", {class: "head " + report.verdict},
    // The answer in words that can be forwarded; every format has the same.
    el("h1", {}, say(report.sentence)),
    el("dl", {class: "about"},
      line(t("baseline"), runsText(report, "baseline")), line(t("migrated"), runsText(report, "migrated")),
      line(t("coverage"), t("items_performed", {performed: items.pass + items.fail, total: report.items.length})),
      line(t("items_counted"), t("counts", countWords(items))), line(t("checks_counted"), t("counts", countWords(counts))),
      line(t("nodes"), seen("nodes")), line(t("ranks"), seen("ranks")),
      line(t("audit"), meta.audit ? meta.audit + (meta.run ? " #" + meta.run : "") : ""),
      line(t("time"), meta.time), line(t("host"), meta.host), line(t("profile"), report.profile),
      line(t("version"), meta.version || report.tool),
      line(t("signature"), report.signature ? coded(t("signed", {key: report.signature.key_sha256.slice(0, 16)}))
        : "")),
    (report.overridden_rules || []).length
      ? el("p", {class: "warn"}, t("overridden", {files: report.overridden_rules.join(", ")})) : null,
    (report.warnings || []).map((warning) => el("p", {class: "warn"}, told(warning))));
}

function causeCard(cause, number, context) {
  const [first, ...others] = cause.rows;
  const total = Math.max(cause.rows.length, cause.check.findings.length === cause.rows.length ? totalOf(cause.check) : 0);
  // Its own, or of what follows from it.
  const picture = [cause.check, ...cause.follows.map((one) => one.check)].map((check) =>
    context.pictureFor(typeof check === "string" ? check : check.id)).find((made) => made.length > 0);
  return el("article", {class: "cause", "aria-labelledby": "cause-" + number},
    el("h3", {id: "cause-" + number}, el("span", {class: "number"}, number), " ", say(cause.item.title), colon(),
      say(cause.title || cause.check.title)),
    el("p", {class: "place"}, el("a", {href: "#check-" + cause.check.id}, cause.check.id), " · ",
      el("code", {}, cause.kind)),
    findingBody(first, context),
    picture,
    others.length ? fold(t("others_like_it", {count: count(total - 1)}),
      () => paged(others, (row) => el("li", {class: "finding error"}, findingBody(row, context))), {}) : null,
    cause.follows.length ? el("div", {class: "follows"}, el("h4", {}, t("follows")),
      paged(cause.follows, (one) => el("li", {}, el("a", {href: "#check-" + one.check}, one.check), " ",
        one.rows.length ? say(one.rows[0].finding.message) : el("code", {}, one.kind),
        one.rows.length > 1 ? " " + t("and_more", {count: count(one.rows.length - 1)}) : null,
        say(one.because) ? el("p", {class: "quiet"}, say(one.because)) : null), {first: 5, tag: "ul"})) : null);
}

function causesPart(report, context) {
  const causes = causesOf(report);
  if (causes.length === 0) return null;
  const list = el("div", {class: "causes"});
  causes.forEach((cause, index) => index < 30 && list.append(causeCard(cause, index + 1, context)));
  if (causes.length > 30) {
    list.append(fold(t("more_causes", {count: causes.length - 30}),
      () => causes.slice(30).map((cause, index) => causeCard(cause, index + 31, context)), {}));
  }
  return section("causes", t("causes"), list);
}

function letterClass(letter) {
  return letter === "-" ? "none" : letter;
}

function checkDetails(item, check, context) {
  const letter = letterOf(check);
  const total = totalOf(check);
  const about = total > 0 ? t("findings_count", {count: count(total)}) : "";
  const missing = check.missing.length > 0 ? t("missing_count", {count: count(check.missing.length)}) : "";
  return fold([el("span", {class: "letter " + letterClass(letter), title: verdictWord(standingOf(check))}, letter), " ",
    el("span", {class: "title"}, say(check.title)), " ", el("code", {}, check.id),
    check.required ? el("span", {class: "tag"}, t("required")) : null,
    el("span", {class: "quiet"}, " " + [about, missing].filter((part) => part).join(" · "))],
  () => [
    check.attested ? el("p", {class: "answer"}, t("attested_by", {by: check.attested.by, until: check.attested.until,
      reason: check.attested.reason})) : null,
    check.missing.length ? paged(check.missing, (one) => missingRow(one), {tag: "ul"}) : null,
    check.findings.length ? paged(check.findings, (finding) => {
      const row = {item, check, finding, class: classOf(finding)};
      return el("li", {class: "finding " + row.class}, el("span", {class: "mark " + row.class},
        t("class_" + row.class)), findingBody(row, context));
    }) : null,
    total > check.findings.length ? el("p", {class: "capped"}, t("shown_of", {shown: count(check.findings.length),
      total: count(total)})) : null,
    check.missing.length + check.findings.length === 0 ? el("p", {class: "quiet"}, t("nothing_to_say")) : null,
    context.attest && check.verdict === "not_performed" ? el("button", {type: "button", class: "act",
      onclick: (event) => context.attest(check, event.currentTarget)}, t("attest")) : null,
  ], {id: "check-" + check.id, class: "check " + standingOf(check)});
}

function missingRow(missing) {
  return el("li", {class: "missing"}, el("span", {class: "mark not_performed"}, verdictWord("not_performed")), " ",
    told(missing.what), missing.from ? el("span", {class: "quiet"}, " (" + t("from", {from: missing.from}) + ")") : null,
    say(missing.how) ? el("p", {class: "fix"}, el("span", {class: "label"}, t("way_out")), told(missing.how)) : null);
}

function bar(counts) {
  const all = counts.pass + counts.fail + counts.not_performed;
  if (all === 0) return null;
  return el("span", {class: "bar", role: "img", "aria-label": t("counts", countWords(counts))},
  ["fail", "pass", "not_performed"].map((word) => counts[word] > 0
    ? el("span", {class: word, style: {width: (100 * counts[word]) / all + "%"}}) : null));
}

// What the signs that stand there mean, and no others.
function legendOf(prefix, signs) {
  return [...signs].map((sign) => t(prefix + sign)).join(" · ");
}

function itemsPart(report, context) {
  const used = new Set(report.items.flatMap((item) => item.checks).map(letterOf));
  const rows = report.items.map((item) => {
    const counts = tally(item.checks);
    const standing = standingOf(item);
    return el("tr", {class: standing, "data-verdict": standing},
      el("td", {class: "verdict " + standing}, verdictWord(standing)),
      el("th", {scope: "row"}, fold([say(item.title), " ", el("code", {}, item.id)],
        () => item.checks.map((check) => checkDetails(item, check, context)), {id: "item-" + item.id})),
      el("td", {class: "number"}, counts.not_applicable === item.checks.length ? "–"
        : t("decided", {decided: counts.pass + counts.fail, total: item.checks.length - counts.not_applicable})),
      el("td", {}, bar(counts)));
  });
  const show = (event) => rows.forEach((row) => {
    row.hidden = event.target.value !== "" && row.dataset.verdict !== event.target.value;
  });
  return section("items", t("items"),
    el("form", {class: "filter"}, choice("verdict", t("show"), ["fail", "not_performed", "pass", "not_applicable"].map((v) =>
      [v, verdictWord(v)]), show)),
    el("p", {class: "quiet"}, legendOf("letter_",
      ["F", "P", "N", "W", "A", "-"].filter((one) => used.has(one)).map((one) => letterClass(one).toLowerCase()))),
    table(t("items_caption"), [t("verdict"), t("item"), t("checks_decided"), ""], rows, {class: "items"}));
}

// Items x nodes: nodes that all items say the same of are one column with their number.
function matrixPart(report) {
  const matrix = matrixOf(report);
  const all = columnsOf(report, matrix);
  const columns = all.slice(0, columnsShown);
  if (columns.length === 0) return null;
  const signs = {fail: "F", not_performed: "N", waived: "W", warning: "!"};
  const name = (column) => column.nodes.length === 1 ? column.nodes[0]
    : column.nodes[0] + " … " + column.nodes[column.nodes.length - 1];
  const rows = report.items.map((item) => el("tr", {},
    el("th", {scope: "row"}, el("a", {href: "#item-" + item.id}, say(item.title))),
    el("td", {}, el("span", {class: "letter " + letterClass(letterOf(item))}, letterOf(item))),
    columns.map((column) => {
      const word = matrix.get(item.id).get(column.nodes[0]);
      return el("td", {class: "cell " + (word || "none"), title: column.nodes.slice(0, 20).join(", ")},
        word ? signs[word] : "·");
    })));
  const heads = [t("item"), t("all_nodes"), ...columns.map((column) => el("span", {class: "node " + column.side},
    el("span", {class: "side"}, t(column.side)), " ", name(column),
    column.nodes.length > 1 ? el("span", {class: "quiet"}, " ×" + column.nodes.length) : null))];
  const used = new Set([...matrix.values()].flatMap((cells) => [...cells.values()]));
  if (used.size === 0) return null;  // nothing is said of any node by itself
  const folded = columns.some((column) => column.nodes.length > 1);
  return section("matrix", t("matrix"), el("p", {class: "quiet"}, t("matrix_words") + " " +
    legendOf("cell_", [...Object.keys(signs).filter((word) => used.has(word)), "none"]) +
    (folded ? " · " + t("matrix_folded") : "") + (all.length > columns.length ? " · " + t("matrix_cut",
    {count: count(columns.length), total: count(all.length)}) : "")),
    el("div", {class: "scroll", tabindex: 0}, table(t("matrix_caption"), heads, rows, {class: "matrix"})));
}

// The steps that would decide most, each counted on top of those before it: the report's `openings`, which the table
// shows as well.
function openingsPart(report) {
  const openings = report.openings || [];
  if (openings.length === 0) return null;
  const row = (step) => el("tr", {},
    el("td", {class: "number"}, step.checks.length),
    el("td", {}, told(step.do), fold(t("needed_by", {count: step.checks.length}), () =>
      el("ul", {}, step.checks.slice(0, 50).map((id) => el("li", {}, el("a", {href: "#check-" + id}, id)))),
    {class: "quiet"})));
  const part = (steps) => table(t("openings_caption"), [t("checks"), t("step")], steps.map(row), {class: "openings"});
  return section("openings", t("openings"), part(openings.slice(0, 12)),
    openings.length > 12 ? fold(t("and_more", {count: openings.length - 12}), () => part(openings.slice(12)), {}) : null);
}

function classPart(report, wanted, title, context) {
  const rows = allFindings(report).filter((row) => row.class === wanted);
  if (rows.length === 0) return null;
  return section(wanted + "s", title + " (" + count(rows.length) + ")",
    paged(rows, (row) => findingRow(row, context), {first: 10}));
}

function answersPart(report, context) {
  const waived = allFindings(report).filter((row) => row.class === "waived");
  const attested = report.items.flatMap((item) => item.checks).filter((check) => check.attested);
  if (waived.length + attested.length === 0) return null;
  return section("answers", t("answers"),
    paged(waived, (row) => findingRow(row, context), {first: 10}),
    paged(attested, (check) => el("li", {}, el("span", {class: "letter A"}, "A"), " ",
      el("a", {href: "#check-" + check.id}, check.id), " ", t("attested_by", {by: check.attested.by,
        until: check.attested.until, reason: check.attested.reason})), {tag: "ul"}));
}

// What agreed, with its figures: notes are where a check says what it measured.
function passesPart(report, context) {
  const rows = report.items.flatMap((item) => item.checks.filter((check) => check.verdict === "pass")
    .map((check) => ({item, check})));
  if (rows.length === 0) return null;
  const list = (some) => paged(some, ({item, check}) => el("li", {}, el("span", {class: "letter " +
    letterClass(letterOf(check))}, letterOf(check)), " ", say(check.title), " ", el("code", {}, check.id),
  check.findings.slice(0, 3).map((finding) => el("p", {class: "quiet"}, finding.subject
    ? el("code", {}, finding.subject) : null, " ", say(finding.message)))), {first: 200, tag: "ul"});
  const passed = rows.filter((row) => standingOf(row.check) === "pass");
  const others = rows.filter((row) => standingOf(row.check) === "not_applicable");
  return section("passes", t("passes"),
    passed.length ? fold(t("passes_count", {count: passed.length}), () => list(passed), {}) : null,
    others.length ? fold(t("not_applicable_checks", {count: others.length}), () => list(others), {}) : null);
}
