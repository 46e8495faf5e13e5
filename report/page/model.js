// A report (paritect.report/1) seen as its readers ask for it. No drawing here.

function classOf(finding) {
  if (finding.severity === "error") return finding.waived ? "waived" : "error";
  return finding.severity;
}

// Every finding once, with where it stands.
function allFindings(report) {
  const rows = [];
  for (const item of report.items) {
    for (const check of item.checks) {
      for (const finding of check.findings) rows.push({item, check, finding, class: classOf(finding)});
    }
  }
  return rows;
}

function keyOf(check, finding) {
  return check + "\n" + finding.kind + "\n" + finding.subject;
}

// The full count of a check's findings: the list of a report is capped.
function totalOf(check) {
  const first = check.findings[0];
  const stated = first && first.facts && first.facts.total;
  return typeof stated === "number" ? Math.max(stated, check.findings.length) : check.findings.length;
}

// Errors of one kind of one check are one cause: [{item, check, kind, rows, follows}], in the order of work. What names
// another finding as its cause (facts.caused_by) stands below that one.
function causesOf(report) {
  const errors = allFindings(report).filter((row) => row.class === "error");
  const groups = new Map();
  const groupOf = (row) => {
    const key = row.check.id + "\n" + row.finding.kind;
    if (!groups.has(key)) {
      groups.set(key, {item: row.item, check: row.check, kind: row.finding.kind, rows: [], follows: []});
    }
    return groups.get(key);
  };
  const known = new Map(errors.map((row) => [keyOf(row.check.id, row.finding), row]));
  const consequences = [];
  for (const row of errors) {
    const causes = row.finding.facts && row.finding.facts.caused_by;
    const cause = Array.isArray(causes) && causes.map((c) => known.get(keyOf(c.check, c))).find((c) => c && c !== row);
    if (cause) consequences.push({row, cause});
    else groupOf(row).rows.push(row);
  }
  for (const {row, cause} of consequences) {
    const group = groups.get(cause.check.id + "\n" + cause.finding.kind);
    if (group) group.follows.push(row);
    else groupOf(row).rows.push(row);
  }
  return [...groups.values()].filter((group) => group.rows.length > 0);
}

// What one and the same step would bring, what brings most first: [{how, what, from, checks, required}].
function openingsOf(report) {
  const groups = new Map();
  for (const item of report.items) {
    for (const check of item.checks) {
      if (check.attested) continue;
      for (const missing of check.missing) {
        const key = missing.how.en || missing.what.en;
        if (!groups.has(key)) {
          groups.set(key, {how: missing.how, what: new Map(), from: new Set(), checks: new Set(), required: 0});
        }
        const group = groups.get(key);
        group.what.set(missing.what.en, missing.what);
        if (missing.from) group.from.add(missing.from);
        if (!group.checks.has(check) && check.required) group.required += 1;
        group.checks.add(check);
      }
    }
  }
  return [...groups.values()].sort((a, b) => b.required - a.required || b.checks.size - a.checks.size);
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
    for (const check of item.checks) {
      for (const finding of check.findings) {
        const word = {error: "fail", waived: "waived", warning: "warning"}[classOf(finding)];
        if (word) (finding.nodes || []).forEach((node) => mark(node, word));
      }
      // "rank 3 of npu-01" names a node by its last word.
      for (const missing of check.missing) mark(missing.from.split(" ").pop(), "not_performed");
    }
    matrix.set(item.id, cells);
  }
  return matrix;
}

// Nodes of a side that the whole matrix says the same of are one column: [{side, nodes}].
function columnsOf(report, matrix) {
  const columns = new Map();
  for (const {side, node} of nodesOf(report)) {
    const key = side + "\n" + [...matrix.values()].map((cells) => cells.get(node) || "").join(",");
    if (!columns.has(key)) columns.set(key, {side, nodes: []});
    columns.get(key).nodes.push(node);
  }
  return [...columns.values()];
}

// "P", "F", "N", "W", "A": never by colour alone.
function letterOf(check) {
  if (check.attested) return "A";
  if (check.verdict === "fail") return "F";
  if (check.verdict === "not_performed") return "N";
  return check.waived ? "W" : "P";
}

function tally(checks) {
  const counts = {pass: 0, fail: 0, not_performed: 0};
  for (const check of checks) counts[check.verdict] += 1;
  return counts;
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
