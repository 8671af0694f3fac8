// Set up: a form for `minicrawl crawl`. What is wrong is said at its field.

import { h, put, plain } from "/page/dom.js";
import { post, Refused } from "/page/server.js";

const field = (name, label, control, hint) => {
  control.id = `f-${name}`;
  control.dataset.name = name;
  const wrong = h("p", { class: "wrong", id: `w-${name}`, hidden: true });
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, hint ? h("p", { class: "hint" }, hint) : null, wrong);
};
const text = (attributes) => h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...attributes });
const checkbox = (name, label, checked = false) => {
  const box = h("input", { type: "checkbox", id: `f-${name}`, checked });
  box.dataset.name = name;
  return h("div", { class: "check" }, box, h("label", { for: `f-${name}` }, label));
};

const PAGES = [1, 2, 3, 4, 5, 6].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power)).concat(10 ** 7);
// A slider that goes from 10 to 10 million pages, and then to no limit; any number can be typed beside it.
const pagesBySlider = (typed) => {
  const slider = h("input", { type: "range", min: 0, max: PAGES.length, value: PAGES.length, "aria-label": "Pages, by a slider" });
  const say = () => slider.setAttribute("aria-valuetext", typed.value ? `${typed.value} pages` : "no limit");
  slider.addEventListener("input", () => { typed.value = PAGES[slider.value] ?? ""; say(); });
  typed.addEventListener("input", () => {
    const wanted = Number(typed.value.replaceAll(/[,_ ]/g, "")), place = PAGES.findIndex((pages) => pages >= wanted);
    slider.value = !wanted || place < 0 ? PAGES.length : place;
    say();
  });
  say();
  return slider;
};

export const makeSetup = (place, app) => {
  const seeds = h("textarea", { placeholder: "https://example.org/\nexample.com", spellcheck: "false" });
  const one = text({ placeholder: "https://example.org/", "aria-label": "One more URL", inputmode: "url" });
  const chips = h("ul", { class: "chips", "aria-label": "Seeds" });
  const lines = () => seeds.value.split("\n").map((line) => line.trim()).filter(Boolean);
  const showChips = () => {
    const all = lines();
    put(chips, all.slice(0, 12).map((line, at) => h("li", {}, plain(line), h("button", { type: "button", "aria-label": `remove ${plain(line)}`, onclick: () => { seeds.value = all.filter((_, other) => other !== at).join("\n"); showChips(); } }, "×"))),
      all.length > 12 ? h("li", {}, `and ${all.length - 12} more `) : null);
  };
  const add = () => { if (one.value.trim()) { seeds.value = [...lines(), one.value.trim()].join("\n"); one.value = ""; showChips(); one.focus(); } };
  one.addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); add(); } });
  seeds.addEventListener("input", showChips);
  const file = h("input", { type: "file", accept: ".txt,.csv,text/plain", "aria-label": "A file with one URL per line", onchange: async () => {
    const chosen = file.files[0];
    if (!chosen) return;
    if (chosen.size > 3e6) { app.notice("The file is too large for the page: use minicrawl crawl FILE.", "bad"); return; }
    seeds.value = [...lines(), (await chosen.text()).trim()].join("\n"); showChips(); file.value = "";
  } });

  const workers = h("input", { type: "range", min: 0, max: 8, value: 1, id: "f-workers" });
  workers.dataset.name = "workers";
  const workersAuto = h("input", { type: "checkbox", id: "workers-auto", checked: true });
  const workersShown = h("output", { for: "f-workers" }, "auto");
  const showWorkers = () => { workers.disabled = workersAuto.checked; put(workersShown, workersAuto.checked ? "auto" : workers.value); };
  workers.addEventListener("input", showWorkers);
  workersAuto.addEventListener("change", showWorkers);
  const scope = h("select", {}, [["any", "any page"], ["domain", "domains of the seeds"], ["host", "hosts of the seeds"], ["prefix", "paths of the seeds"]].map(([value, label]) => h("option", { value }, label)));
  const keep = h("select", {}, [["none", "nothing"], ["text", "the text"], ["pages", "the whole response"]].map(([value, label]) => h("option", { value }, label)));
  const pages = text({ inputmode: "numeric", placeholder: "no limit" });
  const pagesField = field("pages", "Pages", pages, "Type a number, or move the slider.");
  pages.after(pagesBySlider(pages));
  const demoPages = h("input", { type: "number", min: 100, max: 1000000, value: 2000 });
  const demo = checkbox("demo", "Crawl the demo web, which minicrawl serves itself");
  const demoBox = demo.querySelector("input");
  const demoField = field("demo-pages", "Pages of the demo web", demoPages);
  const real = h("div", {},
    h("div", { class: "row tight" }, h("div", { class: "field" }, one), h("button", { type: "button", onclick: add }, "Add")),
    chips,
    h("div", { class: "gap" }, field("seeds", "Seeds, one per line", seeds, "Type or paste them, or choose a file. # begins a comment.")),
    h("div", { class: "row gap" }, file));
  const toggleDemo = () => { real.hidden = demoBox.checked; demoField.hidden = !demoBox.checked; };
  demoBox.addEventListener("change", toggleDemo);

  const output = h("div", { "aria-live": "polite" });
  const start = h("button", { type: "submit", class: "main" }, "Start");
  const dry = h("button", { type: "button" }, "Dry run");
  const resumeHint = h("p", { class: "muted small", hidden: true }, "This store has a crawl. Start resumes it and adds the seeds that you give. Its scope and politeness stay as they are, except for what you set here.");
  const form = h("form", { novalidate: true },
    h("div", { class: "grid" },
      h("section", { class: "card w6", "aria-label": "Where to start" }, h("header", {}, h("h2", {}, "Where to start")), resumeHint, demo, demoField, real),
      h("section", { class: "card w6", "aria-label": "How far" }, h("header", {}, h("h2", {}, "How far")),
        h("div", { class: "fields" },
          field("scope", "Scope", scope),
          field("max-depth", "Maximum depth, in links", text({ inputmode: "numeric", placeholder: "no limit" })),
          field("allow", "Only URLs that match (regex)", text({})),
          field("deny", "No URLs that match (regex)", text({})),
          pagesField,
          field("for", "Time", text({ placeholder: "no limit" }), "such as 90s, 30m or 8h"),
          field("bytes", "Download", text({ placeholder: "no limit" }), "such as 500MB"),
          field("until", "Importance to gather", text({ placeholder: "no limit" }), "such as 90%"))),
      h("section", { class: "card", "aria-label": "How" }, h("header", {}, h("h2", {}, "How")),
        h("div", { class: "fields" },
          h("div", { class: "field" }, h("label", { for: "f-workers" }, "Worker processes: ", workersShown), workers, h("div", { class: "check" }, workersAuto, h("label", { for: "workers-auto" }, "one for each spare core of the machine")), h("p", { class: "wrong", id: "w-workers", hidden: true })),
          field("concurrency", "Requests at once", text({ inputmode: "numeric", placeholder: "64" })),
          field("delay", "Delay between two requests to a host", text({ placeholder: "1s" }), "A longer Crawl-delay of a host is still obeyed."),
          field("contact", "Contact", text({ placeholder: "https://example.org/crawler or you@example.org" }), "for owners of servers"),
          field("keep", "What to keep of each page", keep),
          h("div", { class: "field" }, h("label", {}, "Politeness"), checkbox("robots", "Obey robots.txt", true), h("p", { class: "wrong", id: "w-robots", hidden: true })),
          h("div", { class: "field" }, h("label", {}, "Store"), checkbox("fresh", "Start a new crawl; the old store is renamed")))),
      h("section", { class: "card", "aria-label": "Go" }, h("div", { class: "row" }, start, dry, h("span", { class: "muted small" }, "A dry run fetches robots.txt only and writes nothing.")), output)));

  const values = () => {
    const found = {};
    for (const control of form.querySelectorAll("[data-name]")) {
      const name = control.dataset.name;
      found[name] = control.type === "checkbox" ? control.checked : control.value.trim();
    }
    found.workers = workersAuto.checked ? "" : Number(workers.value);
    found["demo-pages"] = Number(found["demo-pages"]);
    if (found.demo) { found.seeds = ""; if (!found.delay) found.delay = "0"; if (!found.pages) found.pages = found["demo-pages"]; }
    if (found.scope === "any") found.scope = "";
    if (found.keep === "none") found.keep = "";
    for (const name of ["allow", "deny"]) found[name] = found[name] ? [found[name]] : [];
    return found;
  };
  const complain = (fields) => {
    let first = null;
    for (const wrong of form.querySelectorAll(".wrong")) {
      const name = wrong.id.slice(2), control = form.querySelector(`#f-${name}`), said = fields[name];
      wrong.hidden = !said;
      put(wrong, said ? plain(said) : "");
      if (control) {
        if (said) { control.setAttribute("aria-invalid", "true"); control.setAttribute("aria-describedby", wrong.id); first ||= control; }
        else { control.removeAttribute("aria-invalid"); control.removeAttribute("aria-describedby"); }
      }
    }
    if (first) first.focus();
  };
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
      start.disabled = dry.disabled = !app.canSteer();
    }
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    run("start", "Starting …", () => { put(output); app.notice("The crawl has started."); app.show("status"); });
  });
  dry.addEventListener("click", () => run("dry-run", "Asking for robots.txt …", (found) => put(output, h("pre", { tabindex: 0 }, plain(found.text).replaceAll("\\u000a", "\n")))));
  put(place, form);
  toggleDemo();
  showWorkers();
  return {
    topics: () => [],
    maySteer: (may) => { start.disabled = dry.disabled = !may; },
    hear: (name, value) => {
      if (name !== "crawl") return;
      resumeHint.hidden = Boolean(!value.status || value.status.missing);
      const runs = Boolean(value.live || value.launched);
      put(start, runs ? "A crawl is running" : "Start");
      start.disabled = runs || !app.canSteer();
    },
  };
};
