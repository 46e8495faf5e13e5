// One finding, and lists of them that stay usable whatever their number.

// Many messages name their subject themselves.
function needsSubject(finding) {
  return finding.subject !== "" && !say(finding.message).includes(finding.subject);
}

function sideValues(finding) {
  if (!finding.baseline && !finding.migrated) return null;
  return el("dl", {class: "sides"},
    el("div", {class: "baseline"}, el("dt", {}, t("baseline")), el("dd", {}, valueIn(finding.baseline) || "–")),
    el("div", {class: "migrated"}, el("dt", {}, t("migrated")), el("dd", {}, valueIn(finding.migrated) || "–")));
}

function evidenceOf(finding) {
  const places = finding.evidence || [];
  if (places.length === 0) return null;
  const placesShown = 6;
  return el("p", {class: "evidence"}, el("span", {class: "label"}, t("source")),
    places.slice(0, placesShown).map((place) => el("code", {}, place)),
    places.length > placesShown ? t("and_more", {count: places.length - placesShown}) : null);
}

function remedyOf(finding) {
  return say(finding.remedy) ? el("p", {class: "fix"}, el("span", {class: "label"}, t("fix")), told(finding.remedy))
    : null;
}

function answerOf(finding) {
  const waived = finding.waived;
  if (!waived) return null;
  return el("p", {class: "answer"}, t("waived_by", {by: waived.by, until: waived.until, reason: waived.reason}),
    waived.ref ? " " + waived.ref : null);
}

function factsOf(finding) {
  const facts = entriesOf(finding.facts || {}).filter(([name]) => name !== "caused_by" && name !== "total");
  if (facts.length === 0) return null;
  return fold(t("facts"), () => el("dl", {class: "facts"}, facts.map(([name, value]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, typeof value === "object" ? JSON.stringify(value) : short2(value))))),
  {class: "quiet"});
}

function short2(value) {
  return typeof value === "number" ? short(value) : String(value);
}

// `context.waive`: where the reader may act on it.
function findingBody(row, context) {
  const {check, finding} = row;
  return [
    el("p", {class: "message"}, needsSubject(finding) ? [el("code", {class: "subject"}, valueIn(finding.subject)), " "] : null,
      told(finding.message)),
    finding.nodes && finding.nodes.length ? el("p", {class: "nodes"}, el("span", {class: "label"}, t("nodes")),
      finding.nodes.slice(0, 8).join(", "),
      finding.nodes.length > 8 ? " " + t("and_more", {count: finding.nodes.length - 8}) : null) : null,
    sideValues(finding), evidenceOf(finding), remedyOf(finding), answerOf(finding), factsOf(finding),
    context && context.waive && row.class === "error" ? el("button", {type: "button", class: "act",
      onclick: (event) => context.waive(check, finding, event.currentTarget)}, t("waive")) : null,
  ];
}

function findingRow(row, context) {
  return el("li", {class: "finding " + row.class},
    el("p", {class: "place"}, el("span", {class: "mark " + row.class}, t("class_" + row.class)), " ",
      el("a", {href: "#check-" + row.check.id}, row.check.id), " · ", el("code", {}, row.finding.kind)),
    findingBody(row, context));
}

// What of the rows fits the words and choices of the filter.
function filterRows(rows, wanted) {
  const words = wanted.text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  return rows.filter((row) => {
    if (wanted.class && row.class !== wanted.class) return false;
    if (wanted.item && row.item.id !== wanted.item) return false;
    if (wanted.node && !(row.finding.nodes || []).includes(wanted.node)) return false;
    if (words.length === 0) return true;
    const {check, finding} = row;
    const text = [check.id, finding.kind, finding.subject, finding.message.en, finding.message.zh, finding.baseline,
      finding.migrated].join("\n").toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function choice(name, label, options, change) {
  return el("label", {}, label, " ", el("select", {name, onchange: change},
    el("option", {value: ""}, t("all")), options.map(([value, text]) => el("option", {value}, text))));
}

// All findings of a report, to be searched. Draws when it is opened.
function findingSearch(report, context) {
  const rows = allFindings(report);
  const list = el("div", {class: "results"});
  const said = el("p", {class: "count", role: "status", "aria-live": "polite"});
  const wanted = {text: "", class: "", item: "", node: ""};
  const draw = () => {
    const found = filterRows(rows, wanted);
    said.textContent = t("found", {count: count(found.length), total: count(rows.length)});
    clear(list).append(paged(found, (row) => findingRow(row, context), {first: 20}));
  };
  let waiting = 0;
  const later = (event) => {
    wanted.text = event.target.value;
    clearTimeout(waiting);
    waiting = setTimeout(draw, 150);
  };
  const set = (name) => (event) => {
    wanted[name] = event.target.value;
    draw();
  };
  const nodes = [...new Set(rows.flatMap((row) => row.finding.nodes || []))].sort();
  const capped = report.items.flatMap((item) => item.checks).filter((check) => totalOf(check) > check.findings.length);
  draw();
  return [
    el("form", {class: "filter", role: "search", onsubmit: (event) => event.preventDefault()},
      el("label", {}, t("search"), " ", el("input", {type: "search", name: "text", oninput: later})),
      choice("class", t("severity"), ["error", "warning", "note", "waived"].map((c) => [c, t("class_" + c)]),
        set("class")),
      choice("item", t("item"), report.items.map((item) => [item.id, say(item.title)]), set("item")),
      nodes.length ? choice("node", t("node"), nodes.map((node) => [node, node]), set("node")) : null),
    said,
    capped.length ? el("p", {class: "capped"}, t("capped"), " ", capped.map((check) =>
      check.id + " (" + count(check.findings.length) + " / " + count(totalOf(check)) + ")").join(", ")) : null,
    list,
  ];
}
