"use strict";
// Draws the plots that reports/plots.cc computed as SVG, sorts and filters tables, gives back the embedded files. Computes nothing.

const COLORS = 7, FONT = 12, LINE = 15;  // colours of page.css; pixels of the letters and of a line
const color = (i) => `var(--c${i % COLORS})`;
const round = (x) => Number(x.toPrecision(4)).toString();
const signed = (x) => (x > 0 ? "+" : "") + round(x);
const pen = document.createElement("canvas").getContext("2d");
const BOLD = 600;
const textWidth = (text, weight = 400) => { pen.font = `${weight} ${FONT}px ${getComputedStyle(document.body).fontFamily}`; return pen.measureText(text).width; };
const widest = (texts) => Math.max(0, ...texts.map((t) => textWidth(t)));

// As reports/document.h: printable(); no XML has a control character.
const printable = (text) => text.replace(/[\u0000-\u001f\u007f-\u009f]/g, "?");

function add(parent, name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = printable(text);
  parent.append(element);
  return element;
}
const write = (svg, x, y, text, more = {}) => add(svg, "text", { x, y, fill: "var(--text)", "font-size": FONT, ...more }, text);
const line = (svg, x1, y1, x2, y2, more = {}) => add(svg, "line", { x1, y1, x2, y2, stroke: "var(--line)", ...more });
const HALO = { stroke: "var(--panel)", "stroke-width": 4, "paint-order": "stroke" };  // for letters that stand on a line
const note = (element, text) => add(element, "title", {}, text);

// A name on lines of at most so many pixels.
function wrap(name, width, weight) {
  const out = [""];
  for (const word of name.split(/(?<=[ /:_,-])/)) {
    if (out[out.length - 1] && textWidth(out[out.length - 1] + word, weight) > width) out.push("");
    out[out.length - 1] += word;
  }
  return out;
}

// Ticks at 1, 2 or 5 times a power of ten, about one for each `gap` pixels; `whole`: at whole numbers only.
function scaleOf([low, high], [from, to], { log = false, whole = false, gap = 70 } = {}) {
  const f = log ? Math.log : (v) => v, span = f(high) - f(low) || 1;
  const at = (v) => from + ((f(v) - f(low)) / span) * (to - from);
  const most = Math.max(2, Math.abs(to - from) / gap), rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough || 1));
  let ticks = [];
  if (log) {
    for (let p = Math.floor(Math.log10(low)); p <= Math.log10(high); ++p) for (const m of [1, 1.5, 2, 3, 5, 7]) ticks.push(m * 10 ** p);
    ticks = ticks.filter((v) => v >= low && v <= high).filter((v, i, all) => i === 0 || Math.abs(at(v) - at(all[0])) > 0);
    ticks = ticks.reduce((kept, v) => (kept.length && Math.abs(at(v) - at(kept[kept.length - 1])) < 40 ? kept : [...kept, v]), []);
  } else {
    const step = Math.max(whole ? 1 : 0, [1, 2, 5, 10].find((m) => m * power >= rough) * power);
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; ++k) ticks.push(k * step);
  }
  return Object.assign(at, { ticks, from, to });
}

// The axis of x above the rows or below a curve, with a line for each tick from y0 to y1.
function axisX(svg, x, title, textY, titleY, y0, y1, format = round) {
  for (const v of x.ticks) {
    line(svg, x(v), y0, x(v), y1);
    write(svg, x(v), textY, format(v), { "text-anchor": "middle", fill: "var(--quiet)" });
  }
  write(svg, (x.from + x.to) / 2, titleY, title, { "text-anchor": "middle", fill: "var(--quiet)" });
}

const MARKS = [
  (svg, x, y, more) => add(svg, "circle", { cx: x, cy: y, r: 4.5, ...more }),
  (svg, x, y, more) => add(svg, "rect", { x: x - 4, y: y - 4, width: 8, height: 8, ...more }),
  (svg, x, y, more) => add(svg, "path", { d: `M${x} ${y - 5.5}l5 9h-10z`, ...more }),
  (svg, x, y, more) => add(svg, "path", { d: `M${x} ${y - 6}l6 6l-6 6l-6 -6z`, ...more }),
];
const mark = (svg, i, x, y, more = {}) => MARKS[i % MARKS.length](svg, x, y, { fill: color(i), stroke: color(i), "stroke-width": 1.5, ...more });

// Names with a sample each, over as many lines as they need; returns the y below them.
function legend(svg, width, entries) {
  let x = 4, y = LINE;
  for (const { name, sample } of entries) {
    const lines = wrap(name, width - 28), size = 24 + widest(lines);
    if (x > 4 && x + size > width) x = 4, y += LINE + 3;
    sample(x + 8, y - 4);
    lines.forEach((text, i) => write(svg, x + 20, y + i * LINE, text));
    x += size + 12, y += (lines.length - 1) * LINE;
  }
  return entries.length ? y + 8 : 0;
}

// Rows under an axis: a name on the left, texts in columns on the right. A narrow plot has both above the row's marks.
function drawRows(svg, width, plot, { names, columns = [], band, domain, log, format, top = 0, ends = 0, draw }) {
  const LEAST = 220, wide = columns.map((c) => Math.min(0.2 * width, Math.max(textWidth(c.title, BOLD), widest(c.texts))) + 16);
  const beside = Math.min(0.36 * width, widest(names)) + 16, narrow = beside + wide.reduce((a, b) => a + b, 14 + ends) + LEAST > width;
  const sizes = narrow ? [] : wide, left = narrow ? 12 : beside, right = width - sizes.reduce((a, b) => a + b, 14 + ends);
  const titles = sizes.map((size, k) => wrap(columns[k].title, size - 10, BOLD)), rise = LINE * Math.max(0, ...titles.map((t) => t.length - 2));
  const x = scaleOf(domain, [left, right], { log }), first = top + rise + 2 * LINE + 8, grid = add(svg, "g", {});
  let y = first;
  names.forEach((name, i) => {
    const texts = narrow ? [...wrap(name, width - 24), ...columns.filter((c) => c.texts[i]).flatMap((c) => wrap(`${c.title ? c.title + ": " : ""}${c.texts[i]}`, width - 24))] : wrap(name, left - 12);
    const notes = narrow ? [] : columns.map((c, k) => wrap(c.texts[i], sizes[k] - 10));
    const lines = Math.max(texts.length, ...notes.map((n) => n.length)), height = narrow ? lines * LINE + band + 4 : Math.max(band, lines * LINE + 2);
    const middle = narrow ? y + lines * LINE + band / 2 : y + height / 2, base = (n) => middle - ((n - 1) * LINE) / 2 + 4;
    texts.forEach((t, k) => write(svg, narrow ? 4 : left - 8, narrow ? y + (k + 1) * LINE - 3 : base(texts.length) + k * LINE, t, narrow ? { ...HALO, fill: k ? "var(--quiet)" : "var(--text)" } : { "text-anchor": "end" }));
    let at = right + 14 + ends;
    notes.forEach((n, k) => { n.forEach((t, l) => write(svg, at, base(n.length) + l * LINE, t, { fill: columns[k].fill(i) })); at += sizes[k]; });
    draw(i, x, middle);
    y += height;
  });
  let at = right + 14 + ends;
  sizes.forEach((size, k) => {
    titles[k].forEach((t, l) => write(svg, at, first - 6 - LINE * (titles[k].length - 1 - l), t, { "font-weight": BOLD, fill: columns[k].color || "var(--text)" }));
    at += size;
  });
  axisX(grid, x, plot.x, first - 6, first - 6 - LINE, first, y, format);
  return { height: y + 6, x, first, grid };
}

function forest(svg, width, plot) {
  const all = plot.rows.flatMap((r) => r.marks.filter(Boolean)), several = plot.machines.length > 1;
  const domain = [Math.min(0, ...all.map((m) => m.low)), Math.max(0, ...all.map((m) => m.high))];
  const top = several ? legend(svg, width, plot.machines.map((name, i) => ({ name, sample: (x, y) => mark(svg, i, x, y) }))) : 0;
  const columns = plot.machines.map((name, i) => ({
    title: name, color: color(i), texts: plot.rows.map((r) => (r.marks[i] ? `${r.marks[i].effect} ${r.marks[i].interval}${r.marks[i].warning ? " !" : ""}` : "")),
    fill: (row) => (plot.rows[row].marks[i] && plot.rows[row].marks[i].alike ? "var(--quiet)" : "var(--text)"),
  }));
  if (plot.rows.some((r) => r.note)) columns.push({ title: "", texts: plot.rows.map((r) => r.note), fill: () => "var(--quiet)" });
  const step = 8, band = Math.max(18, step * plot.machines.length + 2);
  const { height, x, first, grid } = drawRows(svg, width, plot, {
    names: plot.rows.map((r) => r.name), columns, band, domain, format: signed, top,
    draw: (row, x, middle) => plot.rows[row].marks.forEach((m, i) => {
      if (!m) return;
      const y = middle + (i - (plot.machines.length - 1) / 2) * step, g = add(svg, "g", { opacity: m.alike ? 0.65 : 1 });
      note(g, `${plot.rows[row].name}, ${plot.machines[i]}: ${m.effect} ${m.interval}${m.warning ? "; " + m.warning : ""}`);
      line(g, x(m.low), y, x(m.high), y, { stroke: color(i), "stroke-width": 2 });
      mark(g, i, x(m.estimate), y, m.alike ? { fill: "var(--panel)" } : {});
    }),
  });
  line(grid, x(0), first, x(0), height - 6, { stroke: "var(--text)", "stroke-width": 1.5 });
  if (x.to - x.from > 290) {  // room for the axis' own title between them
    write(grid, x.from, first - 6 - LINE, "\u2190 faster");
    write(grid, x.to, first - 6 - LINE, "slower \u2192", { "text-anchor": "end" });
  }
  return height;
}

function caterpillar(svg, width, plot) {
  const rows = plot.rows, step = 6, first = 2 * LINE + 8, height = first + rows.length * step + 6;
  const isKnown = plot.reference !== null, ends = [0, plot.reference || 0, ...rows.flatMap((r) => [r.low, r.high])];
  const x = scaleOf([Math.min(...ends), Math.max(...ends)], [14, width - 30]);
  axisX(svg, x, plot.x, first - 6, first - 6 - LINE, first, height, signed);
  rows.forEach((r, i) => {
    const y = first + (i + 0.5) * step, stroke = r.holds ? color(0) : color(1), g = add(svg, "g", {});
    note(g, `${signed(r.estimate)} % (${signed(r.low)} to ${signed(r.high)})`);
    line(g, x(r.low), y, x(r.high), y, { stroke, "stroke-width": r.holds ? 1.5 : 2.5 });
    add(g, "circle", { cx: x(r.estimate), cy: y, r: 2.2, fill: stroke });
  });
  if (isKnown) line(svg, x(plot.reference), first, x(plot.reference), height, { stroke: "var(--text)", "stroke-dasharray": "5 4" });
  return height;
}

function stack(svg, width, plot) {
  const total = (r) => plot.series.reduce((sum, s) => sum + Math.max(0, s.values[r] || 0), 0), ends = widest(plot.ends);
  const top = legend(svg, width, plot.series.map((s, i) => ({ name: s.name, sample: (x, y) => add(svg, "rect", { x: x - 6, y: y - 6, width: 12, height: 12, fill: color(i) }) })));
  return drawRows(svg, width, plot, {
    names: plot.rows, band: 30, domain: [0, Math.max(...plot.rows.map((_, r) => total(r)))], top, ends: ends ? ends + 6 : 0,
    draw: (row, x, y) => {
      let from = 0;
      plot.series.forEach((s, i) => {
        const value = Math.max(0, s.values[row] || 0), size = x(from + value) - x(from);
        if (!value) return;
        note(add(svg, "rect", { x: x(from), y: y - 11, width: size, height: 22, fill: color(i), stroke: "var(--panel)" }), `${s.name}: ${round(s.values[row])}`);
        if (size > textWidth(s.name) + 8) write(svg, x(from) + size / 2, y + 4, s.name, { "text-anchor": "middle", fill: "var(--page)" });
        from += value;
      });
      write(svg, x(from) + 6, y + 4, plot.ends[row], { "font-weight": BOLD });
    },
  }).height;
}

function violin(svg, width, plot) {
  const most = Math.max(...plot.rows.flatMap((r) => r.shares)), edges = plot.edges;
  return drawRows(svg, width, plot, {
    names: plot.rows.map((r) => r.name), columns: [{ title: "median", texts: plot.rows.map((r) => r.median_text), fill: () => "var(--text)" }],
    band: 44, domain: [edges[0], edges[edges.length - 1]], log: true,
    draw: (row, x, y) => {
      const r = plot.rows[row], half = (i) => (20 * r.shares[i]) / most, side = (sign) => r.shares.flatMap((_, i) => [edges[i], edges[i + 1]].map((e) => `${x(e)} ${y + sign * half(i)}`));
      note(add(svg, "path", { d: `M${[...side(-1), ...side(1).reverse()].join("L")}Z`, fill: color(row), opacity: 0.8 }), `${r.name}: median ${r.median_text}`);
      line(svg, x(r.median), y - 21, x(r.median), y + 21, { stroke: "var(--text)", "stroke-width": 2 });
    },
  }).height;
}

function curve(svg, width, plot) {
  const points = plot.series.flatMap((s) => s.points), bottom = 300;
  const dash = { stroke: "var(--text)", "stroke-dasharray": "4 4" };
  const top = legend(svg, width, [
    ...plot.series.map((s, i) => ({ name: s.name, sample: (x, y) => { line(svg, x - 8, y, x + 8, y, { stroke: color(i) }); mark(svg, i, x, y); } })),
    ...plot.lines.map((l) => ({ name: l.name, sample: (x, y) => line(svg, x - 8, y, x + 8, y, dash) })),
  ]) + 18;
  const from = (values) => [plot.log ? Math.min(...values) : 0, Math.max(...values)], log = plot.log;
  const x = scaleOf(from(points.map((p) => p[0])), [40, width - 20], { whole: plot.whole, log });
  const y = scaleOf(from([...points.map((p) => p[1]), ...plot.lines.map((l) => l.y)]), [bottom, top], { gap: 40, log });
  axisX(svg, x, plot.x, bottom + LINE, bottom + 2 * LINE + 2, bottom, top);
  for (const v of y.ticks) {
    line(svg, x.from, y(v), x.to, y(v));
    write(svg, x.from - 6, y(v) + 4, round(v), { "text-anchor": "end", fill: "var(--quiet)" });
  }
  write(svg, 4, top - 10, plot.y, { fill: "var(--quiet)" });
  for (const l of plot.lines) line(svg, x.from, y(l.y), x.to, y(l.y), dash);
  plot.series.forEach((s, i) => {
    add(svg, "polyline", { points: s.points.map(([a, b]) => `${x(a)},${y(b)}`).join(" "), fill: "none", stroke: color(i), "stroke-width": 1.75 });
    for (const [a, b] of s.points) note(mark(svg, i, x(a), y(b)), `${s.name}: ${round(b)} at ${round(a)}`);
  });
  return bottom + 2 * LINE + 10;
}

const PAPER = 1200;  // pixels that are made as wide as a sheet, for letters that can be read; two plots share it
const KINDS = { curve, stack, violin, forest, caterpillar };
const PLOTS = JSON.parse(document.getElementById("plots").textContent);

// At the width that the plot has now, or on paper, whatever the window's; one in a closed fold is drawn when the fold
// opens.
function draw(box, printed) {
  const alone = box.closest("figure").matches(".forest, :only-child");
  const width = box.clientWidth && printed ? PAPER / (alone ? 1 : 2) : Math.round(box.clientWidth);
  if (!width || box.dataset.width === String(width)) return;
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), plot = PLOTS[box.dataset.plot];
  svg.setAttribute("font-family", "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif");
  svg.setAttribute("viewBox", `0 0 ${width} ${Math.ceil(KINDS[plot.kind](svg, width, plot))}`);
  box.replaceChildren(svg);
  box.dataset.width = width;
}

function drawAll(printed = false) { document.querySelectorAll("[data-plot]").forEach((box) => draw(box, printed)); }

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// A file of its own knows no variables of the page: colours are written out.
function svgText(box) {
  const style = getComputedStyle(document.documentElement), svg = box.firstChild.cloneNode(true), [, , width, height] = svg.getAttribute("viewBox").split(" ");
  svg.setAttribute("width", width), svg.setAttribute("height", height), svg.setAttribute("style", `background:${style.getPropertyValue("--panel").trim()}`);
  return new XMLSerializer().serializeToString(svg).replace(/var\((--\w+)\)/g, (_, name) => style.getPropertyValue(name).trim());
}

function offerSvg(figure) {
  const button = figure.querySelector("button"), box = figure.querySelector("[data-plot]");
  button.hidden = false;
  button.addEventListener("click", () => save(new Blob([svgText(box)], { type: "image/svg+xml" }), `${PLOTS[box.dataset.plot].title.replace(/\W+/g, "_")}.svg`));
}

// Hides the rows and results that do not have every word.
function filterBy(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean), has = (t) => words.every((w) => t.toLowerCase().includes(w));
  for (const row of document.querySelectorAll("#answer tbody tr, #not-to-target tbody tr")) row.hidden = !has(row.textContent);
  for (const d of document.querySelectorAll("details.result, details.raw")) d.hidden = !has(d.querySelector("summary").textContent);
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

// Cards of a phone name each cell by its column.
function nameCells(table) {
  if (table.tHead.classList.contains("hidden")) return;
  const names = [...table.tHead.rows[0].cells].map((th) => (th.querySelector(".hidden") ? "" : th.textContent));
  for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => { if (i && names[i]) cell.dataset.label = names[i]; });
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
    const count = header.lists[list++], n = Math.abs(count), numbers = [], value = new DataView(new ArrayBuffer(8));
    for (let i = 0; i < n; ++i, ++index) {
      for (let b = 0; b < 8; ++b) value.setUint8(b, all[at + b * n + i]);
      numbers.push(own.has(index) ? own.get(index) : jsonNumber(count < 0 ? Number(value.getBigInt64(0, true)) / 1e9 : value.getFloat64(0, true)));
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
    save(new Blob([await read()], { type: "application/json" }), details.dataset.name.split("/").pop());
  });
  details.addEventListener("toggle", async () => { pre.textContent = details.open ? await read() : ""; });
  return good;
}

async function start() {
  for (const table of document.querySelectorAll("table")) nameCells(table), makeSortable(table);
  drawAll();
  document.querySelectorAll("figure").forEach(offerSvg);
  addEventListener("resize", () => drawAll());
  addEventListener("beforeprint", () => drawAll(true));
  addEventListener("afterprint", () => drawAll());
  document.addEventListener("toggle", () => drawAll(), true);
  document.getElementById("filter").addEventListener("input", (e) => filterBy(e.target.value));
  let intact = 0;
  const files = [...document.querySelectorAll("details.raw")];
  for (const details of files) intact += await prepare(details);
  document.documentElement.dataset.ready = `${PLOTS.length} plots, ${intact} of ${files.length} files intact`;
}

start();
