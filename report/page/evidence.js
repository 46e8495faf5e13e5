// Every source that was looked at, and which were not recognised.

function evidencePart(pictures) {
  if (!pictures || pictures.evidence.length === 0) return null;
  const unread = pictures.evidence.filter((row) => row.outcome !== "collected" || row.format === "unknown");
  const draw = (row) => el("li", {class: "source " + row.outcome},
    el("span", {class: "mark " + row.outcome}, t("outcome_" + row.outcome)), " ",
    el("code", {}, row.source || "–"), " ",
    el("span", {class: "quiet"}, [t(row.side), row.run, row.node, row.rank !== undefined ? "rank " + row.rank : "",
      t("kind_" + row.kind), row.format, row.entries >= 0 ? t("entries", {count: count(row.entries)}) : "", row.by,
      row.at].filter((part) => part).join(" · ")),
    row.sha256 ? el("code", {class: "digest", title: t("digest_words")}, " sha256:" + row.sha256) : null,
    row.problem ? el("p", {}, told(row.problem)) : null);
  return section("evidence", t("evidence_list") + " (" + count(pictures.evidence_total) + ")",
    unread.length ? [el("h3", {}, t("not_read")), paged(unread, draw, {first: 10, tag: "ul"})] : null,
    fold(t("all_evidence"), () => [
      pictures.evidence.length < pictures.evidence_total ? el("p", {class: "capped"}, t("shown_of",
        {shown: count(pictures.evidence.length), total: count(pictures.evidence_total)})) : null,
      paged(pictures.evidence, draw, {first: 50, tag: "ul"})], {}));
}
