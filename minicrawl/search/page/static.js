// Search of a static site. A page of your own needs an input with the id "q" in a form, an element
// with the id "search-results", and this script as a module, in the folder that minicrawl wrote.
// Laws: text of pages becomes text nodes, never markup. Files are loaded once, when a query needs
// them. A filter is never taken for words, and what is not found for certain is said.
const here = new URL(".", import.meta.url);
const AT_ONCE = 10, ENOUGH = 10, BLOCK = 30, LACKING = 10, MOST_ENDINGS = 40, AROUND = 200, PAUSE_MS = 150, MOST_TRIED = 5;
const TITLE = 1, HEADING = 2, FILE = 4, MORE = 8, GRADES = [[1, 1], [2, .8], [4, .6], [8, .4], [20, .2]];
const FORM = .2, OF_FORMS = .7, ENDING = .6; // weights of other forms of words

const loaded = new Map();
let bytes = 0;
const load = (name) => {
  if (!loaded.has(name)) loaded.set(name, fetch(new URL(name, here)).then(async (answer) => {
    if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
    const content = await answer.arrayBuffer();
    bytes += content.byteLength;
    return JSON.parse(new TextDecoder().decode(content));
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

// A query, parsed as the server does.
const PART = /(-(?!-))?(?:(site|title|url|lang|type|year|after):)?(?:"([^"]*)(?:"|$)|(\S+))/gi;
const SHAPES = { year: [/^\d{4}$/, "a year such as 2024"], after: [/^\d{4}(-\d{1,2}){0,2}$/, "a date such as 2024-05-01"] };
const parsed = (text) => {
  const query = { words: [], pieces: [], phrases: [], without: [], within: [], filters: [] };
  for (const [, minus, named = "", quoted, plain] of text.matchAll(PART)) {
    const value = quoted ?? plain, words = wordsOf(value), name = named.toLowerCase(), isOut = Boolean(minus);
    const [shape, example] = SHAPES[name] || [];
    if (shape && isOut) throw new Error(`-${name}:${value} is not a filter: ${name}: takes no minus`);
    if (shape && !shape.test(value)) throw new Error(`${name}:${value} is not ${example}`);
    if (name === "title" || name === "url") query.within.push({ name, words, isOut });
    else if (name) query.filters.push({ name, isOut, value: value.toLowerCase() });
    else if (isOut) query.without.push(words);
    else if (quoted !== undefined && words.length > 1) query.phrases.push(words);
    else {
      query.words.push(...words);
      if (words.length) query.pieces.push(words);
    }
  }
  query.sought = [...new Set([query.words, ...query.phrases, ...query.within.filter((part) => !part.isOut).map((part) => part.words)].flat())];
  return query;
};

// The place of the last of some sorted texts that is not after another one. The files are in the
// order of code points, and JavaScript compares UTF-16 units: they differ for rare scripts only.
const placeIn = (sorted, text) => {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= text) low = middle + 1; else high = middle;
  }
  return low - 1;
};

const NOWHERE = { rarity: 0, forms: [], pages: new Map(), isCommon: false };
const SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const VALUES = new Map([...SIGNS].map((sign, value) => [sign, value]));
const unpacked = (signs) => {
  const numbers = [];
  let number = 0, unit = 1;
  for (const sign of signs) {
    const value = VALUES.get(sign);
    number += value % 32 * unit;
    unit *= 32;
    if (value < 32) {
      numbers.push(number);
      [number, unit] = [0, 1];
    }
  }
  return numbers;
};
const decoded = ([rarity, forms, packed], most) => {
  const pages = new Map(), numbers = unpacked(packed);
  for (let at = 0, page = 0; at < numbers.length;) {
    const [step, score, where, count] = numbers.slice(at, at + 4), places = [];
    for (const apart of numbers.slice(at + 4, at + 4 + count)) places.push((places.at(-1) || 0) + apart);
    pages.set(page += step, { score, where, places });
    at += 4 + count;
  }
  return { rarity, forms: forms ? forms.split(" ") : [], pages, isCommon: pages.size >= most };
};

// A word with the pages that have it; `endings` are words that it begins.
const lookedUp = async (about, word) => {
  const words = about.pages ? await load(`words/${Math.max(placeIn(about.words, word), 0)}.json`) : {};
  const exact = Object.hasOwn(words, word) ? decoded(words[word], about.most_pages) : NOWHERE;
  return { ...exact, word, endings: Object.keys(words).filter((other) => other !== word && other.startsWith(word)) };
};

// Whether two words differ by a mistake, or by two if they are long; exchanged letters are one.
const distance = (word, other) => {
  let before = [], last = [...Array(other.length + 1).keys()];
  for (let row = 1; row <= word.length; row += 1) {
    const costs = [row];
    for (let column = 1; column <= other.length; column += 1) {
      let cost = Math.min(last[column] + 1, costs[column - 1] + 1, last[column - 1] + (word[row - 1] !== other[column - 1]));
      if (row > 1 && column > 1 && word[row - 1] === other[column - 2] && word[row - 2] === other[column - 1]) cost = Math.min(cost, before[column - 2] + 1);
      costs.push(cost);
    }
    [before, last] = [last, costs];
  }
  return last[other.length];
};
const nearest = async (word) => {
  if (word.length < 3 || !/^\p{L}+$/u.test(word)) return [];
  const beginnings = await load("spelling/beginnings.json"), near = [];
  for (const beginning of new Set([word.slice(0, 2), word[1] + word[0], word[0] + word[2], word[1] + word[2]])) {
    const file = beginnings.indexOf(beginning);
    const words = file < 0 ? [] : await load(`spelling/${file}.json`);
    for (let at = 0; at < words.length; at += 2) {
      const other = words[at], apart = Math.abs(other.length - word.length) > 2 || other === word ? 9 : distance(word, other);
      if (apart <= (word.length < 7 ? 1 : 2)) near.push([other, words[at + 1] * (apart > 1 ? 1e-6 : other.length === word.length && [...other].sort().join() === [...word].sort().join() ? 4 : 1)]);
    }
  }
  return near.sort((one, other) => other[1] - one[1]).slice(0, MOST_TRIED).map(([other]) => other);
};

// Whether a page has words side by side. Behind the last known place of a word that a page has more
// often, and on pages beyond the best of a common word, it may be anywhere.
const together = (page, looked, isCertain = false) => {
  const hits = looked.map((one) => one.pages.get(page));
  if (hits.some((hit, nth) => !hit && (isCertain || !looked[nth].isCommon))) return false;
  const first = Math.max(hits.findIndex((hit) => hit && !(hit.where & MORE)), hits.findIndex(Boolean));
  const fits = (hit, place) => !hit || hit.places.includes(place) || (!isCertain && hit.where & MORE && place > hit.places.at(-1));
  return first >= 0 && hits[first].places.some((place) => hits.every((hit, nth) => fits(hit, place - first + nth)));
};
const haveTogether = async (about, looked) => [...looked[0].pages.keys()].some((page) => together(page, looked, true)) || (await lookedUp(about, looked.map((one) => one.word).join("_"))).pages.size > 0;

// The query with words that no page has replaced, and words written as one that no page has together.
const corrected = async (about, text, query) => {
  let meant = text;
  const replace = (word, other) => { meant = meant.replace(new RegExp(`(?<![\\p{L}\\p{N}:"])${word}(?![\\p{L}\\p{N}"])`, "iu"), other); };
  for (const [nth, word] of query.words.entries()) {
    const looked = await lookedUp(about, word);
    if (looked.pages.size || (nth === query.words.length - 1 && looked.endings.length)) continue;
    const [other] = word.length > 3 ? await nearest(word) : [];
    if (other) replace(word, other);
  }
  for (const words of meant === text ? query.pieces.filter((piece) => piece.length > 1) : []) {
    const looked = await Promise.all(words.map((word) => lookedUp(about, word)));
    if (await haveTogether(about, looked)) continue;
    for (const [nth, word] of words.entries()) for (const other of await nearest(word)) {
      const instead = await lookedUp(about, other);
      if (meant === text && instead.pages.size && await haveTogether(about, looked.map((one, at) => at === nth ? instead : one))) replace(word, other);
    }
  }
  return meant;
};

// The pages that a filter leaves, as a function of the page.
const filtered = async ({ name, value, isOut }) => {
  const values = await load(`facets/${name}.json`);
  if (name === "after") {
    const [year, month, day] = value.split("-").map(Number), least = Date.UTC(year, (month || 1) - 1, day || 1) / 864e5;
    return (page) => values.days[page] >= least;
  }
  const plain = name === "lang" ? value.split("-")[0] : name === "site" ? value.replace(/^https?:\/\//, "").replace(/[/?#].*/, "").replace(/\.$/, "") : value;
  const pages = new Set();
  let page = 0;
  for (const step of Object.hasOwn(values, plain) ? values[plain] : []) pages.add(page += step);
  return { keeps: (number) => pages.has(number) !== isOut, name, isOut, pages };
};

// How near a word probably is to the last place of another one, where its own places are not known.
const expected = ({ where, places }, other) => {
  const last = places.at(-1), isBeyond = where & MORE && other.places.at(-1) > last;
  return isBeyond ? Math.max(2, (last - places[0]) / (places.length - 1) / 2) : Infinity;
};

// The score of a page for words, as the ranking of the server has it, but for what is only in texts.
const scored = (about, page, looked, pieces, total) => {
  const hits = looked.map((one) => one.pages.get(page)), count = looked.length;
  let score = 0, share = 0, named = 0, written = 0, titled = 0, inTitle = 0, title = 0, near = 0, isForm = false, isNear = true;
  const reach = count < 3 ? Infinity : count < 5 ? 650 : 100; // beyond, long pages have all words of a question by chance
  hits.forEach((hit, nth) => {
    const part = looked[nth].rarity / total;
    if (hit || looked[nth].isCommon) share += part;
    if (!hit) return;
    score += hit.score * (hit.factor || 1);
    isForm ||= Boolean(hit.factor);
    if (hit.where & TITLE) { titled += part; inTitle += 1; title = hit.where >> 4; }
  });
  for (const piece of pieces) {
    const hit = piece.pages.get(page), part = piece.rarity / total;
    if (!hit || hit.factor) continue;
    written += part;
    if (hit.where & (TITLE | HEADING | FILE)) named += part;
    if (piece.parts) score += 2 * Math.max(...piece.parts.map((one) => one.pages.get(page)?.score || 0)); // as the index prefers them
  }
  for (let nth = 1; nth < count; nth += 1) {
    const [one, other] = [hits[nth - 1], hits[nth]];
    if (!one || !other) continue;
    let apart = Math.min(expected(one, other), expected(other, one));
    for (const place of one.places) for (const next of other.places) apart = Math.min(apart, next > place ? next - place : place - next + 1);
    const grade = (GRADES.find(([most]) => apart <= most) || [0, .05])[1];
    if (apart > reach && !((one.where | other.where) & (TITLE | HEADING | FILE))) isNear = false;
    near += grade * (one.where & other.where & TITLE ? 1 : one.where & other.where & HEADING ? .7 : .5);
  }
  const says = inTitle && inTitle >= title ? titled : 0, exact = inTitle / count * Math.min(1, inTitle / (title || 1));
  const isPhrase = count > 1 && hits.every(Boolean) && together(page, looked, true);
  const importance = (100 - about.importance.findIndex((pages) => pages > page)) / 100;
  const all = score * share ** 3 * (1 + 3 * says) * (1 + .375 * exact) * (1 + 8 * named) * (1 + 3 * written) * (1 + 2 * (isPhrase || (count === 1 && written > 0)))
    * (1 + 2.5 * importance / count) * (1 + 6 * (count > 1 ? near / (count - 1) : 0)) * (isForm ? OF_FORMS : 1);
  return { frequency: score, score: all, isNear };
};

// Rows in the order of the server: the best by frequency of words are ordered by score, then the next.
// Some that lack words are in the first block, behind the pages that have all near each other.
const mostFrequent = (rows) => rows.sort((one, other) => other.frequency - one.frequency || one.page - other.page);
const inBlocks = (whole, lacking) => {
  for (const rows of [whole, lacking]) mostFrequent(rows);
  const most = LACKING + Math.max(BLOCK - whole.length, 0), blocks = [[...whole.slice(0, BLOCK), ...lacking.slice(0, most)]];
  for (let at = BLOCK; at < whole.length; at += BLOCK) blocks.push(whole.slice(at, at + BLOCK));
  for (let at = most; at < lacking.length; at += BLOCK) blocks.push(lacking.slice(at, at + BLOCK));
  return blocks.flatMap((block) => block.sort((one, other) => other.isComplete - one.isComplete || other.score - one.score || one.page - other.page));
};

// Adds the pages of other forms of a word, which count less than the word itself.
const withForms = async (about, one, isLast) => {
  const pages = new Map(one.pages), endings = isLast && one.word.length > 1 && one.pages.size < ENOUGH ? one.endings.slice(0, MOST_ENDINGS) : [];
  // As `postgresql` for `postgres`: no stemmer knows all endings.
  const longer = one.word.length < 6 ? [] : one.endings.filter((other) => other.length <= one.word.length * 4 / 3);
  for (const [others, factor] of [[[...one.forms, ...longer], FORM], [endings, ENDING]]) for (const other of others) {
    for (const [page, hit] of (await lookedUp(about, other)).pages) if (!pages.has(page)) pages.set(page, { ...hit, factor });
  }
  return { ...one, pages };
};

const answered = async (about, query) => {
  const exact = await Promise.all(query.sought.map((word) => lookedUp(about, word)));
  const looked = await Promise.all(exact.map((one) => withForms(about, one, one.word === query.words.at(-1))));
  const byWord = (word) => exact[query.sought.indexOf(word)], look = (words) => Promise.all(words.map((word) => lookedUp(about, word)));
  const filters = await Promise.all(query.filters.map(filtered));
  const tests = filters.map((one) => one.keeps ? (page) => one.isOut ? one.keeps(page) : filters.some((other) => other.name === one.name && !other.isOut && other.keeps(page)) : one);
  for (const phrase of query.phrases) tests.push((page) => together(page, phrase.map(byWord)));
  for (const { name, words, isOut } of query.within) {
    const hits = await look(words), bit = name === "title" ? TITLE : FILE;
    tests.push((page) => hits.every((one) => (one.pages.get(page)?.where || 0) & bit) !== isOut);
  }
  for (const words of query.without) {
    const hits = await look(words);
    if (hits.length) tests.push((page) => !(hits.every((one) => one.pages.has(page)) && (hits.length === 1 || together(page, hits))));
  }
  const pieces = await Promise.all(query.pieces.map(async (words) => {
    const parts = words.map(byWord);
    return words.length > 1 ? { ...(await lookedUp(about, words.join("_"))), parts, rarity: parts.reduce((sum, one) => sum + one.rarity, 0) } : parts[0];
  }));
  const total = looked.reduce((sum, one) => sum + one.rarity, 0) || 1, stops = new Set(about.stop_words);
  const candidates = new Set(looked.length ? looked.flatMap((one) => [...one.pages.keys()]) : Array(about.pages).keys());
  const needed = looked.filter((one) => !one.isCommon && !(stops.has(one.word) && looked.some((other) => !stops.has(other.word))));
  const rows = [...candidates].filter((page) => tests.every((test) => test(page))).map((page) => ({
    page, ...(looked.length ? scored(about, page, looked, pieces, total) : { frequency: -page, score: -page, isNear: true }),
  }));
  for (const row of rows) {
    row.count = needed.filter((one) => one.pages.has(row.page)).length;
    row.isComplete = row.count === needed.length && row.isNear;
  }
  const whole = rows.filter((row) => row.count === needed.length), lacking = rows.filter((row) => row.count < needed.length);
  const chosen = inBlocks(whole, whole.length < ENOUGH ? lacking : mostFrequent(lacking.filter((row) => row.count >= needed.length / 2)).slice(0, LACKING));
  const common = exact.filter((one) => one.isCommon).map((one) => one.word);
  const notes = common.length && (tests.length || looked.length === 1) ? [`Of the pages with ${common.map((word) => `“${word}”`).join(", ")}, the best ${about.most_pages.toLocaleString("en")} were looked at.`] : [];
  return { words: query.sought, pages: chosen.map((row) => row.page), notes };
};

export const find = async (text) => {
  const about = await load("about.json"), query = parsed(text);
  if (!query.sought.length && !query.filters.length) return { words: [], pages: [], notes: text.trim() ? ["There is no word to search for."] : [] };
  const meant = await corrected(about, text, query);
  const answer = await answered(about, meant === text ? query : parsed(meant));
  if (meant !== text) answer.notes.unshift(`No page has the words as typed. Shown is “${meant}”.`);
  if (about.indexed) answer.notes.push(`Indexed ${about.indexed.pages.toLocaleString("en")} of ${about.indexed.of.toLocaleString("en")} pages.`);
  return answer;
};

export const pageAt = async (number) => load(`pages/${Math.floor(number / (await load("about.json")).pages_a_folder)}/${number}.json`);

const element = (tag, attributes, ...children) => {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...children);
  return made;
};

// The passage with the most different words, marked.
const passage = (text, words) => {
  const isSought = (piece) => words.some((word, at) => piece === word || (at === words.length - 1 && piece.startsWith(word)));
  const pieces = text.split(/([\p{L}\p{N}\p{M}]+)/u), marked = new Map();
  let at = 0;
  for (const piece of pieces) {
    if (piece && wordsOf(piece).some(isSought)) marked.set(at, piece.toLowerCase());
    at += piece.length;
  }
  const starts = [...marked.keys()];
  const within = (start) => new Set(starts.filter((one) => one >= start && one < start + AROUND - 60).map((one) => marked.get(one))).size;
  const first = starts.reduce((best, start) => within(start) > within(best) ? start : best, starts[0] || 0);
  const begin = first < 60 ? 0 : text.indexOf(" ", first - 60) + 1, shown = [];
  at = 0;
  for (const piece of pieces) {
    if (at >= begin && at < begin + AROUND && piece) shown.push(marked.has(at) ? element("mark", {}, piece) : piece);
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
  const status = element("p", {}), results = element("ol", { id: "results" });
  const more = element("button", { type: "button", hidden: true }, "More results");
  status.setAttribute("role", "status");
  results.setAttribute("aria-label", "Results");
  place.append(status, results, more);
  let asked = 0, answer = { words: [], pages: [], notes: [] }, timer = null;

  const show = async () => {
    const mine = asked, begin = results.children.length;
    const rows = await Promise.all(answer.pages.slice(begin, begin + AT_ONCE).map((number) => shownResult(number, answer.words)));
    if (mine !== asked) return;
    results.append(...rows);
    more.hidden = results.children.length >= answer.pages.length;
    if (begin && rows.length) rows[0].querySelector("a")?.focus();
  };
  const ask = async () => {
    const mine = ++asked, text = input.value, before = bytes;
    try {
      const found = await find(text);
      if (mine !== asked) return; // there is a later query
      answer = found;
      results.replaceChildren();
      more.hidden = true;
      await show();
      if (mine !== asked) return;
      const count = found.pages.length, size = `${Math.ceil((bytes - before) / 1000).toLocaleString("en")} kB loaded.`;
      const said = count ? `${count.toLocaleString("en")} ${count === 1 ? "page" : "pages"} found.` : found.words.length ? "No page has these words." : "";
      status.textContent = [...found.notes, said, bytes > before ? size : ""].filter(Boolean).join(" ");
    } catch (error) {
      results.replaceChildren();
      status.textContent = error.message;
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
