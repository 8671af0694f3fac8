// Search of a static site. A page of your own needs an input with the id "q" in a form, an element
// with the id "search-results", and this script as a module, in the folder that minicrawl wrote.
// Laws: text of pages becomes text nodes, never markup. Files of words and pages are loaded once,
// when a query needs them. All words must be on a page, unless no page has all of them; the last
// word may be the beginning of one.
const here = new URL(".", import.meta.url);
const AT_ONCE = 10, MOST_ENDINGS = 40, AROUND = 200, PAUSE_MS = 150;

const loaded = new Map();
const load = (name) => {
  if (!loaded.has(name)) loaded.set(name, fetch(new URL(name, here)).then((answer) => {
    if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
    return answer.json();
  }));
  return loaded.get(name);
};

// The words of a text as in the index: without case and accents; CJK characters in pairs.
const RUNS = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]+/g;
const wordsOf = (text) => {
  const plain = text.normalize("NFKD").toLowerCase().replace(/ß/g, "ss").replace(/[\u0300-\u036f]/g, "").normalize("NFKC");
  const apart = plain.replace(RUNS, (run) => run.length === 1 ? ` ${run} ` : ` ${[...run].slice(0, -1).map((_, at) => run.slice(at, at + 2)).join(" ")} `);
  return apart.match(/[\p{L}\p{N}\p{M}]+/gu) || [];
};

// The files have words in the order of code points; JavaScript compares UTF-16 units. The orders
// differ only for rare scripts, whose words may be sought in the wrong file.
const fileOf = (firsts, word) => {
  let low = 0, high = firsts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (firsts[middle] <= word) low = middle + 1; else high = middle;
  }
  return Math.max(low - 1, 0);
};

// Adds the pages of a word to a map. `numbers` has its rarity, then the step to each page and its score.
const addPages = (numbers, into, factor) => {
  for (let at = 1, page = 0; at < numbers.length; at += 2) {
    page += numbers[at];
    into.set(page, Math.max(into.get(page) || 0, numbers[0] * numbers[at + 1] * factor));
  }
};

// The pages of a word with their scores, and whether pages without it may be found too.
const lookedUp = async (about, word, isLast) => {
  const file = fileOf(about.first_words, word);
  const words = await load(`words/${file}.json`), found = new Map();
  if (words[word]) addPages(words[word], found, 1);
  if (isLast && word.length > 1) {
    const endings = Object.keys(words).filter((other) => other.startsWith(word) && other !== word);
    for (const other of endings.slice(0, MOST_ENDINGS)) addPages(words[other], found, 0.6);
  }
  return { pages: found, isCommon: (words[word] || []).length > 2 * about.most_pages };
};

export const find = async (text) => {
  const about = await load("about.json"), words = [...new Set(wordsOf(text))];
  if (!words.length || !about.pages) return { words, pages: [] };
  const found = await Promise.all(words.map((word, at) => lookedUp(about, word, at === words.length - 1)));
  const scores = new Map(), counts = new Map();
  for (const { pages } of found) for (const [page, score] of pages) {
    scores.set(page, (scores.get(page) || 0) + score);
    counts.set(page, (counts.get(page) || 0) + 1);
  }
  const needed = found.filter((one) => !one.isCommon);
  const hasAll = (page) => needed.every((one) => one.pages.has(page));
  const all = [...scores.keys()].filter(hasAll), some = all.length ? all : [...scores.keys()];
  return { words, pages: some.sort((one, other) => counts.get(other) - counts.get(one) || scores.get(other) - scores.get(one) || one - other) };
};

const pageAt = async (number) => {
  const { pages_a_file: each } = await load("about.json");
  return (await load(`pages/${Math.floor(number / each)}.json`))[number % each];
};

const element = (tag, attributes, ...children) => {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...children);
  return made;
};

// The passage with the most words, marked.
const passage = (text, words) => {
  const isSought = (piece) => words.some((word, at) => piece === word || (at === words.length - 1 && piece.startsWith(word)));
  const pieces = text.split(/([\p{L}\p{N}\p{M}]+)/u), starts = [];
  let at = 0;
  for (const piece of pieces) {
    if (piece && wordsOf(piece).some(isSought)) starts.push(at);
    at += piece.length;
  }
  const within = (start) => starts.filter((one) => one >= start && one < start + AROUND).length;
  const first = starts.reduce((best, start) => within(start) > within(best) ? start : best, starts[0] || 0);
  const begin = first < 60 ? 0 : text.indexOf(" ", first - 60) + 1, shown = [];
  at = 0;
  for (const piece of pieces) {
    if (at >= begin && at < begin + AROUND && piece) shown.push(starts.includes(at) ? element("mark", {}, piece) : piece);
    at += piece.length;
  }
  return [begin ? "… " : "", ...shown, begin + AROUND < text.length ? " …" : ""];
};

const shownResult = async (number, words) => {
  const [url, title, text] = await pageAt(number);
  const head = /^https?:/i.test(url) ? element("a", { href: url }, title) : title;
  return element("li", {}, element("h2", {}, head), element("p", { className: "place" }, url), element("p", { dir: "auto" }, ...passage(text, words)));
};

const makeSearch = (input, place) => {
  const told = element("p", {}), results = element("ol", { id: "results" });
  const more = element("button", { type: "button", hidden: true }, "More results");
  told.setAttribute("role", "status");
  results.setAttribute("aria-label", "Results");
  place.append(told, results, more);
  let asked = 0, found = { words: [], pages: [] }, timer = null;

  const show = async () => {
    const mine = asked, begin = results.children.length;
    const rows = await Promise.all(found.pages.slice(begin, begin + AT_ONCE).map((number) => shownResult(number, found.words)));
    if (mine !== asked) return;
    results.append(...rows);
    more.hidden = results.children.length >= found.pages.length;
    if (begin && rows.length) rows[0].querySelector("a")?.focus();
  };
  const ask = async () => {
    const mine = ++asked, text = input.value;
    try {
      const answer = await find(text);
      if (mine !== asked) return; // there is a later query
      found = answer;
      results.replaceChildren();
      more.hidden = true;
      told.textContent = !found.words.length ? "" : found.pages.length ? `${found.pages.length.toLocaleString("en")} ${found.pages.length === 1 ? "page" : "pages"} found` : "No page has these words.";
      await show();
    } catch (error) {
      told.textContent = `The search does not answer: ${error.message}`;
    }
  };
  input.form?.addEventListener("submit", (event) => { event.preventDefault(); ask(); });
  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, PAUSE_MS); });
  more.addEventListener("click", show);
  input.value = new URLSearchParams(location.search).get("q") || input.value;
  if (input.value) ask();
};

const input = document.getElementById("q"), place = document.getElementById("search-results");
if (input && place) makeSearch(input, place);
