// Begins when the document is there: which language and colours, and whether this is a file or a server's page.

function chooseTheme(theme) {
  if (theme === "") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  settings.set("theme", theme);
}

// The button that was pressed keeps the keyboard: a server's page is drawn when the server has answered.
async function redrawAt(id) {
  await page.redraw();
  const button = document.getElementById(id);
  if (button) button.focus();
}

// Language and colours, at the head of the page.
function controls(extra) {
  const other = page.language === "zh" ? "en" : "zh";
  const dark = document.documentElement.dataset.theme === "dark" ||
    (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
  return el("div", {class: "controls"}, extra,
    el("button", {type: "button", id: "language", lang: other, onclick: () => {
      chooseLanguage(other);
      redrawAt("language");
    }}, other === "zh" ? "中文" : "English"),
    el("button", {type: "button", id: "theme", onclick: () => {
      chooseTheme(dark ? "light" : "dark");
      redrawAt("theme");
    }}, t(dark ? "light" : "dark")),
    el("button", {type: "button", id: "print", onclick: () => window.print()}, t("print")));
}

function startFile(room) {
  const report = openReport(dataOf("report"));
  const pictures = openPictures(dataOf("pictures"));
  page.redraw = () => {
    const inside = el("div", {class: "report"});
    add(clear(room), [el("div", {class: "top"}, el("span", {class: "brand"}, "Paritect"), controls(null)), inside]);
    drawReport(inside, report, pictures, {}).then(openTarget);
  };
  page.redraw();
}

document.addEventListener("DOMContentLoaded", () => {
  page.words = dataOf("words");
  chooseLanguage(settings.get("language", document.documentElement.lang));
  chooseTheme(settings.get("theme", ""));
  addEventListener("hashchange", openTarget);
  addEventListener("beforeprint", openAll);
  addEventListener("afterprint", afterPaper);
  const room = document.getElementById("app");
  if (document.body.dataset.mode === "server") startServer(room);
  else startFile(room);
});
