// The pictures of the last hour, drawn from GET /v1/history. Each sample is a step as wide as its interval. A line at
// the bottom shows for which time there are samples: where there are none, nothing is known, which is not the same as zero.

import { $, clockText, list, now, put, slot } from "/page.js";

const HOUR = 3600;          // seconds; also the width of the drawing, whose height is 100
const LEAST = { rate: 0.1, count: 4 };  // the lowest upper ends of the axes

/// What each picture shows. `of` gives the value of a sample; a rate is divided by the length of the sample's interval.
const CHARTS = [
  { id: "requests", title: "Requests", unit: "per second", rate: true, series: [{ style: "area", of: one => one.requests }] },
  { id: "errors", title: "Errors", unit: "per second", rate: true, series: [
    { name: "4xx", style: "dashed", of: one => one.client_errors }, { name: "5xx", style: "solid", of: one => one.server_errors }] },
  { id: "refreshes", title: "Refreshes", unit: "in 15 s", isStacked: true, series: [
    { name: "done", style: "bars", of: one => one.refreshes }, { name: "failed", style: "pins", of: one => one.refresh_failures }] },
  { id: "waiters", title: "Waiting requests", unit: "peak", isGauge: true, series: [{ style: "area", of: one => one.waiters }] },
];

let spans = [];             // the samples with the seconds in which they began and ended, counted from an hour ago
let chosen = null;          // the index of the sample that is read; null for the last one
let drawn = null;           // the data of the pictures

/// Draws the data unless that was done.
export function drawHistory(data) {
  if (data === drawn) return;
  const isReading = chosen === null ? null : spans[chosen]?.sample.at;
  drawn = data;
  spans = spansOf(data);
  chosen = isReading ? spans.findIndex(span => span.sample.at === isReading) : null;
  if (chosen === -1) chosen = null;
  list($("charts"), CHARTS, "chart", chart => chart.id, drawChart);
  $("history-cursor").max = Math.max(0, spans.length - 1);
  $("history-none").hidden = spans.length > 0;
  read();
}

function spansOf({ samples, interval_seconds: usual }) {
  const begin = now() / 1000 - HOUR;
  let last = null;
  return samples.map(sample => {
    const end = Date.parse(sample.at) / 1000 - begin;
    // The first sample's interval, and one after a clock was set, are taken to be as long as usual.
    const length = last !== null && end > last ? end - last : usual;
    last = end;
    return { sample, begin: end - length, end: Math.min(end, HOUR), length, usual };
  }).filter(span => span.end > 0);
}

const valueOf = (chart, series, span) => series.of(span.sample) / (chart.rate ? span.length : 1);

/// The next number with one digit and zeros, or 15 with zeros.
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find(one => one * power >= value * 0.999);
}

/// A number with two or three digits.
function amountText(value) {
  if (value >= 9950) return `${Math.round(value / 1000)}k`;
  if (value >= 1000) return `${(value / 1000).toFixed(1)}k`;
  if (Number.isInteger(value) || value >= 99.5) return String(Math.round(value));
  return String(Number(value.toFixed(value >= 9.95 ? 0 : value >= 0.995 ? 1 : 2)));
}

function drawChart(figure, chart) {
  const highest = Math.max(0, ...spans.map(span => {
    const values = chart.series.map(series => valueOf(chart, series, span));
    return chart.isStacked ? values.reduce((sum, one) => sum + one) : Math.max(...values);
  }));
  const top = roundUp(Math.max(highest, chart.rate ? LEAST.rate : LEAST.count));
  const y = value => (100 - value / top * 100).toFixed(2);
  put(slot(figure, "title"), chart.title);
  put(slot(figure, "unit"), chart.unit);
  put(slot(figure, "top"), amountText(top));
  const svg = figure.querySelector("svg");
  svg.setAttribute("aria-label", summaryOf(chart));
  const known = spans.map(span => ({ x0: Math.max(0, span.begin), x1: span.end }));
  pathOf(svg, "base").setAttribute("d", runsOf(known).map(run => `M${x(run[0].x0)} 100H${x(run.at(-1).x1)}`).join(""));
  chart.series.forEach((series, index) => {
    const below = chart.isStacked && index ? span => valueOf(chart, chart.series[0], span) : () => 0;
    const points = spans.map(span => ({
      // A gauge says nothing of the time in which nobody looked.
      x0: Math.max(0, chart.isGauge ? Math.max(span.begin, span.end - span.usual) : span.begin), x1: span.end,
      low: below(span), value: valueOf(chart, series, span),
    }));
    const draw = { area: drawArea, dashed: drawSteps, solid: drawSteps, bars: drawBars, pins: drawPins }[series.style];
    for (const [name, path] of Object.entries(draw(points.filter(point => point.value > 0), y))) {
      pathOf(svg, `${name} ${series.style}`).setAttribute("d", path);
    }
  });
  svg.append(pathOf(svg, "cursor"));
  svg.onpointermove = svg.onpointerdown = event => {
    const box = svg.getBoundingClientRect();
    const second = (event.clientX - box.left) / box.width * HOUR;
    const index = spans.findIndex(span => span.begin <= second && second <= span.end);
    choose(index < 0 ? null : index);
  };
  svg.onpointerleave = () => choose(null);
}

/// The path of a class in the drawing, which is created where there is none.
function pathOf(svg, name) {
  const old = [...svg.children].find(child => child.getAttribute("class") === name);
  if (old) return old;
  const path = document.createElementNS(svg.namespaceURI, "path");
  path.setAttribute("class", name);
  return svg.appendChild(path);
}

/// Runs of samples without a gap between them.
function runsOf(points) {
  const runs = [];
  for (const point of points) {
    if (runs.length && point.x0 - runs.at(-1).at(-1).x1 < 1) runs.at(-1).push(point); else runs.push([point]);
  }
  return runs;
}

const x = second => second.toFixed(1);
const middle = ({ x0, x1 }) => x((x0 + x1) / 2);

// Each way to draw gets the points above zero, and returns paths by their class.

const drawSteps = (points, y) => ({
  line: runsOf(points).map(run => `M${x(run[0].x0)} 100${run.map(({ x1, value }) => `V${y(value)}H${x(x1)}`).join("")}V100`).join(""),
});

const drawArea = (points, y) => ({ fill: drawSteps(points, y).line, ...drawSteps(points, y) });

const drawBars = (points, y) => ({ line: points.map(point => `M${middle(point)} ${y(point.low)}V${y(point.low + point.value)}`).join("") });

/// Bars with a head, which differ from the other ones in more than colour.
const drawPins = (points, y) => ({ ...drawBars(points, y), heads: points.map(point => `M${middle(point)} ${y(point.low + point.value)}h0`).join("") });

/// The figures of a picture in words.
function summaryOf(chart) {
  if (!spans.length) return `${chart.title} ${chart.unit} in the last hour: no samples yet`;
  const parts = chart.series.map(series => {
    const values = spans.map(span => valueOf(chart, series, span));
    const most = values.reduce((best, value, index) => value > values[best] ? index : best, 0);
    return `${series.name ? `${series.name} ` : ""}${amountText(values.at(-1))} now`
      + (values[most] ? `, at most ${amountText(values[most])} at ${clockText(spans[most].sample.at)}` : ", and never more");
  });
  return `${chart.title} ${chart.unit} in the last ${Math.min(60, Math.ceil((HOUR - spans[0].begin) / 60))} minutes: ${parts.join("; ")}`;
}

// MARK: Reading one sample, in all pictures at once

function choose(index) {
  if (index === chosen) return;
  chosen = index;
  read();
}

/// Shows the values of the chosen sample, or those of the last one.
function read() {
  const span = spans[chosen ?? spans.length - 1];
  const words = [];
  list($("charts"), CHARTS, "chart", chart => chart.id, (figure, chart) => {
    list(slot(figure, "legend"), chart.series, "series", series => series.style, (item, series) => {
      const value = span ? amountText(valueOf(chart, series, span)) : "–";
      item.firstElementChild.className = chart.series.length > 1 ? `swatch ${series.style}` : "";
      put(slot(item, "name"), series.name ?? "");
      put(slot(item, "value"), value);
      words.push(`${[chart.title, series.name].filter(Boolean).join(" ")} ${value}`);
    });
    put(slot(figure, "when"), chosen === null ? "" : clockText(span.sample.at));
    const at = chosen === null ? "" : `M${middle({ x0: Math.max(0, span.begin), x1: span.end })} 0V100`;
    pathOf(figure.querySelector("svg"), "cursor").setAttribute("d", at);
  });
  const cursor = $("history-cursor");
  cursor.value = chosen ?? spans.length - 1;
  cursor.setAttribute("aria-valuetext", span ? `${clockText(span.sample.at)}: ${words.join(", ")}` : "no samples yet");
}

$("history-cursor").addEventListener("input", event => choose(Number(event.target.value)));
$("history-cursor").addEventListener("focus", () => choose(spans.length ? spans.length - 1 : null));
$("history-cursor").addEventListener("blur", () => choose(null));
