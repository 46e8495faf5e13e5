// What persons answer from the page: waivers of findings, attestations of checks. Each has a name, a reason and an end.

// A form in a dialog; `send(fields)` throws with the server's words.
function answerDialog(title, about, send) {
  const year = new Date(Date.now() + 90 * 86400e3).toISOString().slice(0, 10);
  const field = (name, label, attributes) => el("label", {}, label, el("input", Object.assign({name, required: true},
    attributes)));
  const problem = el("p", {class: "error-message", role: "alert"});
  const opener = document.activeElement;
  const dialog = el("dialog", {"aria-labelledby": "answer-title"}, el("form", {onsubmit: async (event) => {
    event.preventDefault();
    try {
      await send(Object.fromEntries(new FormData(event.target)));
      dialog.close();
      say2(t("holds_from_next_run"));
    } catch (error) {
      problem.textContent = error.message;
    }
  }},
  el("h2", {id: "answer-title"}, title), el("p", {}, about),
  field("by", t("your_name"), {maxlength: 200, autocomplete: "name"}),
  field("reason", t("reason"), {maxlength: 4000}), field("until", t("until"), {type: "date", value: year}),
  problem, el("div", {class: "controls"}, el("button", {type: "submit"}, t("save")),
    el("button", {type: "button", onclick: () => dialog.close()}, t("cancel")))));
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (opener && opener.isConnected) opener.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
}

function answering(audit) {
  return {
    waive: (check, finding) => answerDialog(t("waive_title"), check.id + " · " + finding.kind + " · " +
      shown(finding.subject), (fields) => ask("POST", "waivers", Object.assign({audit, check: check.id,
      kind: finding.kind, subject: finding.subject, nodes: finding.nodes || []}, fields))),
    attest: (check) => answerDialog(t("attest_title"), check.id, (fields) =>
      ask("POST", "attestations", Object.assign({audit, check: check.id}, fields))),
  };
}

function answersPlace(room) {
  const list = el("div", {});
  frame(room, "answers", el("h1", {}, t("answers_and_waivers")), list);
  const today = new Date().toISOString().slice(0, 10);
  const end = (path) => live.me.acts ? el("button", {type: "button", onclick: async () => {
    try {
      await ask("DELETE", path);
      list.shown = "";
      await refresh();
    } catch (error) {
      say2(error.message);
    }
  }}, t("end")) : "";
  const until = (date) => el("td", {}, date, date < today ? el("span", {class: "mark warning"}, t("expired")) : null);
  const draw = (answer) => [
    table(t("waivers_caption"), [t("number"), t("audit"), t("checks"), t("subject"), t("reason"), t("by"), t("until"),
      ""], answer.waivers.map((one) => el("tr", {}, el("td", {class: "number"}, one.number),
      el("td", {}, one.audit || t("all")), el("td", {}, one.check, " ", el("code", {}, one.kind)),
      el("td", {}, el("code", {}, one.subject)), el("td", {}, one.reason), el("td", {}, one.by), until(one.until),
      el("td", {}, end("waivers/" + one.number)))), {}),
    table(t("attestations_caption"), [t("audit"), t("checks"), t("reason"), t("by"), t("until"), ""],
      answer.attestations.map((one) => el("tr", {}, el("td", {}, one.audit), el("td", {}, one.check),
        el("td", {}, one.reason), el("td", {}, one.by), until(one.until),
        el("td", {}, end("attestations/" + encodeURIComponent(one.audit) + "/" + encodeURIComponent(one.check))))), {}),
  ];
  const refresh = async () => {
    const answer = await ask("GET", "answers");
    replaceWhenNew(list, answer, () => draw(answer));
  };
  return every(3000, refresh);
}
