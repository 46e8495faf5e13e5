// Curves of both sides over one axis: values with the tolerance band, marks of skipped and broken steps and of the first
// divergent one; below them the relative difference with its limits. Cursors of all charts move together.

function chartColours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return {text: of("--text"), grid: of("--line"), baseline: of("--baseline"), migrated: of("--migrated"),
    band: of("--band"), fail: of("--fail"), warn: of("--warn")};
}

// Room for half of the last step's number on the right.
const chartPadding = [null, 32, null, null];

function axisOf(colours, size) {
  return {stroke: colours.text, grid: {stroke: colours.grid, width: 1}, ticks: {stroke: colours.grid, width: 1}, size};
}

// The baseline's values with the limit around them; nothing without a limit.
function bandOf(curve) {
  if (!(curve.limit > 0) || curve.baseline.every((value) => value === null)) return null;
  const around = (sign) => curve.baseline.map((value) =>
    value === null ? null : value + sign * curve.limit * Math.abs(value));
  return {low: around(-1), high: around(1)};
}

// A logarithmic scale where values of one sign span more than three powers of ten.
function isLogarithmic(curve) {
  let low = Infinity, high = 0;
  for (const values of [curve.baseline, curve.migrated]) {
    for (const value of values) {
      if (value === null) continue;
      if (value <= 0) return false;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  return high / low > 1000;
}

// Where a side printed nothing for longer than it does around it, or no number: [from, to] of the values on both sides of
// each hole. The other side's positions are no holes of this one. Of a curve that was thinned out, holes below a hundredth of
// its width cannot be told from what was left out.
function holesOf(at, values, broken, thinned) {
  const ends = at.filter((position, index) => values[index] !== null);
  const apart = ends.slice(1).map((position, index) => position - ends[index]);
  const usual = apart.slice().sort((a, b) => a - b)[Math.floor(apart.length / 2)];
  const least = Math.max(3 * usual, thinned ? (12 * (at[at.length - 1] - at[0])) / at.length : 0);
  return apart.map((length, index) => [ends[index], ends[index + 1], length, index]).filter(([from, to, length, index]) => {
    if (broken.some((position) => position > from && position < to)) return true;
    // Against its neighbours, two on each side: a log that tells every step at first and every hundredth later has no holes,
    // and a value alone between two holes has both.
    const around = [-2, -1, 1, 2].map((by) => apart[index + by]).filter((one) => one !== undefined).sort((a, b) => a - b);
    return around.length > 0 && length > least && length > 3 * around[Math.floor(around.length / 2)];
  }).map(([from, to]) => [from, to]);
}

// How a line with holes is drawn: none over a hole, and a value between two of them as a point.
function withHoles(look, at, values, holes) {
  const begins = new Set(holes.map(([from]) => from)), ends = new Set(holes.map(([, to]) => to));
  const known = at.map((position, index) => index).filter((index) => values[index] !== null);
  const first = known[0], last = known[known.length - 1];
  const alone = known.filter((index) => (begins.has(at[index]) || index === last) && (ends.has(at[index]) || index === first));
  return Object.assign({}, look, {
    gaps: (plot) => holes.map(([from, to]) => [plot.valToPos(from, "x", true), plot.valToPos(to, "x", true)]),
    points: Object.assign({filter: (plot, series, show) => show ? null : alone}, look.points),
  });
}

// Vertical marks: the first divergent step as a line, skipped steps and values that are no numbers at the edges.
function drawMarks(plot, curve, colours) {
  const {ctx, bbox} = plot;
  const ratio = devicePixelRatio || 1;
  const ticks = (positions, colour, top) => {
    ctx.fillStyle = colour;
    for (const at of positions) {
      const x = plot.valToPos(at, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.fillRect(x - ratio, top ? bbox.top : bbox.top + bbox.height - 8 * ratio, 2 * ratio, 8 * ratio);
    }
  };
  ctx.save();
  ticks(curve.baseline_overflows, colours.baseline, true);
  ticks(curve.migrated_overflows, colours.migrated, false);
  ticks(curve.baseline_nonfinite.concat(curve.migrated_nonfinite), colours.fail, true);
  if (curve.first_divergent !== null) {
    const x = plot.valToPos(curve.first_divergent, "x", true);
    ctx.strokeStyle = colours.fail;
    ctx.lineWidth = 2 * ratio;
    ctx.setLineDash([6 * ratio, 4 * ratio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}

function isThinned(curve) {
  return curve.points_total > curve.at.length;
}

function valueChart(curve, width, colours, sync) {
  const band = bandOf(curve);
  const line = (colour, dash) => ({stroke: colour, width: 2, dash, points: {show: curve.at.length < 60},
    value: (plot, value) => short(value)});
  const edge = {stroke: "transparent", points: {show: false}, value: (plot, value) => short(value)};
  const holes = (side) => holesOf(curve.at, curve[side], curve[side + "_nonfinite"], isThinned(curve));
  // Without it the library's legend shows "--" where no step is pointed at.
  const series = [{label: t("axis_" + curve.axis), value: (plot, value) => short(value)}];
  const data = [curve.at];
  const put = (label, look, values, side) => {
    series.push(Object.assign({label}, withHoles(look, curve.at, values, holes(side))));
    // Of what is undefined, the other side has a value: no hole of the line.
    data.push(values.map((value) => value === null ? undefined : value));
  };
  // A side without a value has no line, and no word in the legend either.
  const has = (values) => values.some((value) => value !== null);
  if (has(curve.baseline)) put(t("baseline"), line(colours.baseline), curve.baseline, "baseline");
  if (has(curve.migrated)) put(t("migrated"), line(colours.migrated, [6, 3]), curve.migrated, "migrated");
  const told = series.length;
  if (band) {
    put(t("limit_low"), edge, band.low, "baseline");
    put(t("limit_high"), edge, band.high, "baseline");
  }
  return {data, told, options: {width, height: 260, series, padding: chartPadding,
    bands: band ? [{series: [told + 1, told], fill: colours.band}] : [],
    cursor: {sync: {key: sync}}, scales: {x: {time: false}, y: {distr: isLogarithmic(curve) ? 3 : 1}},
    // The library's own words for small numbers (a learning rate) are all "0".
    axes: [axisOf(colours, 40), Object.assign(axisOf(colours, 70),
      {values: (plot, values) => values.map((value) => value === null ? "" : short(value))})],
    hooks: {draw: [(plot) => drawMarks(plot, curve, colours)]}}};
}

function differenceChart(curve, width, colours, sync) {
  const flat = (value) => curve.difference_at.map(() => value);
  const limited = curve.limit > 0;
  const line = (stroke, dash) => ({stroke, dash, width: 1, points: {show: false},
    value: (plot, value) => value === null ? "–" : percent(value)});
  const holes = holesOf(curve.difference_at, curve.difference, curve.baseline_nonfinite.concat(curve.migrated_nonfinite),
    isThinned(curve));
  const told = Object.assign({label: t("difference")}, line(colours.text), {width: 2, points: {show: curve.at.length < 60}});
  const series = [{label: t("axis_" + curve.axis), value: (plot, value) => short(value)},
    withHoles(told, curve.difference_at, curve.difference, holes)];
  const data = [curve.difference_at, curve.difference];
  if (limited) {
    series.push(Object.assign({label: "+" + t("limit")}, line(colours.warn, [4, 4])),
      Object.assign({label: "−" + t("limit")}, line(colours.warn, [4, 4])));
    data.push(flat(curve.limit), flat(-curve.limit));
  }
  const percents = (plot, values) => values.map((value) => short(value * 100) + " %");
  return {data, told: 2, options: {width, height: 150, series, padding: chartPadding, cursor: {sync: {key: sync}},
    scales: {x: {time: false}}, axes: [axisOf(colours, 40), Object.assign(axisOf(colours, 70), {values: percents})]}};
}

function curveTitle(curve) {
  return t("metric_" + curve.metric) + colon() + curve.baseline_run + " → " + curve.migrated_run +
    (curve.engine ? ", " + curve.engine : "");
}

// The same in words: for those who do not see the picture, and for paper.
function curveWords(curve) {
  const words = [];
  const lasts = curve.difference.length ? curve.difference[curve.difference.length - 1] : null;
  if (lasts !== null) words.push(t("difference_at_end", {value: percent(lasts)}));
  if (curve.limit > 0) words.push(t("limit_is", {value: short(curve.limit * 100) + " %"}));
  if (curve.first_divergent !== null) words.push(t("diverges_at", {step: short(curve.first_divergent)}));
  for (const side of ["baseline", "migrated"]) {
    const skipped = curve[side + "_overflows"].length, broken = curve[side + "_nonfinite"].length;
    if (skipped > 0) words.push(t("skipped_steps", {side: t(side), count: count(skipped)}));
    if (broken > 0) words.push(t("broken_values", {side: t(side), count: count(broken)}));
  }
  if (isThinned(curve)) {
    words.push(t("down_sampled", {shown: count(curve.at.length), total: count(curve.points_total)}));
  }
  return words.join(" · ");
}

// A4 within its margins and those of a cause, in pixels of CSS: a picture that is drawn for the screen would be cut there.
const paperWidth = 630;

function isPaper() {
  return document.documentElement.dataset.paper !== undefined;
}

// Charts are made when they come into sight: a page full of them opens at once. `element.make` makes it now, or anew where
// it was made in other colours, or for the other of screen and paper.
function whenSeen(element, make) {
  const seen = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && element.make(),
    {rootMargin: "400px"});
  let madeIn = "";
  element.make = () => {
    seen.disconnect();
    const colours = chartColours();
    const wanted = JSON.stringify(colours) + isPaper();
    if (madeIn === wanted) return;
    madeIn = wanted;
    make(colours);
  };
  seen.observe(element);
}

// The edges of the tolerance are lines of the chart and no entries of its legend: its words say the limit.
function plotOf(chart, room) {
  const plot = new uPlot(chart.options, chart.data, room);
  plot.root.querySelectorAll(".u-legend .u-series").forEach((row, index) => {
    row.hidden = index >= chart.told;
  });
  return plot;
}

function curveFigure(curve) {
  const room = el("div", {class: "chart", role: "img", "aria-label": curveTitle(curve) + ". " + curveWords(curve)});
  let plots = [];
  const make = (colours) => {
    plots.forEach((plot) => plot.destroy());
    const width = isPaper() ? paperWidth : Math.max(320, room.clientWidth || 900);
    const sync = curve.baseline_run + "/" + curve.migrated_run + "/" + curve.axis;
    const charts = [valueChart(curve, width, colours, sync)];
    if (curve.difference_at.length > 0) charts.push(differenceChart(curve, width, colours, sync));
    add(clear(room), charts.map(() => el("div", {class: "plot"})));
    room.style.minHeight = "0";  // what was kept free until now
    plots = charts.map((chart, index) => plotOf(chart, room.children[index]));
  };
  new ResizeObserver(() => !isPaper() && plots.forEach((plot) => room.clientWidth > 0 && plot.width !== room.clientWidth &&
    plot.setSize({width: room.clientWidth, height: plot.height}))).observe(room);
  whenSeen(room, make);
  return el("figure", {class: "curve", "data-metric": curve.metric}, room,
    el("figcaption", {}, el("strong", {}, curveTitle(curve)), " ", curveWords(curve)));
}
