// Small charts as SVG: curves over time, and points on logarithmic axes. Each has its figures as a
// table for people who cannot see the chart.

import { h, s, count, fixed, clock } from "/page/dom.js";

const W = 400, H = 170, LEFT = 56, RIGHT = 10, TOP = 10, BOTTOM = 24;
const NAMES = ["one", "two", "three"];

const steps = (most) => {
  if (!(most > 0)) return [0, 1];
  const rough = most / 4, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n >= rough);
  const found = [];
  for (let at = 0; at <= most + step * 0.001; at += step) found.push(at);
  if (found[found.length - 1] < most) found.push(found[found.length - 1] + step);
  return found;
};
const short = (value) => {
  const size = Math.abs(value);
  if (size >= 1e6) return `${+(value / 1e6).toFixed(1)}M`;
  if (size >= 1e4) return `${+(value / 1e3).toFixed(1)}k`;
  return size >= 10 || Number.isInteger(value) ? String(Math.round(value * 10) / 10) : String(+value.toFixed(3));
};
const legend = (series) => h("ul", { class: "legend" }, series.map((one, place) => h("li", {}, h("i", { class: `k-${NAMES[place]}` }), one.name)));
// A table is made when it is opened, and keeps its state and scroll position when its chart is redrawn.
const opened = new Map();
const hiddenTable = (caption, heads, rows) => {
  const box = h("div", { class: "scroll high", tabindex: 0, role: "region", "aria-label": `${caption}, a table` });
  const fillIt = () => { if (!box.firstChild) box.append(h("table", {}, h("caption", { class: "skip" }, caption), h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col", class: "n" }, head)))), h("tbody", {}, rows().map((row) => h("tr", {}, row.map((cell) => h("td", { class: "n" }, cell))))))); };
  const details = h("details", { class: "small muted", open: opened.has(caption) }, h("summary", { onclick: () => (details.open ? opened.delete(caption) : opened.set(caption, 0)) }, "figures"), box);
  details.addEventListener("toggle", () => { if (details.open) fillIt(); });
  box.addEventListener("scroll", () => { if (box.isConnected) opened.set(caption, box.scrollTop); });
  if (opened.has(caption)) { fillIt(); queueMicrotask(() => { box.scrollTop = opened.get(caption) || 0; }); }
  return details;
};
// A row for each moment of the series, thinned to about MOST_ROWS with the first and the last.
const MOST_ROWS = 120;
const rowsOver = (drawn, format) => {
  const times = [...new Set(drawn.flat().map(([at]) => at))].sort((a, b) => a - b), every = Math.ceil(times.length / MOST_ROWS);
  const values = drawn.map((points) => new Map(points));
  return times.filter((_, place) => place === 0 || (times.length - 1 - place) % every === 0).map((at) => [clock(at), ...values.map((of) => (of.has(at) ? format(of.get(at)) : "–"))]);
};

// series: [{name, points: [[seconds since 1970, value], ...]}]
export const hasCurve = (points) => points.some(([at]) => at !== points[0][0]);
export const curves = (title, series, format = short, exact = format === short ? (value) => fixed(value, Number.isInteger(value) ? 0 : 2) : format) => {
  const all = series.flatMap((one) => one.points).filter(([, y]) => y !== null && y !== undefined);
  const first = Math.min(...all.map(([x]) => x)), last = Math.max(...all.map(([x]) => x), first + 1);
  const ticks = steps(Math.max(...all.map(([, y]) => y)));
  const most = ticks[ticks.length - 1];
  const x = (at) => LEFT + ((at - first) / (last - first)) * (W - LEFT - RIGHT);
  const y = (value) => H - BOTTOM - (value / most) * (H - TOP - BOTTOM);
  const path = (points) => points.map(([at, value], place) => `${place ? "L" : "M"}${x(at).toFixed(1)} ${y(value).toFixed(1)}`).join("");
  const drawn = series.map((one) => one.points.filter(([, value]) => value !== null && value !== undefined));
  const chart = s("svg", { class: "chart", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `${title}: ${series.map((one, i) => `${one.name} ${drawn[i].length ? format(drawn[i][drawn[i].length - 1][1]) : "none"} at the end`).join(", ")}` },
    ticks.map((tick) => [s("line", { class: "gridline", x1: LEFT, x2: W - RIGHT, y1: y(tick), y2: y(tick) }), s("text", { x: LEFT - 6, y: y(tick) + 4, "text-anchor": "end" }, format(tick))]),
    drawn[0].length > 1 && series.length === 1 ? s("path", { class: "area", d: `${path(drawn[0])}L${x(drawn[0][drawn[0].length - 1][0])} ${y(0)}L${x(drawn[0][0][0])} ${y(0)}Z` }) : null,
    drawn.map((points, place) => (points.length > 1 ? s("path", { class: `series s-${NAMES[place]}`, d: path(points) }) : null)),
    s("line", { class: "axis", x1: LEFT, x2: W - RIGHT, y1: y(0), y2: y(0) }),
    s("text", { x: LEFT, y: H - 7 }, clock(first)), s("text", { x: W - RIGHT, y: H - 7, "text-anchor": "end" }, clock(last)));
  return h("figure", { class: "plain" }, chart, series.length > 1 ? legend(series) : null, hiddenTable(title, ["at", ...series.map((one) => one.name)], () => rowsOver(drawn, exact)));
};

// series: [{name, points: [[links, pages with as many or more], ...], exponent, tail}]; both axes are logarithmic.
// The power law with the exponent is drawn for the `tail` pages that it was fitted to: those with LEAST or more.
const LEAST = 6;
const fitted = ({ exponent, tail, points }) => {
  if (!exponent || !tail) return [];
  const at = (k) => [k, tail * ((k - 0.5) / (LEAST - 0.5)) ** (1 - exponent)];
  return [at(LEAST), at(Math.max(...points.map(([k]) => k)))];
};
export const logLog = (title, series, xName, yName) => {
  const all = series.flatMap((one) => one.points).filter(([x, y]) => x > 0 && y > 0);
  if (all.length < 2) return h("div", { class: "empty" }, "too few pages for a curve");
  const xs = all.map(([x]) => Math.log10(x)), ys = all.map(([, y]) => Math.log10(y));
  const [x0, x1] = [Math.floor(Math.min(...xs)), Math.max(Math.ceil(Math.max(...xs)), 1)];
  const [y0, y1] = [Math.floor(Math.min(...ys)), Math.max(Math.ceil(Math.max(...ys)), 1)];
  const px = (v) => LEFT + ((Math.log10(v) - x0) / (x1 - x0)) * (W - LEFT - RIGHT);
  const py = (v) => H + 30 - BOTTOM - ((Math.log10(v) - y0) / (y1 - y0)) * (H + 30 - TOP - BOTTOM);
  const powers = (a, b) => Array.from({ length: b - a + 1 }, (_, i) => 10 ** (a + i));
  const mark = (place, x, y) => (place ? s("rect", { class: `f-${NAMES[place]}`, x: x - 3, y: y - 3, width: 6, height: 6 }) : s("circle", { class: "f-one", cx: x, cy: y, r: 3.4 }));
  const chart = s("svg", { class: "chart", viewBox: `0 0 ${W} ${H + 30}`, role: "img", "aria-label": title },
    powers(y0, y1).map((v) => [s("line", { class: "gridline", x1: LEFT, x2: W - RIGHT, y1: py(v), y2: py(v) }), s("text", { x: LEFT - 6, y: py(v) + 4, "text-anchor": "end" }, short(v))]),
    powers(x0, x1).map((v) => [s("line", { class: "gridline", x1: px(v), x2: px(v), y1: TOP, y2: H + 30 - BOTTOM }), s("text", { x: px(v), y: H + 30 - 7, "text-anchor": v === 10 ** x1 ? "end" : "middle" }, short(v))]),
    series.map((one, place) => one.points.filter(([x, y]) => x > 0 && y > 0).map(([x, y]) => mark(place, px(x), py(y)))),
    series.map(fitted).map((ends, place) => (ends.length ? s("path", { class: `series s-${NAMES[place]}`, d: ends.map(([x, y], i) => `${i ? "L" : "M"}${px(x).toFixed(1)} ${py(Math.max(y, 10 ** y0)).toFixed(1)}`).join("") }) : null)));
  return h("figure", {}, h("div", { class: "small muted" }, `${yName} with at least so many ${xName}; both axes are logarithmic`), chart, legend(series.map((one) => ({ name: one.exponent ? `${one.name}, exponent ${fixed(one.exponent, 2)}` : one.name }))),
    hiddenTable(title, ["series", `${xName}, at least`, yName], () => series.flatMap((one) => one.points.map(([x, y]) => [one.name, count(x), count(y)]))));
};

// rows: [[label, value, ...]]
export const bars = (caption, heads, rows) => {
  const most = Math.max(1, ...rows.flatMap((row) => row.slice(1)));
  return h("table", {}, h("caption", { class: "skip" }, caption), h("thead", {}, h("tr", {}, heads.map((head, place) => h("th", { scope: "col", class: place ? "n" : "" }, head)), h("th", {}, ""))),
    h("tbody", {}, rows.map(([label, ...values]) => {
      const drawn = values.map((value, place) => { const bar = h("span", { class: `bar f-${NAMES[place]}` }); bar.style.width = `${(7 * Math.log1p(value)) / Math.log1p(most)}rem`; if (!value) bar.style.visibility = "hidden"; bar.style.background = `var(--${NAMES[place]})`; return h("div", {}, bar); });
      return h("tr", {}, h("td", {}, label), values.map((value) => h("td", { class: "n" }, count(value))), h("td", { "aria-hidden": "true" }, drawn));
    })));
};
