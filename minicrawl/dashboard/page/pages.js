// Pages: the best ones as they change, a search, and the details of one page.

import { h, s, put, card, moment, facts, table, td, count, fixed, share, plain, cut, outward } from "/page/dom.js";
import { latest } from "/page/server.js";
import { curves } from "/page/charts.js";

const W = 900, ROW = 34;

// Givers on the left, the page in the middle, receivers on the right; widths follow amounts.
const flow = (page, explain) => {
  const givers = page.givers.map((one) => ({ url: one.url, part: one.share, text: `${fixed(one.amount, 2)} units, ${share(one.share)}` }));
  const receivers = (page.receivers ? page.receivers.pages : []).map((one) => ({ url: one.url, part: one.importance, text: `importance ${share(one.importance, 3)}, ${one.state}` }));
  const rows = Math.max(givers.length, receivers.length, 3), height = rows * ROW + 20, middle = height / 2;
  const most = (list) => Math.max(...list.map((one) => one.part), 1e-12);
  const side = (list, isOut) => list.map((one, at) => {
    const y = middle + (at - (list.length - 1) / 2) * ROW, width = 1.5 + 10 * (one.part / most(list));
    const [from, to] = isOut ? [W / 2 + 80, W - 300] : [300, W / 2 - 80];
    const curve = `M${from} ${isOut ? middle : y}C${(from + to) / 2} ${isOut ? middle : y} ${(from + to) / 2} ${isOut ? y : middle} ${to} ${isOut ? y : middle}`;
    const open = () => explain(one.url);
    return s("g", { tabindex: 0, role: "button", "aria-label": `${isOut ? "to" : "from"} ${plain(one.url)}: ${one.text}`, class: "point", onclick: open, onkeydown: (event) => { if (event.key === "Enter") open(); } },
      s("path", { class: `ribbon ${isOut ? "out" : ""}`, d: curve, "stroke-width": width.toFixed(1) }),
      s("text", { x: isOut ? W - 294 : 294, y: y + 4, "text-anchor": isOut ? "start" : "end" }, cut(plain(one.url).replace(/^https?:\/\//, ""), 37), s("title", {}, `${plain(one.url)}\n${one.text}`)));
  });
  return h("div", { class: "scroll" }, s("svg", { class: "flow", viewBox: `0 0 ${W} ${height}`, role: "group", "aria-label": `${givers.length} givers and ${receivers.length} receivers` },
    side(givers, false), side(receivers, true), s("rect", { x: W / 2 - 80, y: middle - 22, width: 160, height: 44, rx: 8 }),
    s("text", { x: W / 2, y: middle - 3, "text-anchor": "middle" }, "this page"), s("text", { x: W / 2, y: middle + 14, "text-anchor": "middle" }, `${fixed(page.cash, 2)} units`)));
};

// Curves of the cash that the page had received, and of the number of givers.
const grown = (received) => {
  const over = (name) => received.map((one) => [Date.parse(one.at) / 1000, one[name]]);
  return h("div", { class: "grid" },
    h("div", { class: "w6 plot" }, h("h4", {}, "cash received, in units"), curves("cash received", [{ name: "units", points: over("units") }])),
    h("div", { class: "w6 plot" }, h("h4", {}, "givers"), curves("givers", [{ name: "pages", points: over("pages") }])));
};

export const makePages = (place, app) => {
  const topAt = h("div", { class: "scroll high tall", tabindex: 0, role: "region", "aria-label": "Best pages, a table" }), foundAt = h("div", { class: "scroll high tall" }), about = h("div");
  const query = h("input", { type: "search", id: "p-search", "aria-label": "Search by URL or title", placeholder: "words of a URL or a title" });
  const aboutAt = moment(), foundOf = moment(), askAbout = latest(), find = latest();
  const aboutCard = card("One page", "", h("header", {}, h("h2", {}, "One page"), aboutAt), about);
  aboutCard.hidden = true;
  let former = new Map();
  const name = (page) => [h("button", { type: "button", class: "link", onclick: () => explain(page.url) }, cut(plain(page.url), 140)), " ", outward(page.url), page.title ? h("div", { class: "title" }, cut(plain(page.title), 160)) : null];
  const explain = async (url) => {
    aboutCard.hidden = false;
    put(about, h("p", { class: "muted" }, "Reading all links of the store …"));
    aboutCard.scrollIntoView({ block: "start" });
    aboutAt.say(null);
    let page;
    try { page = await askAbout("page", { url }); } catch (error) { put(about, h("p", { class: "wrong" }, plain(error.message))); return; }
    if (!page) return; // another page was chosen meanwhile
    aboutAt.say(page.at);
    put(about,
      h("p", {}, h("strong", {}, plain(page.title) || "without a title"), h("br"), plain(page.url), " ", outward(page.url), page.stands_for ? h("span", { class: "muted" }, " stands for ", h("button", { type: "button", class: "link", onclick: () => explain(page.stands_for) }, plain(page.stands_for))) : null),
      facts([["state", page.state], ["rank", count(page.rank)], ["importance", share(page.importance, 4)], ["cash", fixed(page.cash, 2), "units"], ["history", fixed(page.history, 2), "units"], ["depth", count(page.depth)], ["in-links", count(page.inlinks)], ["last read", page.last_fetched ? plain(page.last_fetched).replace("T", " ").replace("Z", " UTC") : "never"], page.place ? ["in the queue", count(page.place.of_all), `of ${count(page.place.all_waiting)}`] : null, page.place ? ["on its host", count(page.place.of_host), `of ${count(page.place.host_waiting)}`] : null, ...page.ranks.map((rank) => [`by ${rank.name}`, rank.score === null ? "–" : share(rank.score, 4), rank.rank === null ? "" : `rank ${count(rank.rank)}`])]),
      page.picture ? h("img", { class: "screen", src: page.picture, alt: "the page as it was rendered" }) : null,
      h("ul", {}, page.reasons.map((reason) => h("li", {}, plain(reason)))),
      h("h3", {}, `Givers and receivers${page.receivers ? ` (${count(page.receivers.count)} receivers in all)` : ""}`),
      page.givers.length || (page.receivers && page.receivers.pages.length) ? flow(page, explain) : h("div", { class: "empty" }, "no links in or out yet"),
      h("h3", {}, "History"),
      grown(page.received),
      page.fetches.length ? h("div", { class: "scroll" }, table([["fetched at"], ["status", "n"], ["outcome"], ["detail"]], page.fetches.map((one) => h("tr", {}, td(plain(one.at).replace("T", " ").replace("Z", " UTC")), td(one.status ?? "–", "n"), td(plain(one.outcome)), td(plain(one.detail), "url"))), "History")) : h("div", { class: "empty" }, "never requested"));
  };
  const search = async () => {
    const words = query.value.trim();
    foundOf.say(null);
    if (!words) { find(); put(foundAt); return; }
    put(foundAt, h("p", { class: "muted" }, "…"));
    try {
      const answer = await find("search", { q: words });
      if (!answer) return;
      const found = answer.pages;
      foundOf.say(answer.at);
      put(foundAt, found.length ? table([["importance", "n"], ["page"], ["state"]], found.map((page) => h("tr", {}, td(share(page.importance, 4), "n"), td(name(page), "url"), td(page.state))), "Found pages") : h("div", { class: "empty" }, "no page has all these words"));
    } catch (error) { put(foundAt, h("p", { class: "wrong" }, plain(error.message))); }
  };
  const form = h("form", { class: "row", role: "search" }, h("div", { class: "grow" }, query), h("button", { type: "submit" }, "Search"));
  form.addEventListener("submit", (event) => { event.preventDefault(); search(); });
  put(topAt, h("div", { class: "empty" }, "reading …"));
  const known = h("span", { class: "muted small" }), topOf = moment();
  put(place, h("div", { class: "grid" }, aboutCard, card("Best pages", "w7", h("header", {}, h("h2", {}, "Best pages"), known, topOf), topAt), card("Search", "w5", h("header", {}, h("h2", {}, "Search"), foundOf), form, h("div", { class: "gap" }, foundAt))));
  return {
    topics: () => ["top"],
    explain,
    hear: (topic, value) => {
      if (topic === "moments") topOf.say(value.top);
      if (topic !== "top") return;
      if (!value.pages) { put(topAt, h("div", { class: "empty" }, plain(value.error || "nothing yet"))); return; }
      const ranks = new Map(value.pages.map((page) => [page.url, page.rank]));
      put(known, `${count(value.pages.length)} of ${count(value.known)} known`);
      put(topAt, table([["rank", "n"], ["importance", "n"], ["page"], ["in-links", "n"]], value.pages.map((page) => h("tr", { class: former.size && former.get(page.url) !== page.rank ? "was-changed" : "" }, td(count(page.rank), "n"), td(share(page.importance, 3), "n"), td([name(page), page.state === "fetched" ? null : h("span", { class: "badge" }, page.state === "unread" ? "not read yet" : page.state)], "url"), td(count(page.inlinks), "n"))), "Best pages"));
      former = ranks;
    },
  };
};
