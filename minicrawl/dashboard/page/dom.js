// Elements and formats. Law: text becomes a text node, never markup, and only http(s) URLs become
// links. Nothing here, and nothing else on the page, parses HTML.

const SVG = "http://www.w3.org/2000/svg";

const fill = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(9).filter((one) => one !== null && one !== undefined && one !== false).map((one) => (one instanceof Node ? one : String(one))));
  return element;
};

export const h = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
export const s = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);
// Replaces the content of a place. What had the focus there gives it to what stands for it now: the
// element of the same kind and name, and of several the one in the same order.
export const put = (place, ...children) => {
  const had = document.activeElement, like = (one) => one.localName === had.localName && nameOf(one) === nameOf(had);
  const alike = () => [...place.querySelectorAll(had.localName)].filter(like);
  const order = had !== place && place.contains(had) ? alike().indexOf(had) : -1;
  place.replaceChildren(...children.flat(9).filter(Boolean));
  if (order >= 0) alike()[order]?.focus({ preventScroll: true });
};
const nameOf = (element) => element.getAttribute("aria-label") ?? element.textContent;

// Control characters and bidirectional marks are shown as escapes.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
// Shows internationalised host names in the readable form that the server sends.
const HOST = /(^|:\/\/)([0-9A-Za-z.-]*xn--[0-9A-Za-z.-]*)/g, names = new Map();
export const learn = (found) => { for (const [host, name] of Object.entries(found)) names.set(host, name); };
export const learnFrom = (answer) => learn(JSON.parse(answer.headers.get("x-readable-hosts") || "{}"));
const named = (text) => (names.size ? text.replace(HOST, (all, before, host) => before + (names.get(host) ?? host)) : text);
export const plain = (text) => named(String(text ?? "")).replace(HIDDEN, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);

export const outward = (url) => {
  const text = plain(url);
  return /^https?:\/\//i.test(url)
    ? h("a", { href: url, target: "_blank", rel: "noopener noreferrer", title: "open the page itself" }, "↗", h("span", { class: "skip" }, `open ${text}`))
    : null;
};

export const cut = (text, most) => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);
const number = new Intl.NumberFormat("en");
export const count = (value) => (value === null || value === undefined ? "–" : number.format(value));
export const fixed = (value, digits) => (value === null || value === undefined || !Number.isFinite(value) ? "–" : value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
export const pace = (value) => (value ? value.toLocaleString("en", value < 9.5 ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 0 }) : count(value));
// Small shares get the digits that they need to differ from 0.
export const share = (value, digits = 1) => (value === null || value === undefined ? "–" : `${fixed(100 * value, value ? Math.min(Math.max(digits, -Math.floor(Math.log10(100 * value))), 12) : digits)} %`);
export const size = (bytes) => {
  if (bytes === null || bytes === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let place = 0;
  while (bytes >= 1000 && place < units.length - 1) { bytes /= 1000; place += 1; }
  return `${fixed(bytes, place && bytes < 100 ? 1 : 0)} ${units[place]}`;
};
export const span = (seconds) => {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 10) return `${fixed(seconds, 1)} s`;
  const whole = Math.round(seconds), two = (n) => String(n).padStart(2, "0");
  return whole < 3600 ? `${Math.floor(whole / 60)}:${two(whole % 60)}` : `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
};
export const clock = (at) => new Date(1000 * at).toLocaleTimeString("en-GB");
export const facts = (pairs, kind = "") => h("dl", { class: `facts ${kind}` }, pairs.filter(Boolean).map(([name, value, more, means]) => h("div", means ? { title: means } : {}, h("dt", {}, name), h("dd", {}, value, more ? h("small", {}, " ", more) : null))));
// Shows the time of a block's numbers in its header.
export const moment = () => { const at = h("span", { class: "muted small moment" }); at.say = (seconds) => put(at, seconds ? `as of ${clock(seconds)}` : ""); return at; };
export const card = (title, width, ...content) => h("section", { class: `card ${width}`, "aria-label": title }, content);
export const table = (headings, rows, caption) => h("table", {}, h("caption", { class: "skip" }, caption), h("thead", {}, h("tr", {}, headings.map(([text, kind]) => h("th", { class: kind, scope: "col" }, text)))), h("tbody", {}, rows));
export const td = (value, kind) => h("td", { class: kind }, value);
