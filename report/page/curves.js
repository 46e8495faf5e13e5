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

function valueChart(curve, width, colours, sync) {
  const band = bandOf(curve);
  const line = (colour, dash) => ({stroke: colour, width: 2, dash, spanGaps: true,
    points: {show: curve.at.length < 60}, value: (plot, value) => short(value)});
  const edge = {stroke: "transparent", points: {show: false}, spanGaps: true, value: (plot, value) => short(value)};
  const series = [{label: t("axis_" + curve.axis)}];
  const data = [curve.at];
  const put = (label, look, values) => {
    series.push(Object.assign({label}, look));
    data.push(values);
  };
  // A side without a value has no line, and no word in the legend either.
  const has = (values) => values.some((value) => value !== null);
  if (has(curve.baseline)) put(t("baseline"), line(colours.baseline), curve.baseline);
  if (has(curve.migrated)) put(t("migrated"), line(colours.migrated, [6, 3]), curve.migrated);
  const told = series.length;
  if (band) {
    put(t("limit_low"), edge, band.low);
    put(t("limit_high"), edge, band.high);
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
  const series = [{label: t("axis_" + curve.axis)},
    Object.assign({label: t("difference")}, line(colours.text), {width: 2, points: {show: curve.at.length < 60}})];
  const data = [curve.difference_at, curve.difference];
  if (limited) {
    series.push(Object.assign({label: "+" + t("limit")}, line(colours.warn, [4, 4])),
      Object.assign({label: "−" + t("limit")}, line(colours.warn, [4, 4])));
    data.push(flat(curve.limit), flat(-curve.limit));
  }
  const percents = (plot, values) => values.map((value) => short(value * 100) + " %");
  return {data, told: 2, options: {width, height: 150, series, padding: chartPadding, cursor: {sync: {key: sync}}, scales: {x: {time: false}},
    axes: [axisOf(colours, 40), Object.assign(axisOf(colours, 70), {values: percents})]}};
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
  if (curve.points_total > curve.at.length) {
    words.push(t("down_sampled", {shown: count(curve.at.length), total: count(curve.points_total)}));
  }
  return words.join(" · ");
}

// Charts are made when they come into sight: a page full of them opens at once. `element.make` makes it now, or anew where
// it was made in other colours.
function whenSeen(element, make) {
  const seen = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && element.make(),
    {rootMargin: "400px"});
  let madeIn = "";
  element.make = () => {
    seen.disconnect();
    const colours = chartColours();
    if (madeIn === JSON.stringify(colours)) return;
    madeIn = JSON.stringify(colours);
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
    const width = Math.max(320, room.clientWidth || 900);
    const sync = curve.baseline_run + "/" + curve.migrated_run + "/" + curve.axis;
    const charts = [valueChart(curve, width, colours, sync)];
    if (curve.difference_at.length > 0) charts.push(differenceChart(curve, width, colours, sync));
    add(clear(room), charts.map(() => el("div", {class: "plot"})));
    plots = charts.map((chart, index) => plotOf(chart, room.children[index]));
  };
  new ResizeObserver(() => plots.forEach((plot) => room.clientWidth > 0 && plot.width !== room.clientWidth &&
    plot.setSize({width: room.clientWidth, height: plot.height}))).observe(room);
  whenSeen(room, make);
  return el("figure", {class: "curve", "data-metric": curve.metric}, room,
    el("figcaption", {}, el("strong", {}, curveTitle(curve)), " ", curveWords(curve)));
}
