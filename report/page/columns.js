// Long lists stand in a report as columns (report/columns.h; the form is described in docs/page.md): a column is read
// when something of it is first shown, and a row is then an object like any other.

// The `count` values of a column; undefined where the row has no such name.
function columnValues(column, count) {
  if (column.all !== undefined) return new Array(count).fill(column.all);
  if (column.plain) return column.plain;
  if (column.of) {
    const values = columnValues(column.values, column.of.reduce((most, one) => Math.max(most, one + 1), 0));
    return column.of.map((one) => values[one]);
  }
  if (column.texts !== undefined) return columnTexts(column.texts);
  if (column.columns) return columnObjects(column.columns, count);
  if (column.counts) return columnLists(column, count);
  return columnRuns(column);
}

// A line keeps so much of the beginning and end of the text before; "\tBEGINNING,END" stands where that changes.
function columnTexts(lines) {
  const made = [];
  let last = "", prefix = 0, suffix = 0;
  for (const line of lines.split("\n")) {
    if (line.startsWith("\t")) {
      [prefix, suffix] = line.slice(1).split(",").map(Number);
      continue;
    }
    last = last.slice(0, prefix) + line + last.slice(last.length - suffix);
    made.push(last);
  }
  return made;
}

// Objects whose columns are read when they are asked for. `entriesOf` lists what one has.
const ofRow = Symbol("row");
function columnObjects(columns, count) {
  function Row(row) {
    this[ofRow] = row;
  }
  const kind = Row.prototype;
  Object.defineProperty(kind, "constructor", {enumerable: false});
  for (const [name, column] of Object.entries(columns)) {
    let values = null;
    Object.defineProperty(kind, name, {enumerable: true, get() {
      values = values || columnValues(column, count);
      return values[this[ofRow]];
    }});
  }
  Object.defineProperty(kind, "toJSON", {value() {
    return Object.fromEntries(entriesOf(this));
  }});
  const made = new Array(count);
  for (let row = 0; row < count; ++row) made[row] = new Row(row);
  return made;
}

// What an object has, be it one of a list of columns or not.
function entriesOf(object) {
  const entries = [];
  for (const name in object) {
    if (object[name] !== undefined) entries.push([name, object[name]]);
  }
  return entries;
}

function columnLists(column, count) {
  const counts = columnValues(column.counts, count);
  const items = columnValues(column.items, counts.reduce((sum, one) => sum + one, 0));
  let at = 0;
  return counts.map((size) => items.slice(at, at += size));
}

function columnRuns(column) {
  const made = [];
  const present = column.runs.reduce((sum, length, run) => sum + (run % 2 ? length : 0), 0);
  const values = columnValues(column.present, present);
  let at = 0;
  column.runs.forEach((length, run) => {
    for (let row = 0; row < length; ++row) made.push(run % 2 ? values[at++] : undefined);
  });
  return made;
}

// The rows of a list, whichever form it stands in.
function rowsOfList(list) {
  return Array.isArray(list) ? list : columnObjects(list.columns, list.packed_rows);
}

// A report with its lists as rows.
function openReport(report) {
  for (const item of report.items) {
    for (const check of item.checks) {
      check.findings = rowsOfList(check.findings);
      check.missing = rowsOfList(check.missing);
    }
  }
  return report;
}

function openPictures(pictures) {
  if (!pictures) return pictures;
  pictures.evidence = rowsOfList(pictures.evidence);
  for (const tree of pictures.trees) {
    tree.folders = rowsOfList(tree.folders);
    tree.files = rowsOfList(tree.files);
  }
  for (const map of pictures.shards) map.rows = rowsOfList(map.rows);
  for (const update of pictures.updates) update.layers = rowsOfList(update.layers);
  return pictures;
}
