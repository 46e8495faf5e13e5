// The server's page: audits with their history, a run's progress and report, live curves, nodes, answers, the log of
// calls. It asks the server; what a role may do the server decides.

const live = {me: null, timer: 0, place: ""};

async function ask(method, path, body) {
  const answer = await fetch("/api/" + path, {method, headers: {"X-Paritect": "1", "Content-Type": "application/json"},
    body: body === undefined ? undefined : JSON.stringify(body), credentials: "same-origin", cache: "no-store"});
  const text = await answer.text();
  let json = {};
  try {
    json = JSON.parse(text);
  } catch (e) {
    json = {error: answer.status + " " + answer.statusText};
  }
  if (!answer.ok) throw Object.assign(new Error(json.error || String(answer.status)), {status: answer.status});
  return json;
}

function timeText(ms) {
  const number = Number(ms);
  return number > 0 ? new Date(number).toISOString().replace(/\.\d+Z$/, "Z") : "–";
}

function verdictOf(name) {
  return {VERDICT_PASS: "pass", VERDICT_FAIL: "fail", VERDICT_NOT_PERFORMED: "not_performed"}[name] || "";
}

function verdictCell(name) {
  const verdict = verdictOf(name);
  return el("td", {class: "verdict " + verdict}, verdict ? verdictWord(verdict) : "–");
}

function stateWord(name) {
  return t("state_" + String(name).replace(/^(AUDIT_RUN|NODE_TASK)_STATE_/, "").toLowerCase());
}

function isOver(run) {
  return /_(DONE|FAILED|CANCELLED)$/.test(run.state);
}

// Draws anew what stands at one place, every `ms`, for as long as it is looked at. What the reader has opened or is
// writing in stays: a part is replaced only when what it shows has changed.
function every(ms, draw) {
  clearTimeout(live.timer);
  const place = live.place;
  const again = async () => {
    if (live.place !== place) return;
    try {
      if (!document.hidden && await draw() === false) return;
      say2("");
    } catch (error) {
      if (error.status === 401) return showLogin();
      say2(t("cannot_reach") + " " + error.message);
    }
    if (live.place === place) live.timer = setTimeout(again, ms);
  };
  return again();
}

function replaceWhenNew(room, data, draw) {
  const text = JSON.stringify(data) + page.language;
  if (room.shown === text) return;
  room.shown = text;
  add(clear(room), draw());
}

// What went wrong, for eyes and screen readers.
function say2(text) {
  const line = document.getElementById("problem");
  if (line) line.textContent = text;
}

function frame(room, current, ...content) {
  const link = (place, word) => el("a", {href: "#/" + place, "aria-current": current === place ? "page" : null}, t(word));
  const leave = el("button", {type: "button", id: "logout", onclick: async () => {
    await ask("POST", "logout");
    showLogin();
  }}, t("logout"));
  add(clear(room), [
    el("div", {class: "top"}, el("span", {class: "brand"}, "Paritect"),
      el("nav", {class: "places", "aria-label": t("places")}, link("audits", "audits"), link("nodes", "places_nodes"),
        link("answers", "answers_and_waivers"), link("log", "log")),
      controls([el("span", {class: "quiet", id: "actor"}, live.me ? live.me.actor : ""), leave])),
    el("p", {id: "problem", class: "error-message", role: "alert"}),
    content]);
}

function showLogin(problem) {
  clearTimeout(live.timer);
  live.place = "";
  const room = document.getElementById("app");
  add(clear(room), [el("div", {class: "top"}, el("span", {class: "brand"}, "Paritect"), controls(null)),
    el("h1", {}, t("login_title")), el("p", {}, t("login_words")), el("pre", {}, el("code", {}, "paritect web")),
    el("p", {}, t("login_certificate_words")), el("p", {}, el("button", {type: "button", id: "by-certificate",
      onclick: async () => {
        try {
          await ask("POST", "login", {certificate: true});
          location.hash = "#/audits";
          route(room);
        } catch (error) {
          say2(error.message);
        }
      }}, t("login_certificate"))),
    el("p", {id: "problem", class: "error-message", role: "alert"}, problem || "")]);
}

function auditsPlace(room) {
  const list = el("div", {});
  frame(room, "audits", el("h1", {}, t("audits")), list);
  return every(2000, async () => {
    const {audits} = await ask("GET", "audits");
    replaceWhenNew(list, audits, () => audits.length === 0 ? el("p", {}, t("no_audits")) : table(t("audits_caption"),
      [t("verdict"), t("audit"), t("run"), t("state"), t("time"), t("silent"), t("changed")],
      audits.map(({definition, last_run: run}) => el("tr", {},
        run ? verdictCell(run.verdict) : el("td", {}, "–"),
        el("th", {scope: "row"}, el("a", {href: "#/audit/" + encodeURIComponent(definition.name)}, definition.name)),
        el("td", {class: "number"}, run ? run.number : "–"), el("td", {}, run ? stateWord(run.state) : t("never_run")),
        el("td", {}, run ? timeText(run.ended_unix_ms) : "–"), el("td", {}, run ? run.silent_nodes.join(", ") : ""),
        el("td", {class: "number"}, run ? run.changed.length : ""))), {}));
  });
}

function progressRow(task) {
  const progress = task.progress || {};
  const total = Number(progress.bytes_total || 0), done = Number(progress.bytes_done || 0);
  const share = task.state === "NODE_TASK_STATE_DONE" ? 1 : total > 0 ? done / total : 0;
  return el("tr", {class: "task"},
    el("th", {scope: "row"}, task.node), el("td", {}, t(task.migrated ? "migrated" : "baseline")),
    el("td", {}, stateWord(task.state)),
    el("td", {}, el("span", {class: "progress", role: "progressbar", "aria-valuemin": 0, "aria-valuemax": 100,
      "aria-valuenow": Math.round(share * 100), "aria-label": task.node},
    el("span", {style: {width: share * 100 + "%"}})), " ", Math.round(share * 100) + " %"),
    el("td", {}, [progress.stage, Number(progress.files_total) > 0
      ? t("files_done", {done: count(progress.files_done), total: count(progress.files_total)}) : "",
    total > 0 ? bytes(done) + " / " + bytes(total) : "", Number(task.rate_bytes_per_s) > 0
      ? bytes(Number(task.rate_bytes_per_s)) + "/s" : "", task.detail].filter((part) => part).join(" · ")),
    el("td", {}, timeText(task.last_seen_unix_ms)));
}

function progressPart(run) {
  return section("progress", t("progress"), table(t("progress_caption", {run: run.number, state: stateWord(run.state)}),
    [t("node"), t("side"), t("state"), t("done"), "", t("last_contact")], run.tasks.map(progressRow), {}));
}

function changesPart(run) {
  if (run.changed.length === 0) return null;
  return section("changes", t("changes"), el("ul", {}, run.changed.map((one) => el("li", {},
    el("a", {href: "#check-" + one.check}, one.check), ": ", verdictWord(verdictOf(one.before)), " → ",
    verdictWord(verdictOf(one.after))))));
}

function historyPart(audit, runs, current) {
  return section("history", t("history"), table(t("history_caption"), [t("run"), t("verdict"), t("state"), t("time"),
    t("started_by"), t("changed")], runs.slice().reverse().slice(0, 50).map((run) => el("tr",
    {"aria-current": String(run.number) === String(current) ? "true" : null},
    el("td", {class: "number"}, el("a", {href: "#/audit/" + encodeURIComponent(audit) + "/" + run.number}, run.number)),
    verdictCell(run.verdict), el("td", {}, stateWord(run.state), run.problem ? ": " + run.problem : ""),
    el("td", {}, timeText(run.ended_unix_ms || run.started_unix_ms)), el("td", {}, run.started_by),
    el("td", {class: "number"}, run.changed.length))), {}));
}

function livePart(answer) {
  if (!answer.followed && answer.events.length === 0) return null;
  const events = answer.events.slice().reverse().slice(0, 50);
  return section("live", t(answer.followed ? "live_now" : "live_over"),
    answer.curves.map(curveFigure),
    fold(t("live_events", {count: answer.events.length}), () => el("ul", {class: "rows"}, events.map((event) =>
      el("li", {}, el("span", {class: "mark " + (event.finding ? "error" : "note")}, event.event), " ", event.at, " ",
        event.run, event.step === undefined ? "" : ", " + t("axis_steps") + " " + event.step, " ", event.detail,
        event.finding ? " " + say(event.finding.message) : ""))), {open: answer.curves.length === 0}));
}

function auditPlace(room, audit, number) {
  const rooms = {live: el("div", {}), progress: el("div", {}), changes: el("div", {}), report: el("div", {class: "report"}),
    history: el("div", {})};
  const start = el("button", {type: "button", id: "run-now", hidden: !live.me.acts, onclick: async () => {
    try {
      await ask("POST", "audits/" + encodeURIComponent(audit) + "/run");
      location.hash = "#/audit/" + encodeURIComponent(audit);
    } catch (error) {
      say2(error.message);
    }
  }}, t("run_now"));
  frame(room, "audits", el("h1", {}, t("audit") + " " + audit), el("p", {}, start), rooms.progress, rooms.live,
    rooms.changes, rooms.report, rooms.history);
  const path = "audits/" + encodeURIComponent(audit);
  let drawn = "";
  return every(1000, async () => {
    const {runs} = await ask("GET", path + "/runs");
    replaceWhenNew(rooms.history, runs, () => historyPart(audit, runs, number));
    const followed = await ask("GET", path + "/live");
    replaceWhenNew(rooms.live, followed, () => livePart(followed));
    const last = runs[runs.length - 1];
    const chosen = number ? runs.find((run) => String(run.number) === number) : last;
    if (!chosen) return;
    const run = isOver(chosen) ? chosen : await ask("GET", path + "/runs/" + chosen.number + "/progress");
    replaceWhenNew(rooms.progress, isOver(run) ? null : run, () => isOver(run) ? [] : progressPart(run));
    const done = chosen.state === "AUDIT_RUN_STATE_DONE" ? chosen
      : number ? null : runs.filter((one) => one.state === "AUDIT_RUN_STATE_DONE").pop();
    const key = (done ? done.number : "none") + page.language;
    if (!done || key === drawn) return;
    drawn = key;
    replaceWhenNew(rooms.changes, done.changed, () => changesPart(done));
    const {report, pictures} = await ask("GET", path + "/runs/" + done.number + "/report");
    drawReport(rooms.report, openReport(report), openPictures(pictures), live.me.acts ? answering(audit) : {});
  });
}

function nodesPlace(room) {
  const list = el("div", {});
  frame(room, "nodes", el("h1", {}, t("places_nodes")), list);
  return every(2000, async () => {
    const {nodes} = await ask("GET", "nodes");
    const agents = nodes.filter((row) => row.node.role === "ACCESS_ROLE_AGENT" && !row.node.forgotten);
    replaceWhenNew(list, agents, () => table(t("nodes_caption"), [t("node"), t("state"), t("last_contact"),
      t("clock_offset"), t("address"), t("program"), t("waiting_records")], agents.map(({node, state}) => el("tr", {},
      el("th", {scope: "row"}, node.name), el("td", {}, el("span", {class: "mark " + (state === "online" ? "same"
        : "unknown")}, t("node_" + state))),
      el("td", {}, timeText(node.last_seen_unix_ms)),
      el("td", {class: "number"}, node.clock_offset_known ? node.clock_offset_ms + " ms" : "–"),
      el("td", {}, node.address), el("td", {}, (node.hello || {}).program || ""),
      el("td", {class: "number"}, (node.spool || {}).records || 0))), {}));
  });
}

function logPlace(room) {
  const list = el("div", {});
  frame(room, "log", el("h1", {}, t("log")), list);
  return every(5000, async () => {
    const {entries} = await ask("GET", "log");
    // Reading the log is an entry of its own: only others make it new.
    const others = entries.filter((entry) => entry.action !== "ReadLog");
    replaceWhenNew(list, others, () => table(t("log_caption"), [t("number"), t("time"), t("actor"), t("action"),
      t("subject"), t("outcome")], others.slice().reverse().map((entry) => el("tr", {},
      el("td", {class: "number"}, entry.number), el("td", {}, timeText(entry.at_unix_ms)), el("td", {}, entry.actor),
      el("td", {}, entry.action), el("td", {}, entry.subject), el("td", {}, entry.outcome))), {}));
  });
}

async function route(room) {
  const parts = location.hash.replace(/^#\/?/, "").split("/").map(unescaped);
  if (!location.hash.startsWith("#/") && live.place !== "") return openTarget();
  if (parts[0] === "login" && parts[1]) {
    history.replaceState(null, "", "#/audits");  // the token is no part of the history
    try {
      await ask("POST", "login", {token: parts[1]});
    } catch (error) {
      return showLogin(error.message);
    }
    parts.splice(0, 2, "audits");
  }
  try {
    live.me = await ask("GET", "me");
  } catch (error) {
    return showLogin(error.status === 401 ? "" : error.message);
  }
  live.place = location.hash + page.language + document.documentElement.dataset.theme;
  if (parts[0] === "audit" && parts[1]) return auditPlace(room, parts[1], parts[2]);
  if (parts[0] === "nodes") return nodesPlace(room);
  if (parts[0] === "answers") return answersPlace(room);
  if (parts[0] === "log") return logPlace(room);
  return auditsPlace(room);
}

function startServer(room) {
  page.redraw = () => route(room);
  addEventListener("hashchange", () => location.hash.startsWith("#/") && route(room));
  route(room);
}
