// The search, as a page of its own and as a view of the dashboard. Laws: text of pages becomes text
// nodes, never markup. A query is sent after a pause in typing, or at once by Enter; its answer is
// dropped if a later query was sent.
import { h, put, plain, clock, count, fixed, share, table, td } from "/page/dom.js";
import { get, latest, Refused } from "/page/server.js";

const PAUSE_MS = 250, AT_ONCE = 10;
const FILTERS = ["site", "lang", "after", "title"];

const quoted = (value) => (/\s/.test(value) ? `"${value.replaceAll('"', " ")}"` : value.replaceAll('"', ""));

const marked = (text, marks) => {
  // Marks count code points; strings of JavaScript count UTF-16 units.
  const signs = [...text], parts = [];
  let at = 0;
  for (const [begin, end] of marks) {
    parts.push(plain(signs.slice(at, begin).join("")), h("mark", {}, plain(signs.slice(begin, end).join(""))));
    at = end;
  }
  return [...parts, plain(signs.slice(at).join(""))];
};

const MEANINGS = {
  complete: "1 if the page has all words near each other, or in title or links; other pages follow",
  bm25: "frequency of the words, weighted by their rarity", share: "share of the words that the page has",
  title: "share of the query in the title, if that says nothing else", exact: "share of the words in the title, times the share of the title in the query",
  heading: "share of the query in the title or a heading, as written", written: "share of the query on the page, as written", phrase: "1 if the page has the whole query, as written",
  importance: "importance of the page, on a logarithmic scale", proximity: "nearness of the words to each other", natural: "less than 1 if a word is repeated unnaturally often",
};
const explained = (score) => h("details", {}, h("summary", {}, "Why this place"), h("div", { class: "scroll" },
  table([["part", ""], ["value", "n"], ["meaning", ""]], Object.entries(score).map(([name, value]) => h("tr", {}, td(name), td(fixed(value, 3), "n"), td(MEANINGS[name] || ""))), "Parts of the score")));

const shownResult = (one, more) => h("li", {}, h("article", {},
  h("h2", {}, /^https?:\/\//i.test(one.url) ? h("a", { href: one.url, target: more ? "_blank" : null, rel: "noopener noreferrer" }, plain(one.title || one.url)) : plain(one.title || one.url)),
  h("p", { class: "place" }, plain(one.url)),
  h("p", { dir: "auto" }, marked(one.snippet, one.marks)),
  h("p", { class: "muted small" }, [`importance ${share(one.importance, 4)}`, one.language && plain(one.language), one.fetched ? `changed ${one.changed.slice(0, 10)}` : "never read, found by links to it", one.folded && `and ${count(one.folded)} like it`].filter(Boolean).join(" · "), more ? [" · ", more(one)] : null),
  explained(one.score)));

const field = (name, label, attributes = {}) => h("div", { class: "field" }, h("label", { for: name }, label), h("input", { id: name, ...attributes }));

// Puts the search into a place. Answers come from `path`; `more` adds to each result; `note` hears
// each query.
export const makeSearch = (place, { path, more = null, note = () => {} }) => {
  let shown = 0, timer = null;
  const find = latest();
  const words = h("input", { id: "q", type: "search", name: "q", class: "grow", autocomplete: "off", maxlength: 2000, spellcheck: "false", placeholder: "harbour museum, \"an exact phrase\", -without", "aria-describedby": "count" });
  const all = h("input", { id: "all", type: "checkbox" });
  const form = h("form", { id: "form", role: "search", class: "asked" },
    h("label", { for: "q", class: "skip" }, "Words to find"),
    h("div", { class: "row" }, words, h("button", { class: "main" }, "Search")),
    h("details", { class: "gap" }, h("summary", {}, "Filters"),
      h("div", { class: "fields gap" }, field("site", "Site", { placeholder: "example.org", maxlength: 300 }), field("lang", "Language", { placeholder: "en", maxlength: 20 }), field("after", "Changed since", { type: "date" }), field("title", "Word in the title", { maxlength: 300 })),
      h("label", { class: "check" }, all, " Include near-duplicates")));
  const told = h("p", { id: "count", class: "muted small", role: "status", "aria-live": "polite" });
  const wrong = h("p", { id: "wrong", class: "banner bad", role: "alert", hidden: true });
  const results = h("ol", { id: "results", tabindex: -1, "aria-label": "Results" });
  const next = h("button", { id: "more", type: "button", hidden: true }, "More results");
  put(place, h("div", { class: "searching" }, form, told, wrong, results, h("p", {}, next)));

  const value = (name) => form.querySelector(`#${name}`).value.trim();
  const query = () => [words.value.trim(), ...FILTERS.map((name) => value(name) && `${name}:${quoted(value(name))}`)].filter(Boolean).join(" ");
  const say = (text, isWrong) => {
    told.textContent = isWrong ? "" : text;
    wrong.textContent = isWrong ? plain(text) : "";
    wrong.hidden = !isWrong;
  };
  const clear = () => { put(results); next.hidden = true; shown = 0; };

  const ask = async (goesOn) => {
    clearTimeout(timer);
    const text = query(), offset = goesOn ? shown : 0;
    if (!goesOn) note(text);
    if (!text) { find(); clear(); say(""); return; }
    try {
      const found = await find(`${path}search`, { q: text, offset, all: all.checked ? "1" : "" });
      if (!found) return; // there is a later query
      const rows = found.results.map((one) => shownResult(one, more));
      if (goesOn) results.append(...rows); else put(results, rows);
      shown = offset + rows.length;
      next.hidden = rows.length < AT_ONCE;
      const meant = found.instead ? `No page has these words as typed; shown is: ${plain(found.instead)}. ` : found.suggestion ? `Did you mean: ${plain(found.suggestion)}? ` : "";
      const lack = found.indexed ? `Indexed ${count(found.indexed.pages)} of ${count(found.indexed.of)} pages; the rest follows. ` : "";
      say(lack + (shown ? `${meant}${count(shown)} ${shown === 1 ? "page" : "pages"} shown, ${fixed(found.ms, 0)} ms; the index is as of ${clock(found.at)}` : "No page has these words."));
      if (goesOn && rows.length) rows[0].querySelector("a, summary").focus();
    } catch (error) {
      clear();
      say(error instanceof Refused ? error.message : "The search does not answer: has it ended?", true);
    }
  };

  const soon = () => { clearTimeout(timer); timer = setTimeout(ask, PAUSE_MS, false); };
  form.addEventListener("submit", (event) => { event.preventDefault(); ask(false); });
  form.addEventListener("input", (event) => { if (event.target === all) ask(false); else soon(); });
  next.addEventListener("click", () => ask(true));
  return {
    focus: () => words.focus(),
    find: (text) => { words.value = text; if (text) ask(false); },
    about: async () => {
      try {
        return await get(`${path}about`);
      } catch (error) {
        if (!shown) say(error instanceof Refused ? error.message : "The search does not answer.", true);
        return null;
      }
    },
  };
};
