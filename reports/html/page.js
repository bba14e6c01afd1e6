"use strict";
// Draws the plots that reports/plots.cc computed, sorts tables, gives back the embedded files. Computes nothing.

const dark = matchMedia("(prefers-color-scheme: dark)");
let printing = false;

// Okabe and Ito's colours, which colour-blind readers tell apart; a series differs in its marks and dashes too.
const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#a8508a", "#946c00", "#2a7fae", "#5f5f5f"];
const DARK = ["#56b4e9", "#ff9248", "#2fd0a0", "#e79ac6", "#f0c030", "#9fd4f5", "#b8b8b8"];
const MARKS = ["circle", "rect", "triangle", "rectRot", "crossRot", "star", "rectRounded"];
const DASHES = [[], [6, 3], [2, 3], [10, 3, 2, 3]];

function theme() {
  const style = getComputedStyle(document.documentElement);
  return {
    text: style.getPropertyValue("--text").trim(),
    quiet: style.getPropertyValue("--quiet").trim(),
    line: style.getPropertyValue("--line").trim(),
    page: style.getPropertyValue("--page").trim(),
    colors: dark.matches && !printing ? DARK : LIGHT,
  };
}

const pick = (list, i) => list[i % list.length];
const round = (x) => Number(x.toPrecision(4)).toString();

// Long names on several lines, for the labels of an axis.
function lines(name, width) {
  const out = [""];
  for (const word of name.split(/(?<=[ /:_-])/)) {
    if (out[out.length - 1] && out[out.length - 1].length + word.length > width) out.push("");
    out[out.length - 1] += word;
  }
  return out;
}

// The labels of a plot's rows.
function rowLabels(plot, narrow) {
  return plot.rows.map((r) => (plot.kind === "forest" ? lines(r.name, narrow ? 16 : 40) : lines(r, narrow ? 14 : 30)));
}

// Pixels of a row: so many that a label does not reach into the next one's, whose height is the font's 12 times 1.2 a line (Chart.js's default).
function rowHeight(labels, least) {
  return Math.max(least, ...labels.slice(1).map((label, i) => Math.ceil(((label.length + labels[i].length) / 2) * 14.4) + 4));
}

function axis(t, title, more = {}) {
  return { title: { display: true, text: title, color: t.text }, ticks: { color: t.text, ...more.ticks }, grid: { color: t.line, borderColor: t.quiet, ...more.grid }, ...more.scale };
}

function base(t) {
  return {
    animation: false,
    responsive: true,
    maintainAspectRatio: false,
    plugins: {
      legend: { labels: { color: t.text, usePointStyle: true, boxWidth: 30, font: { size: 11 } }, maxHeight: 120 },
      tooltip: { enabled: true },
    },
  };
}

function curve(plot, t) {
  const datasets = plot.series.map((s, i) => ({
    label: s.name,
    data: s.points.map(([x, y]) => ({ x, y })),
    showLine: true,
    stepped: plot.stepped ? "before" : false,  // Chart.js's "before" keeps a point's y up to the next point: a bin's share stands over that bin
    borderColor: pick(t.colors, i),
    backgroundColor: pick(t.colors, i),
    borderWidth: 1.75,
    borderDash: pick(DASHES, Math.floor(i / t.colors.length) + (plot.stepped ? i : 0)),
    pointStyle: plot.stepped ? "line" : pick(MARKS, i),
    pointRadius: plot.stepped ? 0 : 4,
    pointHitRadius: 6,
  }));
  const xs = plot.series.flatMap((s) => s.points.map((p) => p[0]));
  const ends = [Math.min(...xs), Math.max(...xs)];
  for (const l of plot.lines)
    datasets.push({ label: `${l.name} ${l.y}`, data: [{ x: Math.min(plot.log ? ends[0] : 0, ends[0]), y: l.y }, { x: ends[1], y: l.y }], showLine: true, borderColor: t.text, backgroundColor: t.text, borderWidth: 1.25, borderDash: [3, 4], pointRadius: 0, pointStyle: "line" });
  const options = base(t);
  options.scales = {
    x: axis(t, plot.x, { scale: plot.log ? { type: "logarithmic", min: ends[0], max: ends[1] } : { type: "linear", beginAtZero: true }, ticks: { callback: round, maxRotation: 0, autoSkipPadding: 12 } }),
    y: axis(t, plot.y, { scale: { beginAtZero: true }, ticks: { callback: round } }),
  };
  options.plugins.tooltip.callbacks = { label: (c) => `${c.dataset.label}: ${round(c.parsed.y)} at ${round(c.parsed.x)}` };
  return { type: "scatter", data: { datasets }, options };
}

function stack(plot, t, narrow, labels) {
  const datasets = plot.series.map((s, i) => ({
    label: s.name,
    data: s.values,
    backgroundColor: pick(t.colors, i),
    borderColor: t.page,
    borderWidth: 1,
    pointStyle: "rect",
  }));
  const ends = plot.rows.map((_, r) => plot.series.reduce(([low, high], s) => [low + Math.min(0, s.values[r]), high + Math.max(0, s.values[r])], [0, 0]));
  const options = base(t);
  options.indexAxis = "y";
  options.scales = {
    x: axis(t, plot.x, { scale: { stacked: true, min: Math.min(...ends.map((e) => e[0])), max: Math.max(...ends.map((e) => e[1])) }, ticks: { callback: round, includeBounds: false } }),
    y: axis(t, "", { scale: { stacked: true, title: { display: false } }, ticks: { autoSkip: false, callback: (v) => labels[v] }, grid: { display: false } }),
  };
  options.plugins.tooltip.callbacks = { label: (c) => `${c.dataset.label}: ${round(c.parsed.x)}` };
  return { type: "bar", data: { labels: plot.rows, datasets }, options, plugins: [segmentNames(plot, t)] };
}

// Writes a segment's name into it where it fits, so that colour is not the only carrier.
function segmentNames(plot, t) {
  return {
    id: "segmentNames",
    afterDatasetsDraw(chart) {
      const c = chart.ctx;
      c.save();
      c.font = `10px ${Chart.defaults.font.family}`;
      c.textAlign = "center";
      c.textBaseline = "middle";
      c.fillStyle = dark.matches && !printing ? "#000" : "#fff";
      plot.series.forEach((s, d) => {
        chart.getDatasetMeta(d).data.forEach((bar) => {
          const { x, base: from, y, height } = bar.getProps(["x", "base", "y", "height"], true);
          if (Number.isFinite(x) && Math.abs(x - from) > c.measureText(s.name).width + 6 && height > 11) c.fillText(s.name, (x + from) / 2, y);
        });
      });
      c.restore();
    },
  };
}

function forest(plot, t, narrow, labels) {
  const rows = plot.rows, gap = { x: NaN, y: NaN };
  const findings = [["faster", "triangle", 0], ["slower", "rect", 1], ["no difference shown at this precision", "circle", 6]];
  const datasets = findings.flatMap(([finding, mark, color]) => {
    const own = rows.map((r, i) => [r, i]).filter(([r]) => r.finding === finding);
    if (!own.length) return [];
    const common = { borderColor: pick(t.colors, color), backgroundColor: pick(t.colors, color) };
    return [
      { ...common, label: finding, data: own.map(([r, y]) => ({ x: r.estimate, y })), pointStyle: mark, pointRadius: 6 },
      { ...common, label: "95 % interval", data: own.flatMap(([r, y]) => [{ x: r.low, y }, { x: r.high, y }, gap]), showLine: true, borderWidth: 3, pointStyle: "line", rotation: 90, pointRadius: 6, pointBorderWidth: 2 },
    ];
  });
  datasets.push({ label: "zero", data: [{ x: 0, y: -0.5 }, { x: 0, y: rows.length - 0.5 }], showLine: true, borderColor: t.text, backgroundColor: t.text, borderWidth: 1.5, borderDash: [5, 4], pointRadius: 0 });
  const options = base(t);
  options.scales = {
    x: axis(t, narrow ? "change of the step's time [%]" : plot.x, { ticks: { callback: round } }),
    y: { ...axis(t, "", { ticks: { stepSize: 1, autoSkip: false, callback: (v) => labels[v] || "" } }), type: "linear", reverse: true, min: -0.5, max: rows.length - 0.5, title: { display: false }, afterBuildTicks: (scale) => { scale.ticks = rows.map((_, value) => ({ value })); } },
  };
  options.plugins.legend.labels.filter = (item) => item.text !== "95 % interval" && item.text !== "zero";
  options.plugins.tooltip.callbacks = {
    title: (items) => (rows[items[0].parsed.y] ? rows[items[0].parsed.y].name : ""),
    label: (c) => { const r = rows[c.parsed.y]; return r ? `${round(r.estimate)} % (${round(r.low)} to ${round(r.high)}): ${r.finding}` : ""; },
  };
  return { type: "scatter", data: { datasets }, options };
}

const KINDS = { curve, stack, forest };
let charts = [];

function draw() {
  const plots = JSON.parse(document.getElementById("plots").textContent), t = theme();
  for (const c of charts) c.destroy();
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  charts = [...document.querySelectorAll("canvas[data-plot]")].map((canvas) => {
    const plot = plots[Number(canvas.dataset.plot)], narrow = canvas.parentNode.clientWidth < 480;
    const labels = plot.rows ? rowLabels(plot, narrow) : [];
    canvas.parentNode.style.height = labels.length ? `${110 + labels.length * rowHeight(labels, plot.kind === "forest" ? 34 : 38)}px` : "320px";
    return new Chart(canvas, KINDS[plot.kind](plot, t, narrow, labels));
  });
}

// A click on the header sorts by that column: by the numbers behind the cells where there are any, missing ones last in both directions.
function sortBy(table, column, button) {
  const th = button.parentNode, down = th.getAttribute("aria-sort") === "ascending";
  for (const other of table.querySelectorAll("thead th")) other.removeAttribute("aria-sort");
  th.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = (row) => {
    const cell = row.cells[column];
    return { v: cell.dataset.v === undefined ? NaN : Number(cell.dataset.v), s: cell.textContent };
  };
  const rows = [...table.tBodies[0].rows].map((row) => ({ row, ...key(row) }));
  const numeric = rows.some((r) => !Number.isNaN(r.v)), sign = down ? -1 : 1;
  rows.sort((a, b) => {
    if (!numeric) return sign * a.s.localeCompare(b.s, undefined, { numeric: true });
    if (Number.isNaN(a.v) || Number.isNaN(b.v)) return Number.isNaN(a.v) - Number.isNaN(b.v);
    return sign * (a.v - b.v);
  });
  table.tBodies[0].append(...rows.map((r) => r.row));
}

function makeSortable(table) {
  if (table.tHead.classList.contains("hidden") || table.tBodies[0].rows.length < 2) return;
  [...table.tHead.rows[0].cells].forEach((th, column) => {
    if (th.querySelector(".hidden")) return;  // a column without a name
    const button = document.createElement("button");
    button.type = "button";
    button.append(...th.childNodes);
    button.title = "Sort by this column";
    button.addEventListener("click", () => sortBy(table, column, button));
    th.append(button);
  });
}

// As reports/packed_text.cc: json_number().
function jsonNumber(x) {
  if (x === 0) return Object.is(x, -0) ? "-0.0" : "0.0";
  const [mantissa, e] = Math.abs(x).toExponential().split("e"), sign = x < 0 ? "-" : "";
  const digits = mantissa.replace(".", ""), exponent = Number(e), n = digits.length, point = exponent + 1;
  if (n <= point && point <= 15) return `${sign}${digits}${"0".repeat(point - n)}.0`;
  if (0 < point && point <= 15) return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
  if (-4 < point && point <= 0) return `${sign}0.${"0".repeat(-point)}${digits}`;
  return `${sign}${digits[0]}${n > 1 ? "." + digits.slice(1) : ""}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

// As reports/packed_text.h says.
async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const all = new Uint8Array(await new Response(stream).arrayBuffer());
  const length = new DataView(all.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(all.subarray(4, 4 + length))), own = new Map(header.own);
  let at = 4 + length, index = 0, list = 0;
  return header.text.replace(/\u0001/g, () => {
    const n = header.lists[list++], numbers = [], value = new DataView(new ArrayBuffer(8));
    for (let i = 0; i < n; ++i, ++index) {
      for (let b = 0; b < 8; ++b) value.setUint8(b, all[at + b * n + i]);
      numbers.push(own.has(index) ? own.get(index) : jsonNumber(value.getFloat64(0, true)));
    }
    at += 8 * n;
    return `[${numbers.join(", ")}]`;
  });
}

async function sha256(text) {
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return [...hash].map((b) => b.toString(16).padStart(2, "0")).join("");
}

// Returns whether what was unpacked is the file; true too where the browser cannot tell.
async function prepare(details) {
  const state = details.querySelector(".state"), button = details.querySelector("button"), pre = details.querySelector("pre");
  const read = () => unpack(details.querySelector("script").textContent);
  let good = true;
  if (typeof DecompressionStream === "undefined") {
    state.textContent = "This browser is too old to unpack it (it has no DecompressionStream).";
    return good;
  }
  if (globalThis.crypto && crypto.subtle) {
    good = (await sha256(await read())) === details.dataset.sha256;
    state.textContent = good ? "Unpacked: equal to the file, by its SHA-256." : "What was unpacked is not the file: the page is damaged.";
  } else {
    state.textContent = "Not checked: this browser gives no SHA-256 to this page.";
  }
  button.disabled = false;
  button.addEventListener("click", async () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([await read()], { type: "application/json" }));
    link.download = details.dataset.name.split("/").pop();
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  });
  details.addEventListener("toggle", async () => { pre.textContent = details.open ? await read() : ""; });
  return good;
}

async function start() {
  for (const table of document.querySelectorAll("table")) makeSortable(table);
  draw();
  dark.addEventListener("change", draw);
  addEventListener("beforeprint", () => { printing = true; draw(); });
  addEventListener("afterprint", () => { printing = false; draw(); });
  let intact = 0;
  const files = [...document.querySelectorAll("details.raw")];
  for (const details of files) intact += await prepare(details);
  document.documentElement.dataset.ready = `${charts.length} plots, ${intact} of ${files.length} files intact`;
}

start();
