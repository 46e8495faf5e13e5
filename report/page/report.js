// One report, from the verdict to the last source: the same in a file and on a server's page.

// Into `room`. `context`: what the reader may do (waive, attest); nothing in a file. Ends when all is drawn: a large report
// shows its answer and causes while the rest is made.
async function drawReport(room, report, pictures, context) {
  const gallery = makeGallery(pictures);
  const inside = Object.assign({pictureFor: (id) => gallery.take(pictureKindOf(id), 2)}, context);
  const contents = el("ol", {});
  const drawing = Symbol("drawing");
  room.drawing = drawing;
  delete room.dataset.drawn;
  add(clear(room), [headOf(report), el("nav", {class: "contents", "aria-label": t("contents")}, contents)]);
  let shownAt = performance.now();
  for (const make of [
    () => causesPart(report, inside), () => itemsPart(report, inside), () => matrixPart(report),
    () => openingsPart(report), () => picturesPart(gallery), () => classPart(report, "warning", t("warnings"), inside),
    () => answersPart(report, inside), () => passesPart(report, inside),
    () => section("findings", t("all_findings"), fold(t("search_findings"), () => findingSearch(report, inside), {})),
    () => evidencePart(pictures),
  ]) {
    const part = make();
    if (part === null) continue;
    room.append(part);
    contents.append(el("li", {}, el("a", {href: "#" + part.id}, part.querySelector("h2").textContent)));
    if (performance.now() - shownAt < 100) continue;
    await new Promise((resolve) => setTimeout(resolve));
    if (room.drawing !== drawing) return;  // drawn anew meanwhile, in another language
    shownAt = performance.now();
    performance.mark(part.id);
  }
  performance.mark("drawn");
  room.dataset.drawn = "";
}

function picturesPart(gallery) {
  const rest = gallery.rest().filter((figure) => figure !== null);
  return rest.length ? section("pictures", t("pictures"), rest) : null;
}

// A link to a check opens what it stands in.
function openTarget() {
  const id = unescaped(location.hash.slice(1));
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

// Paper shows what is folded, too, and is light.
function openAll() {
  document.documentElement.dataset.paper = "";
  document.querySelectorAll(".chart").forEach((room) => room.make && room.make());
  for (let depth = 0; depth < 3; ++depth) {
    document.querySelectorAll("details:not([open])").forEach((part) => {
      if (!part.fill) return;
      part.fill();
      part.open = true;
    });
  }
}

function afterPaper() {
  delete document.documentElement.dataset.paper;
  document.querySelectorAll(".chart").forEach((room) => room.make && room.make());
}
