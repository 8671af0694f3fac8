// The search page. Laws: text of pages becomes text nodes, never markup. A query is asked for after
// a pause in typing, or at once by Enter; an answer that comes after a later question is dropped.
import { h, put, plain, count, fixed, share, table, td } from "/page/dom.js";

const PAUSE_MS = 250, AT_ONCE = 10;
const $ = (id) => document.getElementById(id);
const FILTERS = ["site", "lang", "after", "title"];
let asked = 0, shown = 0, timer = null;

const quoted = (value) => (/\s/.test(value) ? `"${value.replaceAll('"', " ")}"` : value.replaceAll('"', ""));
const query = () => [$("q").value.trim(), ...FILTERS.map((name) => { const value = $(name).value.trim(); return value && `${name}:${quoted(value)}`; })].filter(Boolean).join(" ");

const marked = (text, marks) => {
  // Marks count code points; a string of JavaScript counts halves of pairs.
  const signs = [...text], parts = [];
  let at = 0;
  for (const [begin, end] of marks) {
    parts.push(plain(signs.slice(at, begin).join("")), h("mark", {}, plain(signs.slice(begin, end).join(""))));
    at = end;
  }
  return [...parts, plain(signs.slice(at).join(""))];
};

const MEANINGS = {
  bm25: "how often the words occur, in relation to how rare they are", share: "share of the words that the page has",
  title: "share of the words that are in the title", exact: "how much of the title is asked for",
  importance: "importance of the page, on a scale of logarithms", proximity: "how near each other the words are",
};
const explained = (score) => h("details", {}, h("summary", {}, "Why this place"), h("div", { class: "scroll" },
  table([["part", ""], ["value", "n"], ["meaning", ""]], Object.entries(score).map(([name, value]) => h("tr", {}, td(name), td(fixed(value, 3), "n"), td(MEANINGS[name] || ""))), "Parts of the score")));

const shownResult = (one) => h("li", {}, h("article", {},
  h("h2", {}, /^https?:\/\//i.test(one.url) ? h("a", { href: one.url, rel: "noopener noreferrer" }, plain(one.title || one.url)) : plain(one.title || one.url)),
  h("p", { class: "place" }, plain(one.url)),
  h("p", { dir: "auto" }, marked(one.snippet, one.marks)),
  h("p", { class: "muted small" }, [`importance ${share(one.importance, 4)}`, one.language && plain(one.language), one.fetched ? `changed ${one.changed.slice(0, 10)}` : "never read, found by links to it", one.folded && `and ${count(one.folded)} that say the same`].filter(Boolean).join(" · ")),
  explained(one.score)));

const say = (text, wrong) => {
  $("count").textContent = wrong ? "" : text;
  $("wrong").textContent = wrong ? plain(text) : "";
  $("wrong").hidden = !wrong;
};

const ask = async (more) => {
  clearTimeout(timer);
  const words = query(), turn = (asked += 1), offset = more ? shown : 0;
  const address = new URLSearchParams(words ? { q: words } : {});
  if (!more) history.replaceState(null, "", words ? `?${address}` : "/");
  if (!words) { put($("results")); $("more").hidden = true; shown = 0; return say(""); }
  try {
    const answer = await fetch(`/api/search?${new URLSearchParams({ q: words, offset, all: $("all").checked ? "1" : "" })}`);
    const found = await answer.json();
    if (turn !== asked) return;
    if (found.error) { put($("results")); $("more").hidden = true; return say(found.error, true); }
    const rows = found.results.map(shownResult);
    if (more) $("results").append(...rows); else put($("results"), rows);
    shown = offset + rows.length;
    $("more").hidden = rows.length < AT_ONCE;
    say(shown ? `${count(shown)} ${shown === 1 ? "page" : "pages"} shown, ${fixed(found.ms, 0)} ms` : "No page has these words.");
    if (more && rows.length) rows[0].querySelector("a, summary").focus();
  } catch {
    if (turn === asked) say("The search does not answer: has it been ended?", true);
  }
};

const soon = () => { clearTimeout(timer); timer = setTimeout(ask, PAUSE_MS, false); };
$("form").addEventListener("submit", (event) => { event.preventDefault(); ask(false); });
for (const name of ["q", ...FILTERS]) $(name).addEventListener("input", soon);
$("all").addEventListener("change", () => ask(false));
$("more").addEventListener("click", () => ask(true));

const about = await (await fetch("/api/about")).json();
$("store").textContent = plain(`${count(about.pages)} pages of ${about.store}`);
$("q").value = new URLSearchParams(location.search).get("q") || "";
if ($("q").value) ask(false);
