// Set up: a form for `minicrawl crawl`. Laws: an untouched field shows what the crawl would do anyway,
// by the server; the form sends what its fields show. Errors appear at their fields.

import { h, put, plain } from "/page/dom.js";
import { get, post, Refused } from "/page/server.js";

const text = (attributes) => h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...attributes });
const lines = (value) => value.split("\n").map((line) => line.trim()).filter(Boolean);
const patterns = () => h("textarea", { class: "low", rows: 2, spellcheck: "false", placeholder: "none" });
const choice = (...options) => h("select", {}, options.map(([value, label]) => h("option", { value }, label)));

const PAGES = [1, 2, 3, 4, 5, 6].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power)).concat(10 ** 7);
// A slider from 10 to 10 million pages, and then no limit; any number can be typed beside it.
const pagesBySlider = (typed) => {
  const slider = h("input", { type: "range", min: 0, max: PAGES.length, value: PAGES.length, "aria-label": "Pages, by a slider" });
  const say = () => slider.setAttribute("aria-valuetext", typed.value ? `${typed.value} pages` : "no limit");
  slider.addEventListener("input", () => { typed.value = PAGES[slider.value] ?? ""; say(); });
  const follow = () => {
    const wanted = Number(typed.value.replaceAll(/[,_ ]/g, "")), place = PAGES.findIndex((pages) => pages >= wanted);
    slider.value = !wanted || place < 0 ? PAGES.length : place;
    say();
  };
  typed.addEventListener("input", follow);
  slider.addEventListener("show", follow); // the page changed the number
  say();
  return slider;
};

export const makeSetup = (place, app) => {
  const touched = new Set(), controls = new Map(), labels = new Map();
  const named = (name, control) => {
    control.id = `f-${name}`;
    controls.set(name, control);
    for (const event of ["input", "change"]) control.addEventListener(event, () => touched.add(name));
    return control;
  };
  const label = (name, words = "") => { const found = h("label", { for: `f-${name}` }, words); labels.set(name, found); return found; };
  const wrong = (name) => h("p", { class: "wrong", id: `w-${name}`, hidden: true });
  const field = (name, control, hint, words) => h("div", { class: "field" }, label(name, words), named(name, control), hint ? h("p", { class: "hint" }, hint) : null, wrong(name));
  const checkbox = (name, words) => h("div", { class: "check" }, named(name, h("input", { type: "checkbox" })), label(name, words));

  // ------------------------------------------------------------ where to start
  const seeds = h("textarea", { placeholder: "https://example.org/\nexample.com", spellcheck: "false" });
  const one = text({ placeholder: "https://example.org/", "aria-label": "One more URL", inputmode: "url" });
  const chips = h("ul", { class: "chips", "aria-label": "Seeds" });
  const showChips = () => {
    const all = lines(seeds.value);
    put(chips, all.slice(0, 12).map((line, at) => h("li", {}, plain(line), h("button", { type: "button", "aria-label": `remove ${plain(line)}`, onclick: () => { seeds.value = all.filter((_, other) => other !== at).join("\n"); showChips(); } }, "×"))),
      all.length > 12 ? h("li", {}, `and ${all.length - 12} more `) : null);
  };
  const add = () => { if (one.value.trim()) { seeds.value = [...lines(seeds.value), one.value.trim()].join("\n"); one.value = ""; showChips(); one.focus(); } };
  one.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); add(); } });
  seeds.addEventListener("input", showChips);
  const file = h("input", { type: "file", accept: ".txt,.csv,text/plain", "aria-label": "A file with one URL per line", onchange: async () => {
    const chosen = file.files[0];
    if (!chosen) return;
    if (chosen.size > 3e6) { app.notice("The file is too large for the page: use minicrawl crawl FILE.", "bad"); return; }
    seeds.value = [...lines(seeds.value), (await chosen.text()).trim()].join("\n"); showChips(); file.value = "";
  } });
  const demo = checkbox("demo", "Crawl the demo web, which minicrawl serves itself"), demoBox = controls.get("demo");
  const demoField = field("demo-pages", h("input", { type: "number", min: 100, max: 1000000, value: 2000 }), null, "Pages of the demo web"), demoPages = controls.get("demo-pages");
  const real = h("div", {},
    h("div", { class: "row tight" }, h("div", { class: "field" }, one), h("button", { type: "button", onclick: add }, "Add")),
    chips,
    h("div", { class: "gap" }, field("seeds", seeds, "Type or paste them, or choose a file. # begins a comment.", "Seeds, one per line")),
    h("div", { class: "row gap" }, file));

  // ------------------------------------------------------------ how
  const workers = h("input", { type: "range", min: 0, max: 8, value: 1 });
  const workersAuto = h("input", { type: "checkbox", id: "workers-auto", checked: true });
  const workersShown = h("output", { for: "f-workers" }, "auto");
  const showWorkers = () => { workers.disabled = workersAuto.checked; put(workersShown, workersAuto.checked ? "auto" : workers.value); };
  workers.addEventListener("input", showWorkers);
  workersAuto.addEventListener("change", () => { touched.add("workers"); showWorkers(); });
  const pages = text({ inputmode: "numeric" });
  const pagesField = field("pages", pages, "Type a number, or move the slider.");
  const slider = pagesBySlider(pages);
  slider.addEventListener("input", () => touched.add("pages"));
  pages.after(slider);
  const output = h("div", { "aria-live": "polite" });
  const start = h("button", { type: "submit", class: "main" }, "Start");
  const dry = h("button", { type: "button" }, "Dry run");
  const resumeHint = h("p", { class: "muted small", hidden: true }, "This store has a crawl. Start resumes it with what the fields show, and adds the seeds that you give.");
  const others = h("p", { class: "muted small" });
  const form = h("form", { novalidate: true },
    h("div", { class: "grid" },
      h("section", { class: "card w6", "aria-label": "Where to start" }, h("header", {}, h("h2", {}, "Where to start")), resumeHint, demo, demoField, real),
      h("section", { class: "card w6", "aria-label": "How far" }, h("header", {}, h("h2", {}, "How far")),
        h("div", { class: "fields" },
          field("scope", choice(["any", "any page"], ["domain", "domains of the seeds"], ["host", "hosts of the seeds"], ["prefix", "paths of the seeds"])),
          field("max-depth", text({ inputmode: "numeric" })),
          field("allow", patterns()),
          field("deny", patterns()),
          pagesField,
          field("for", text({}), "such as 90s, 30m or 8h"),
          field("bytes", text({}), "such as 500MB"),
          field("until", text({}), "such as 90% of all importance, or 60% guaranteed"))),
      h("section", { class: "card", "aria-label": "How" }, h("header", {}, h("h2", {}, "How")),
        h("div", { class: "fields" },
          h("div", { class: "field" }, h("div", { class: "row tight" }, label("workers"), workersShown), named("workers", workers), h("div", { class: "check" }, workersAuto, h("label", { for: "workers-auto" }, "one for each spare core of the machine")), wrong("workers")),
          field("concurrency", text({ inputmode: "numeric" })),
          field("delay", text({}), "A longer Crawl-delay of a host is still obeyed."),
          field("contact", text({}), "for owners of servers: a URL or a mail address"),
          field("keep", choice(["none", "nothing"], ["links", "how links are written"], ["text", "the text"], ["pages", "the whole response"])),
          h("div", { class: "field" }, h("span", { class: "name" }, "Politeness"), checkbox("robots"), wrong("robots")),
          h("div", { class: "field" }, h("span", { class: "name" }, "Store"), checkbox("fresh", "Start a new crawl; the old store is renamed"), wrong("fresh"))),
        others),
      h("section", { class: "card", "aria-label": "Go" }, h("div", { class: "row" }, start, dry, h("span", { class: "muted small" }, "A dry run fetches robots.txt only and writes nothing.")), output)));

  // ------------------------------------------------------------ what the fields show
  const set = (name, value) => {
    const control = controls.get(name);
    if (name === "workers") {
      workersAuto.checked = value === "auto";
      if (value !== "auto") { workers.max = Math.max(8, Number(value)); workers.value = value; }
      showWorkers();
    } else if (control.type === "checkbox") control.checked = value;
    else {
      if (control.tagName === "SELECT" && ![...control.options].some((option) => option.value === value)) control.append(h("option", { value }, value));
      control.value = value;
      if (name === "pages") slider.dispatchEvent(new Event("show"));
    }
  };
  const fresh = controls.get("fresh");
  let asked = 0;
  const reload = async () => {
    real.hidden = demoBox.checked; demoField.hidden = !demoBox.checked;
    const turn = (asked += 1);
    delete form.dataset.shown;
    try {
      const found = await get("form", { demo: demoBox.checked ? 1 : 0, fresh: fresh.checked ? 1 : 0, "demo-pages": demoPages.value });
      if (turn !== asked) return;
      for (const [name, words] of Object.entries(found.labels)) put(labels.get(name), words);
      const isDemo = touched.has("demo") ? demoBox.checked : found.demo, size = touched.has("demo-pages") ? demoPages.value : String(found["demo-pages"]);
      if (isDemo !== demoBox.checked || size !== demoPages.value) { demoBox.checked = isDemo; demoPages.value = size; reload(); return; }
      for (const [name, value] of Object.entries(found.values)) {
        if (!touched.has(name)) set(name, value);
        const control = controls.get(name);
        if (control.type === "text") control.placeholder = found.defaults[name] || (name === "contact" ? "none" : "no limit");
      }
      put(others, found.others.length ? `Also set for this crawl: ${plain(found.others.join(", "))}.` : "");
      if (found.why) put(output, h("p", { class: "wrong" }, plain(found.why)));
      form.dataset.shown = `${demoBox.checked} ${fresh.checked} ${demoPages.value}`;
    } catch (error) { put(output, h("p", { class: "wrong" }, plain(error.message))); }
  };
  for (const control of [demoBox, fresh, demoPages]) control.addEventListener("change", reload);

  const values = () => {
    const found = {};
    for (const [name, control] of controls) found[name] = control.type === "checkbox" ? control.checked : control.value.trim();
    if (workersAuto.checked) found.workers = "auto";
    found["demo-pages"] = Number(found["demo-pages"]);
    if (found.demo) found.seeds = ""; // their field is hidden
    return found;
  };
  const complain = (fields) => {
    let first = null;
    for (const [name, control] of controls) {
      const place = form.querySelector(`#w-${name}`), said = fields[name];
      if (!place) continue;
      place.hidden = !said;
      put(place, said ? plain(said) : "");
      if (said) { control.setAttribute("aria-invalid", "true"); control.setAttribute("aria-describedby", place.id); first ||= control; }
      else { control.removeAttribute("aria-invalid"); control.removeAttribute("aria-describedby"); }
    }
    if (first) first.focus();
  };
  let runs = false;
  const run = async (path, waiting, done) => {
    complain({});
    start.disabled = dry.disabled = true;
    put(output, h("p", { class: "muted" }, waiting));
    try {
      done(await post(path, values()));
    } catch (error) {
      const fields = error instanceof Refused ? error.fields : {};
      complain(fields);
      put(output, h("p", { class: "wrong" }, Object.keys(fields).length ? "Some fields need another value." : plain(error.message)));
    } finally {
      start.disabled = runs;
      dry.disabled = false;
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run("start", "Starting …", () => { put(output); touched.clear(); fresh.checked = false; app.notice("The crawl has started."); app.show("status"); });
  });
  dry.addEventListener("click", () => run("dry-run", "Asking for robots.txt …", (found) => put(output, h("pre", { tabindex: 0 }, plain(found.text).replaceAll("\\u000a", "\n")))));
  put(place, form);
  showWorkers();
  return {
    topics: () => [],
    open: reload,
    hear: (name, value) => {
      if (name !== "crawl") return;
      resumeHint.hidden = Boolean(!value.status || value.status.missing);
      const did = runs;
      runs = Boolean(value.live || value.launched);
      put(start, runs ? "A crawl is running" : "Start");
      start.disabled = runs;
      if (did && !runs && !place.hidden) reload(); // the crawl may have changed the settings in the store
    },
  };
};
