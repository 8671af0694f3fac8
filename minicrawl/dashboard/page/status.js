// Status: the coordinator and its crawlers, figures and curves, hosts, errors and the log.

import { h, put, card, moment, facts, table, td, count, fixed, share, size, span, clock, plain, cut, pace as paceOf } from "/page/dom.js";
import { post, latest } from "/page/server.js";
import { hasCurve, curves, logLog, bars } from "/page/charts.js";
import { clusterFacts, clusterShare, makeNodes } from "/page/cluster.js";

const MOST_LINES = 2000;

export const makeStatus = (place, app) => {
  let crawl = null, history = null, graph = null, hosts = null, errors = null;
  const at = Object.fromEntries(["coordinator", "crawlers", "figures", "graph", "curves", "degrees", "hosts", "errors", "kind"].map((block) => [block, moment()]));
  const askKind = latest();
  let lastId = 0, lines = [], notesSeen = 0, used = new Map();
  const act = async (body, said) => {
    try { await post("control", body); if (said) app.notice(said); } catch (error) { app.notice(error.message, "bad"); }
  };

  // ------------------------------------------------------------ the coordinator
  const coordinatorFacts = h("div");
  const progress = h("div");
  const pause = h("button", { type: "button", onclick: () => act({ verb: (crawl?.cluster?.doing ?? crawl?.live?.state) === "paused" ? "resume" : "pause" }) }, "Pause");
  const stop = h("button", { type: "button", class: "danger", onclick: () => sure.showModal() }, "Stop");
  const workers = h("input", { type: "range", min: 0, max: 8, value: 1, id: "s-workers", "aria-describedby": "s-workers-hint" });
  const workersShown = h("output", { for: "s-workers" }, "–");
  let moving = 0;
  workers.addEventListener("input", () => { moving = Date.now(); put(workersShown, workers.value); });
  workers.addEventListener("change", () => { moving = Date.now(); act({ verb: "set", values: { workers: Number(workers.value) } }); });
  const setting = (name, label, hint) => {
    const input = h("input", { type: "text", id: `s-${name}`, autocomplete: "off" });
    const wrong = h("p", { class: "wrong", role: "alert", hidden: true });
    const set = async () => {
      wrong.hidden = true;
      try { await post("control", { verb: "set", values: { [name]: input.value.trim() || "none" } }); input.dataset.touched = ""; app.notice(`${label}: ${input.value || "no limit"}`); } catch (error) { put(wrong, plain(error.message)); wrong.hidden = false; }
    };
    input.addEventListener("input", () => { input.dataset.touched = "yes"; });
    input.addEventListener("keydown", (event) => { if (event.key === "Enter") set(); });
    return { input, view: h("div", { class: "field" }, h("label", { for: input.id }, label), h("div", { class: "row tight", style: null }, h("div", { class: "grow" }, input), h("button", { type: "button", onclick: set, "aria-label": `Set ${label}` }, "Set")), hint ? h("p", { class: "hint" }, hint) : null, wrong) };
  };
  const delay = setting("delay", "Delay (s)"), concurrency = setting("concurrency", "Requests at once"), pages = setting("pages", "Pages");
  const url = h("input", { type: "text", id: "s-add", placeholder: "https://example.org/", inputmode: "url" });
  const addWrong = h("p", { class: "wrong", role: "alert", hidden: true });
  const add = async () => {
    addWrong.hidden = true;
    try { await post("control", { verb: "add", urls: url.value.split(/\s+/).filter(Boolean) }); app.notice(`added ${url.value}`); url.value = ""; } catch (error) { put(addWrong, plain(error.message)); addWrong.hidden = false; }
  };
  url.addEventListener("keydown", (event) => { if (event.key === "Enter") add(); });
  const workersField = h("div", { class: "field gap" }, h("label", { for: "s-workers" }, "Worker processes: ", workersShown), workers, h("p", { class: "hint", id: "s-workers-hint" }, "0: the coordinator does all the work itself"));
  const addField = h("div", { class: "field" }, h("label", { for: "s-add" }, "One more URL"), h("div", { class: "row tight" }, h("div", { class: "grow" }, url), h("button", { type: "button", onclick: add }, "Add")), addWrong);
  const steering = h("div", { class: "gap" },
    h("div", { class: "row" }, pause, stop), workersField,
    h("details", { class: "gap" }, h("summary", {}, "Change more while it runs"), h("div", { class: "fields gap" }, delay.view, concurrency.view, pages.view, addField)));
  const ofOneMachine = [workersField, delay.view, concurrency.view, addField];
  const sure = h("dialog", { "aria-labelledby": "sure-title" }, h("h2", { id: "sure-title" }, "Stop the crawl?"), h("p", {}, "Requests in flight finish, and nothing is lost. The same command resumes the crawl."),
    h("div", { class: "row" }, h("button", { type: "button", class: "danger", onclick: () => { sure.close(); act({ verb: "stop" }); } }, "Stop it"), h("button", { type: "button", onclick: () => sure.close() }, "Let it run")));

  // ------------------------------------------------------------ places
  const crawlers = h("div", { class: "scroll" }), figures = h("div"), curvesAt = h("div", { class: "grid" }), degrees = h("div"), hostsAt = h("div", { class: "scroll high", tabindex: 0, role: "region", "aria-label": "Hosts, a table" }), errorsAt = h("div", { class: "scroll" }), kindAt = h("div", { class: "scroll high", "aria-live": "polite" });
  const coordinatorTitle = h("h2", {}, "Coordinator"), crawlersTitle = h("h2", {}, "Crawlers"), drawNodes = makeNodes(crawlers, app, act);
  const hostsTitle = h("span", { class: "muted small" });
  const graphFigures = h("div");
  const logAt = h("div", { class: "log", tabindex: 0, role: "log", "aria-label": "Log", "aria-live": "off" });
  const filter = h("input", { type: "search", placeholder: "filter: words of the line", "aria-label": "Filter the log" });
  const onlyTrouble = h("input", { type: "checkbox", id: "log-trouble" }), follow = h("input", { type: "checkbox", id: "log-follow", checked: true });
  const logBox = h("details", {}, h("summary", {}, h("h2", { class: "inline" }, "Log")), h("div", { class: "row gap" }, h("div", { class: "grow" }, filter), h("div", { class: "check" }, onlyTrouble, h("label", { for: "log-trouble" }, "only trouble")), h("div", { class: "check" }, follow, h("label", { for: "log-follow" }, "follow"))), logAt);
  logBox.addEventListener("toggle", () => app.refresh());
  const drawLog = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (line) => (!onlyTrouble.checked || line.kind) && words.every((word) => line.text.toLowerCase().includes(word));
    put(logAt, lines.filter(fits).slice(-600).map((line) => h("div", { class: line.kind }, h("time", {}, clock(line.at)), " ", line.text)));
    if (follow.checked) logAt.scrollTop = logAt.scrollHeight;
  };
  for (const control of [filter, onlyTrouble, follow]) control.addEventListener("input", drawLog);

  for (const waiting of [figures, graphFigures, curvesAt, degrees, hostsAt, errorsAt, crawlers]) put(waiting, h("div", { class: "empty" }, "reading …"));
  put(place, sure, h("div", { class: "grid" },
    card("Coordinator", "w4", h("header", {}, coordinatorTitle, at.coordinator), coordinatorFacts, progress, steering),
    h("div", { class: "stack w8" },
      card("Crawlers", "", h("header", {}, crawlersTitle, at.crawlers), crawlers),
      card("Statistics", "", h("header", {}, h("h2", {}, "Statistics"), at.figures), figures),
      card("Graph of the pages", "", h("header", {}, h("h2", {}, "Graph of the pages"), at.graph), graphFigures)),
    card("Curves", "", h("header", {}, h("h2", {}, "Curves"), at.curves), curvesAt),
    card("Degree distributions", "", h("header", {}, h("h2", {}, "Degree distributions"), at.degrees), degrees),
    card("Hosts", "w7", h("header", {}, h("h2", {}, "Hosts"), hostsTitle, at.hosts), hostsAt),
    card("Errors", "w5", h("header", {}, h("h2", {}, "Errors by kind"), at.errors), errorsAt, kindAt),
    card("Log", "", logBox)));

  // ------------------------------------------------------------ drawing
  const bar = (label, part, text, kind = "") => { const inner = h("i"); inner.style.width = `${Math.min(100 * part, 100)}%`; return h("div", { class: "gap" }, h("div", { class: "row" }, h("span", { class: "small muted" }, label), h("strong", { class: "small end" }, text)), h("div", { class: `progress ${kind}`, role: "progressbar", "aria-label": label, "aria-valuenow": Math.round(100 * part), "aria-valuemin": 0, "aria-valuemax": 100 }, inner)); };
  const drawCluster = () => {
    const { cluster, status } = crawl, runs = cluster.doing === "running" || cluster.doing === "paused";
    if (crawlersTitle.textContent !== "Nodes") { for (const [title, name] of [[coordinatorTitle, "Cluster"], [crawlersTitle, "Nodes"]]) { put(title, name); title.closest("section").setAttribute("aria-label", name); } for (const one of ofOneMachine) one.hidden = true; }
    put(coordinatorFacts, clusterFacts(cluster));
    const ofBudget = cluster.why ? null : clusterShare(cluster);
    put(progress, ofBudget ? bar("pages of the budget", ...ofBudget) : null, status.missing ? null : bar("importance gathered", status.importance_gathered || 0, share(status.importance_gathered), "gold"));
    steering.hidden = !runs;
    put(pause, cluster.doing === "paused" ? "Resume" : "Pause");
    pause.className = cluster.doing === "paused" ? "main" : "";
    pause.disabled = stop.disabled = false;
    if (!pages.input.dataset.touched && document.activeElement !== pages.input) pages.input.value = cluster.budget ?? "";
    if (!cluster.why) drawNodes(cluster.nodes);
  };
  const drawCoordinator = () => {
    if (crawl.cluster) { drawCluster(); return; }
    const { live, status, ended, launched } = crawl, runs = Boolean(live && live.crawlers);
    const state = runs ? live.state : live ? live.why : launched ? "finishing: the ranks converge" : "not running";
    const said = ended && ended.said ? ended.said.trim().split("\n").slice(-1)[0] : "";
    if (status.missing) { put(coordinatorFacts, h("p", {}, plain(status.missing)), h("button", { type: "button", class: "main", onclick: () => app.show("setup") }, "Set up a crawl")); put(progress); steering.hidden = true; return; }
    put(coordinatorFacts, facts([
      ["state", plain(state)], runs ? ["process", String(live.pid)] : null, runs ? ["running since", clock(live.began)] : null,
      runs ? ["requests in flight", count(live.in_flight)] : null,
    ], "lines"), runs ? h("p", { class: "small muted" }, "last: ", cut(plain(live.last_event), 160)) : said ? h("p", { class: "small muted" }, "the crawl ended, and its last line is: ", plain(said)) : null,
      !runs && !launched && status.command ? h("p", { class: "small" }, "Resume with ", h("code", {}, plain(status.command)), " or in “Set up”.") : null);
    const budget = runs ? live.settings.pages : null;
    const done = (label, most) => bar(label, status.pages_fetched / Math.max(most, 1), `${count(status.pages_fetched)} of ${count(most)}, ${share(Math.min(status.pages_fetched / Math.max(most, 1), 1), 0)}`);
    // In a long log nothing is converged while a crawl runs, and its own estimate is the newest.
    const isConverged = status.convergence && !status.convergence.steps_since;
    const gathered = runs && !isConverged ? live.importance_gathered : status.importance_gathered;
    put(progress, budget ? done("pages of the budget", budget) : done("pages read of those known", status.pages_known),
      bar("importance gathered", gathered || 0, share(gathered), "gold"));
    steering.hidden = !runs;
    if (!runs) return;
    put(pause, live.state === "paused" ? "Resume" : "Pause");
    pause.className = live.state === "paused" ? "main" : "";
    pause.disabled = stop.disabled = live.state === "stopping";
    if (Date.now() - moving > 3000) { workers.max = Math.max(8, live.workers); workers.value = live.workers; put(workersShown, String(live.workers)); }
    for (const [one, name] of [[delay, "delay"], [concurrency, "concurrency"], [pages, "pages"]]) if (!one.input.dataset.touched && document.activeElement !== one.input) one.input.value = live.settings[name] ?? "";
  };
  const drawCrawlers = () => {
    if (crawl.cluster) return; // its nodes are shown instead
    const live = crawl.live;
    if (!live || !live.crawlers) { put(crawlers, h("div", { class: "empty" }, "No process is crawling.")); used = new Map(); return; }
    const now = performance.now() / 1000, next = new Map();
    const rows = live.crawlers.map((one) => {
      const before = used.get(one.pid);
      const passed = before ? now - before.at : 0;
      const cpu = before && one.cpu_s !== null && passed > 0.9 ? Math.max(0, (one.cpu_s - before.cpu) / passed) : before?.shown;
      const kept = before && passed < 5 ? { ...before, shown: cpu } : { cpu: one.cpu_s, at: now, shown: cpu };
      next.set(one.pid, kept);
      const doing = one.under_way ? cut(plain(one.doing), 90) + (one.under_way > 1 ? ` and ${one.under_way - 1} more` : "") : one.phase === "ready" ? "idle" : one.phase === "ending" ? "shutting down" : "starting";
      return h("tr", { "data-pid": one.pid }, td(one.name), td(one.pid === null ? "–" : String(one.pid), "n"), td(doing, "url"), td(one.since ? clock(one.since) : "–", "n"), td(count(one.begun), "n"), td(kept.shown === undefined || kept.shown === null ? "–" : share(kept.shown, 0), "n"), td(size(one.memory), "n"));
    });
    used = next;
    put(crawlers, table([["crawler"], ["process", "n"], ["doing now"], ["last request", "n"], ["requests", "n"], ["CPU", "n"], ["memory", "n"]], rows, "Crawlers"));
  };
  const sum = (counts) => (counts ? Object.values(counts).reduce((a, b) => a + b, 0) : null);
  const drawFigures = () => {
    const status = crawl.status;
    at.figures.say(status.at);
    if (status.missing) { put(figures, h("div", { class: "empty" }, crawl.cluster ? plain(status.missing) : "nothing yet")); return; }
    const crawled = status.pages_fetched, running = status.running_s;
    const failed = sum(status.failures), notPages = (status.refusals || {}).type || 0, errors = failed === null ? null : failed + notPages;
    const maximum = crawl.cluster ? crawl.cluster.budget : crawl.live && crawl.live.settings ? crawl.live.settings.pages : graph && graph.latest ? graph.latest.maximum : undefined;
    put(figures, facts([
      ["crawl time", span(running)], ["URLs a second", running ? paceOf(crawled / running) : "–"], ["downloaded", size(status.bytes)], ["throughput", running ? `${size(status.bytes / running)}/s` : "–"],
      ["crawled", count(crawled)], ["errors", count(errors), notPages ? `${count(notPages)} of them not HTML` : ""], ["total", crawled === null ? "–" : count(crawled + errors)], ["maximum", maximum === undefined ? "–" : maximum === null ? "no limit" : count(maximum)],
      ["known", count(status.pages_known), `on ${count(status.hosts)} hosts`], ["waiting", count(status.pages_unread)], ["refused", count(sum(status.refusals))], ["duplicates", count(sum(status.standing_for_others))],
    ]));
  };
  // A batch is measured anew, exact figures were kept up with each page: both are exact.
  const basis = ({ at, basis: of, distances_basis: ofDistances, distances_at: measured }) => {
    const named = (kind) => (["batch", "exact"].includes(kind) ? "exact figures" : kind);
    const other = named(of) === named(ofDistances) ? "" : ` ${named(ofDistances)},`;
    return at === measured && !other ? named(of) : `${named(of)}; distances${other} as of ${clock(measured)}`;
  };
  const drawGraph = () => {
    const latest = graph.latest, outline = latest && latest.outline;
    for (const one of [at.graph, at.degrees]) one.say(latest && latest.at);
    if (!outline) { put(graphFigures, h("div", { class: "empty" }, unmeasured())); return; }
    const rough = (text) => (outline.is_exact ? text : `≈ ${text}`);
    put(graphFigures, facts([
        [latest.graph_of === "known" ? "pages, read or not" : "pages read", count(outline.nodes)], ["links", count(outline.edges)],
        ["strong components", count(outline.strong_components), "", "Groups of pages in which each page leads to all others"], ["largest of them", count(outline.largest_strong), outline.largest_strong === 1 ? "page" : "pages"], ["weak components", count(outline.weak_components), "", "Groups of pages that links join, in whichever direction"], ["dangling pages", count(outline.dangling), "", "Pages without links to others"],
        ["diameter", `${outline.is_exact ? "" : "≥ "}${count(outline.diameter)}`, "", "Links between the two pages that are farthest apart"], ["mean distance", rough(fixed(outline.mean_distance, 2)), outline.mean_distance_error ? `± ${fixed(outline.mean_distance_error, 2)}` : "", "Links from one page to another, on average"], ["reciprocity", share(outline.reciprocity), "", "Share of the links that another one leads back"],
      ]), h("p", { class: "small muted" }, basis(latest)));
  };
  const drawCurves = () => {
    const sums = history?.sums || [], pace = [];
    for (let at = 0; at < sums.length; at += 1) {
      let from = at; while (from > 0 && sums[at][0] - sums[from][0] < 5) from -= 1;
      const seconds = Math.max(sums[at][0] - (from === at ? sums[at][0] - 1 : sums[from][0]), 0.5);
      pace.push([sums[at][0], from === at ? 0 : (sums[at][1] - sums[from][1]) / seconds]);
    }
    const column = (place) => sums.map((row) => [row[0], row[place]]);
    const drawn = (graph && graph.curves) || [];
    const of = (at) => drawn.map((row) => [row[0], row[at]]);
    const figure = (title, series, format) => (series.some(({ points }) => hasCurve(points)) ? h("div", { class: "w4 plot" }, h("h3", {}, title), curves(title, series, format)) : null);
    const figures = [
      figure("requests", [{ name: "requests", points: column(1) }, { name: "failed", points: column(2) }]),
      figure("requests a second", [{ name: "a second", points: pace }]),
      figure("downloaded", [{ name: "bytes", points: column(3) }], (v) => size(v)),
      figure("importance gathered", [{ name: "share", points: of(1) }], (v) => share(v, 0)),
      figure("components", [{ name: "strong", points: of(2) }, { name: "weak", points: of(3) }, { name: "largest strong, pages", points: of(4) }]),
      figure("distances", [{ name: "diameter", points: of(5) }, { name: "mean distance", points: of(6) }]),
    ].filter(Boolean);
    const none = crawl?.live?.crawlers ? "The curves begin after a few seconds." : "The crawl was too short for curves.";
    put(curvesAt, figures.length ? figures : h("div", { class: "empty" }, none));
  };
  const why = (view) => (crawl?.status?.missing ? "nothing yet" : plain(view.error));
  const unmeasured = () => (graph.error ? why(graph) : "The graph is too large for the dashboard to measure, or its links are not stored. minicrawl status --graph measures a large graph.");
  const drawDegrees = () => {
    const outline = graph.latest && graph.latest.outline;
    if (!outline) { put(degrees, h("div", { class: "empty" }, unmeasured())); return; }
    const ranges = (bins) => { const found = new Array(8).fill(0); for (const [least, n] of bins) found[Math.min(Math.floor(least / 20), 7)] += n; return found; };
    const atLeast = (bins, links) => bins.reduce((sum, [least, n]) => sum + (least >= links ? n : 0), 0);
    const points = (bins) => bins.filter(([least]) => least > 0).map(([least]) => [least, atLeast(bins, least)]);
    const law = (name, { bins, exponent }) => ({ name, points: points(bins), exponent, tail: atLeast(bins, 6) });
    const ins = ranges(outline.in_degrees.bins), outs = ranges(outline.out_degrees.bins);
    put(degrees, h("div", { class: "grid" },
      h("div", { class: "w5 scroll" }, bars("Pages by their links", ["links", "in", "out"], ins.map((n, at) => [at === 7 ? "140+" : `${20 * at}–${20 * at + 19}`, n, outs[at]]).slice(0, 1 + ins.findLastIndex((n, at) => n || outs[at])))),
      h("div", { class: "w7 plot" }, logLog("Degree distributions", [law("in", outline.in_degrees), law("out", outline.out_degrees)], "links", "pages"))));
  };
  const drawHosts = () => {
    if (!hosts || !hosts.hosts) { put(hostsAt, h("div", { class: "empty" }, hosts && hosts.error ? why(hosts) : "nothing yet")); return; }
    put(hostsTitle, hosts.known > hosts.hosts.length ? `${count(hosts.hosts.length)} of ${count(hosts.known)}` : count(hosts.known));
    const next = crawl?.live || crawl?.cluster ? [["next", "n"]] : [];
    const due = (host) => { if (host.until * 1000 > Date.now()) return `paused until ${clock(host.until)}`; if (!host.waiting) return "–"; if (host.in_use) return "asked now"; if (host.wait_s === null) return "–"; return host.wait_s > 0.5 ? `in ${fixed(host.wait_s, 0)} s` : "now"; };
    put(hostsAt, table([["host"], ["read", "n"], ["waiting", "n"], ["failed", "n"], ["importance", "n"], ...next], hosts.hosts.map((host) => h("tr", {}, td([plain(host.origin), host.trouble ? h("div", { class: "title" }, plain(host.trouble)) : null], "url"), td(count(host.read), "n"), td(count(host.waiting), "n"), td(count(host.failed), "n"), td(share(host.importance, 2), "n"), next.length ? td(due(host), "n") : null)), "Hosts"));
  };
  const showKind = async (kind) => {
    put(kindAt, h("p", { class: "muted" }, "…"));
    try {
      const answer = await askKind("errors", { kind });
      if (!answer) return; // another kind was chosen meanwhile
      const found = answer.pages;
      at.kind.say(answer.at);
      put(kindAt, h("h3", {}, `${plain(kind)}: the latest ${found.length} `, at.kind), table([["page"], ["at", "n"], ["detail"]], found.map((page) => h("tr", {}, td(h("button", { type: "button", class: "link", onclick: () => app.explain(page.url) }, cut(plain(page.url), 120)), "url"), td(page.at ? clock(Date.parse(page.at) / 1000) : "never", "n"), td([page.status ? `${page.status} ` : "", plain(page.detail)]))), `Pages: ${plain(kind)}`));
    } catch (error) { put(kindAt, h("p", { class: "wrong" }, plain(error.message))); }
  };
  const drawErrors = () => {
    if (!Array.isArray(errors) || !errors.length) { put(errorsAt, h("div", { class: "empty" }, errors && errors.error ? why(errors) : "no errors")); return; }
    put(errorsAt, table([["kind"], ["pages", "n"], ["requests", "n"], ["meaning"]], errors.map((one) => h("tr", {}, td(h("button", { type: "button", class: "link", onclick: () => showKind(one.kind) }, one.kind), "kind"), td(count(one.pages), "n"), td(one.requests ? `${count(one.requests)}, ${share(one.share)}` : "–", "n"), td([one.means, h("div", { class: "title" }, one.helps)]))), "Errors by kind"));
  };
  const hearLog = (rows) => {
    if (!Array.isArray(rows)) return;
    for (const row of rows.filter((one) => one.id > lastId)) {
      lastId = row.id;
      const kind = row.outcome.startsWith("failed") ? "bad" : row.outcome.startsWith("refused") || row.outcome === "not asked" ? "warn" : "";
      lines.push({ at: row.at, kind, text: plain(`${row.outcome.padEnd(22)} ${row.status ?? "   "} ${row.elapsed_s.toFixed(3)} s  ${(row.crawler ?? "–").padEnd(12)} ${row.url}  ${row.detail}`) });
    }
    for (const [at, text] of (crawl?.live?.notes || [])) if (at > notesSeen) { notesSeen = at; lines.push({ at, kind: "warn", text: plain(`control or note         ${text}`) }); }
    lines.sort((a, b) => a.at - b.at);
    lines = lines.slice(-MOST_LINES);
    drawLog();
  };
  const guarded = (draw) => { try { draw(); } catch (error) { console.error(error); } };
  return {
    topics: () => ["history", "graph", "hosts", "errors"],
    log: () => (logBox.open ? () => lastId : null),
    open: () => {},
    hear: (name, value) => {
      if (name === "crawl" && !value.error) { crawl = value; guarded(drawCoordinator); guarded(drawCrawlers); guarded(drawFigures); }
      if (name === "history") { history = value; guarded(drawCurves); }
      if (name === "graph") { graph = value; if (crawl) guarded(drawFigures); guarded(drawGraph); guarded(drawCurves); guarded(drawDegrees); }
      if (name === "hosts") { hosts = value; guarded(drawHosts); }
      if (name === "moments") { at.coordinator.say(crawl?.cluster ? crawl.cluster.at : value.crawl); at.crawlers.say(crawl?.cluster ? crawl.cluster.at : value.crawl); at.curves.say(value.history); at.hosts.say(value.hosts); at.errors.say(value.errors); }
      if (name === "errors") { errors = value; guarded(drawErrors); }
      if (name === "log" && logBox.open) guarded(() => hearLog(value));
    },
  };
};
