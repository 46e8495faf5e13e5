// One report, from the verdict to the last source: the same in a file and on a server's page.

// Into `room`. `context`: what the reader may do (waive, attest); nothing in a file.
function drawReport(room, report, pictures, context) {
  const gallery = makeGallery(pictures);
  const inside = Object.assign({pictureFor: (id) => gallery.take(pictureKindOf(id), 2)}, context);
  const parts = [
    causesPart(report, inside), itemsPart(report, inside), matrixPart(report), openingsPart(report),
    classPart(report, "warning", t("warnings"), inside), answersPart(report, inside), passesPart(report, inside),
  ];
  const rest = gallery.rest().filter((figure) => figure !== null);
  if (rest.length) parts.splice(1, 0, section("pictures", t("pictures"), rest));
  parts.push(section("findings", t("all_findings"), fold(t("search_findings"),
    () => findingSearch(report, inside), {})), evidencePart(pictures));
  const present = parts.filter((part) => part !== null);
  add(clear(room), [headOf(report),
    el("nav", {class: "contents", "aria-label": t("contents")}, el("ol", {}, present.map((part) =>
      el("li", {}, el("a", {href: "#" + part.id}, part.querySelector("h2").textContent))))),
    present]);
}

// A link to a check opens what it stands in.
function openTarget() {
  const id = decodeURIComponent(location.hash.slice(1));
  if (!id.startsWith("check-") && !id.startsWith("item-")) return;
  const item = id.startsWith("item-") ? id.slice(5) : id.slice(6, id.lastIndexOf("."));
  for (const one of ["item-" + item, id]) {
    const part = document.getElementById(one);
    if (part instanceof HTMLDetailsElement) {
      part.fill();
      part.open = true;
    }
  }
  const target = document.getElementById(id);
  if (target) {
    target.scrollIntoView({block: "start"});
    const summary = target.querySelector("summary");
    if (summary) summary.focus({preventScroll: true});
  }
}

// Paper shows what is folded, too.
function openAll() {
  document.querySelectorAll(".chart").forEach((room) => room.make && room.make());
  for (let depth = 0; depth < 3; ++depth) {
    document.querySelectorAll("details:not([open])").forEach((part) => {
      if (!part.fill) return;
      part.fill();
      part.open = true;
    });
  }
}
