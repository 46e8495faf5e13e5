// Pictures that are no curves: the folder tree of a data set, the shard map, the updates of a model's layers.

const treeStates = ["different", "only_baseline", "only_migrated", "unknown"];

// Folders and files below `path`, one level down.
function childrenOf(tree, path) {
  const prefix = path === "" ? "" : path + "/";
  const direct = (row) => row.path !== path && row.path.startsWith(prefix) &&
    !row.path.slice(prefix.length).includes("/");
  return {folders: tree.folders.filter((row) => row.path !== "" && direct(row)), files: tree.files.filter(direct)};
}

function folderSummary(tree, folder) {
  const name = folder.path === "" ? tree.dataset || t("root") : folder.path.split("/").pop();
  const differs = treeStates.filter((state) => folder[state] > 0);
  return [el("span", {class: "folder"}, name + "/"), " ", el("span", {class: "quiet"}, t("files_same",
    {count: count(folder.same)})),
  differs.map((state) => [" ", el("span", {class: "mark " + state}, t("state_" + state) + " " + count(folder[state]))]),
  el("span", {class: "quiet"}, " " + bytes(folder.baseline_bytes) + " → " + bytes(folder.migrated_bytes))];
}

function fileRow(file) {
  return el("li", {class: "file " + file.state}, el("span", {class: "mark " + file.state}, t("state_" + file.state)), " ",
    el("code", {}, file.path.split("/").pop()), file.other ? [" → ", el("code", {}, file.other)] : null,
    el("span", {class: "quiet"}, " " + bytes(file.baseline_bytes) + " → " + bytes(file.migrated_bytes)));
}

function folderNode(tree, folder, depth) {
  const differs = treeStates.some((state) => folder[state] > 0);
  return fold(folderSummary(tree, folder), () => {
    const {folders, files} = childrenOf(tree, folder.path);
    return [paged(folders, (one) => el("li", {}, folderNode(tree, one, depth + 1)), {first: 50, tag: "ul"}),
      paged(files, fileRow, {first: 50, tag: "ul"})];
  }, {open: differs && depth < 3, class: differs ? "differs" : "same"});
}

function treeFigure(tree) {
  const root = tree.folders.find((folder) => folder.path === "");
  if (!root) return null;
  return el("figure", {class: "tree"}, folderNode(tree, root, 0),
    el("figcaption", {}, el("strong", {}, t("tree_title", {dataset: tree.dataset})), " ",
      tree.baseline_where + " → " + tree.migrated_where,
      tree.files_total > tree.files.length ? " · " + t("shown_of", {shown: count(tree.files.length),
        total: count(tree.files_total)}) : ""));
}

// Rank x file. Above a few dozen ranks a cell stands for several.
function shardFigure(map) {
  const ranks = Math.max(map.baseline_ranks, map.migrated_ranks, 1);
  const group = Math.ceil(ranks / 64);
  const columns = Array.from({length: Math.ceil(ranks / group)}, (_, i) => i);
  const signOf = (row, column) => {
    const inside = (list) => list.some((rank) => Math.floor(rank / group) === column);
    const a = inside(row.baseline), b = inside(row.migrated);
    const word = a && b ? "both" : a ? "baseline" : b ? "migrated" : "none";
    return {word, sign: {both: "=", baseline: "b", migrated: "m", none: ""}[word], read: a || b};
  };
  const cell = (row, column) => {
    const {word, sign, read} = signOf(row, column);
    const twice = row.mark === "read_twice" && read;
    return el("td", {class: "shard " + word + (twice ? " twice" : "")}, twice ? sign.toUpperCase() + "!" : sign);
  };
  const rows = (list) => list.map((row) => el("tr", {}, el("th", {scope: "row"}, el("code", {}, row.file)),
    el("td", {class: "mark " + row.mark}, t("shard_" + row.mark)), columns.map((column) => cell(row, column))));
  const heads = [t("file"), "", ...columns.map((column) => group === 1 ? column
    : column * group + "–" + Math.min(ranks - 1, (column + 1) * group - 1))];
  const signs = new Set(map.rows.flatMap((row) => columns.map((column) => signOf(row, column).word)));
  const legend = t("shard_words") + " " + legendOf("sign_", ["both", "baseline", "migrated", "twice"].filter((one) =>
    one === "twice" ? map.rows.some((row) => row.mark === "read_twice") : signs.has(one)));
  const counts = Object.entries(map.counts).map(([mark, number]) => t("shard_" + mark) + " " + count(number));
  const draw = (from, to) => el("div", {class: "scroll", tabindex: 0},
    table(legend, heads, rows(map.rows.slice(from, to)), {class: "shards"}));
  return el("figure", {class: "shardmap"}, draw(0, 40),
    map.rows.length > 40 ? fold(t("and_more", {count: map.rows.length - 40}), () => draw(40), {}) : null,
    el("figcaption", {}, el("strong", {},
      t(map.epoch === undefined ? "shard_title_no_epoch" : "shard_title", {dataset: map.dataset || "–", epoch: map.epoch})), " ", counts.join(" · "),
    map.rows_total > map.rows.length ? " · " + t("shown_of", {shown: count(map.rows.length),
      total: count(map.rows_total)}) : ""));
}

// Layers of both sides, each with the size of its update on one logarithmic scale.
function updateFigure(updates) {
  const sizes = updates.flatMap((update) => update.layers).map((layer) => layer.rms).filter((rms) => rms > 0);
  const low = Math.log10(Math.min(...sizes, 1)) - 0.5, high = Math.log10(Math.max(...sizes, 1e-30)) + 0.1;
  const width = (rms) => rms > 0 ? Math.max(2, (100 * (Math.log10(rms) - low)) / (high - low)) + "%" : "0";
  return el("figure", {class: "updates"}, updates.map((update) => [
    el("h4", {}, t(update.side) + colon() + update.run + ", " + t("steps_from_to", {from: update.from_step,
      to: update.to_step})),
    paged(update.layers, (layer) => el("li", {class: "layer " + layer.movement},
      el("span", {class: "mark " + layer.movement}, t("movement_" + layer.movement)), " ",
      el("code", {}, layer.name), " ",
      layer.rms !== undefined ? [el("span", {class: "size", style: {width: width(layer.rms)}}),
        el("span", {class: "quiet"}, layer.rms.toExponential(2))] : null), {first: 30, tag: "ul"}),
    update.layers_total > update.layers.length ? el("p", {class: "capped"}, t("shown_of",
      {shown: count(update.layers.length), total: count(update.layers_total)})) : null]),
  el("figcaption", {}, el("strong", {}, t("updates_title")), " ", t("updates_words")));
}

// Gives each picture once: to the first cause that it belongs to, what is left to the part of its own.
function makeGallery(pictures) {
  const waiting = new Map();
  const put = (kind, make) => {
    if (!waiting.has(kind)) waiting.set(kind, []);
    waiting.get(kind).push(make);
  };
  if (pictures) {
    pictures.curves.forEach((curve) => put(curve.metric, () => curveFigure(curve)));
    pictures.trees.forEach((tree) => put("trees", () => treeFigure(tree)));
    pictures.shards.forEach((map) => put("shards", () => shardFigure(map)));
    if (pictures.updates.length) put("updates", () => updateFigure(pictures.updates));
  }
  return {
    take(kind, most) {
      return (waiting.get(kind) || []).splice(0, most).map((make) => make());
    },
    rest() {
      return [...waiting.values()].flatMap((makes) => makes.splice(0).map((make) => make()));
    },
  };
}
