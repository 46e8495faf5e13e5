// A report (paritect.report/1) seen as its readers ask for it. No drawing here.

function classOf(finding) {
  if (finding.severity === "error") return finding.waived ? "waived" : "error";
  return finding.severity;
}

// Every finding once, with where it stands.
const findingsKnown = new WeakMap();
function allFindings(report) {
  if (findingsKnown.has(report)) return findingsKnown.get(report);
  const rows = [];
  for (const item of report.items) {
    for (const check of item.checks) {
      for (const finding of check.findings) rows.push({item, check, finding, class: classOf(finding)});
    }
  }
  findingsKnown.set(report, rows);
  return rows;
}

// The full count of a check's findings: the list of a report is capped.
function totalOf(check) {
  const first = check.findings[0];
  const stated = first && first.facts && first.facts.total;
  return typeof stated === "number" ? Math.max(stated, check.findings.length) : check.findings.length;
}

// Errors of one kind of one check are one cause, in the order of work (the report's `causes`): [{item,
// check, kind, title, rows, follows: [{check, kind, rows, because}]}]. Reports of before have no titles.
function causesOf(report) {
  const checks = new Map();
  for (const item of report.items) for (const check of item.checks) checks.set(check.id, {item, check});
  const rowsOf = (id, kind, follows) => {
    const known = checks.get(id);
    if (!known) return [];
    return known.check.findings.filter((finding) => finding.kind === kind && classOf(finding) === "error" &&
      isConsequence(finding) === follows).map((finding) => ({...known, finding, class: "error"}));
  };
  return report.causes.filter((cause) => checks.has(cause.check)).map((cause) => ({
    ...checks.get(cause.check), kind: cause.kind, title: cause.title, rows: rowsOf(cause.check, cause.kind, false),
    follows: cause.consequences.map((one) => ({check: one.check, kind: one.kind, because: one.because,
      rows: rowsOf(one.check, one.kind, true)})),
  })).filter((cause) => cause.rows.length > 0);
}

function isConsequence(finding) {
  const causes = finding.facts && finding.facts.caused_by;
  return Array.isArray(causes) && causes.length > 0;
}

// Every node of a side, in the order of its runs.
function nodesOf(report) {
  const nodes = [];
  for (const side of ["baseline", "migrated"]) {
    const seen = new Set();
    for (const run of (report.sides && report.sides[side]) || []) {
      for (const node of run.nodes) {
        if (!seen.has(node)) nodes.push({side, node});
        seen.add(node);
      }
    }
  }
  return nodes;
}

// What a report says of each node by name, item by item: "fail", "waived", "warning", "not_performed"; nothing said of a
// node alone is no verdict of it. Map of item id -> Map of node -> word.
function matrixOf(report) {
  const rank = {fail: 4, not_performed: 3, waived: 2, warning: 1};
  const known = new Set(nodesOf(report).map((row) => row.node));
  const matrix = new Map();
  for (const item of report.items) {
    const cells = new Map();
    const mark = (node, word) => {
      if (known.has(node) && (rank[word] || 0) > (rank[cells.get(node)] || 0)) cells.set(node, word);
    };
    const marked = {fail: new Set(), waived: new Set(), warning: new Set()};  // lists that many findings share
    for (const check of item.checks) {
      for (const finding of check.findings) {
        const word = {error: "fail", waived: "waived", warning: "warning"}[classOf(finding)];
        if (!word || !finding.nodes || marked[word].has(finding.nodes)) continue;
        marked[word].add(finding.nodes);
        finding.nodes.forEach((node) => mark(node, word));
      }
      // "rank 3 of npu-01" names a node by its last word.
      for (const missing of check.missing) mark(missing.from.split(" ").pop(), "not_performed");
    }
    matrix.set(item.id, cells);
  }
  return matrix;
}

const columnsShown = 40;

// Nodes of a side that the whole matrix says the same of are one column: [{side, nodes}]; the worst first where they are
// more than are shown.
function columnsOf(report, matrix) {
  const columns = new Map();
  for (const {side, node} of nodesOf(report)) {
    const key = side + "\n" + [...matrix.values()].map((cells) => cells.get(node) || "").join(",");
    if (!columns.has(key)) columns.set(key, {side, nodes: []});
    columns.get(key).nodes.push(node);
  }
  const all = [...columns.values()];
  if (all.length <= columnsShown) return all;
  const failed = (column) => [...matrix.values()].filter((cells) => cells.get(column.nodes[0]) === "fail").length;
  return all.map((column) => [failed(column), column]).sort((a, b) => b[0] - a[0]).map(([, column]) => column);
}

// The verdict of an item or a check as people are told it: a pass whose question does not arise is none that was
// performed, and of an item none where no check of it was.
function standingOf(thing) {
  if (thing.verdict !== "pass" || thing.attested) return thing.verdict;
  const applies = thing.checks ? thing.checks.some((check) => standingOf(check) === "pass")
    : !thing.findings.some((finding) => finding.kind === "not_applicable");
  return applies ? "pass" : "not_applicable";
}

// "P", "F", "N", "W", "A", "-": never by colour alone.
function letterOf(thing) {
  if (thing.attested) return "A";
  const standing = standingOf(thing);
  if (standing !== "pass") return {fail: "F", not_performed: "N", not_applicable: "-"}[standing];
  return thing.waived ? "W" : "P";
}

function tally(things) {
  const counts = {pass: 0, fail: 0, not_performed: 0, not_applicable: 0};
  for (const thing of things) counts[standingOf(thing)] += 1;
  return counts;
}

// As placeholders of texts.
function countWords(counts) {
  return {pass: counts.pass, fail: counts.fail, open: counts.not_performed, not_applicable: counts.not_applicable};
}

// The pictures that belong to a check.
function pictureKindOf(id) {
  if (id.startsWith("data.dataset")) return "trees";
  if (id.startsWith("data.sharding")) return "shards";
  if (id.startsWith("first-step.update") || id.endsWith(".replicas")) return "updates";
  if (id.includes("learning-rate")) return "lr";
  if (id.includes("gradient")) return "grad_norm";
  if (id.includes("loss-scale") || id.includes("overflow")) return "loss_scale";
  if (/curve|convergence|first-step|accuracy|loss/.test(id)) return "loss";
  return "";
}
