// The page: five views, one stream of events, and the state that all views share.

import { h, put, clock, plain } from "/page/dom.js";
import { Stream, hasToken } from "/page/server.js";
import { makeSetup } from "/page/setup.js";
import { makeStatus } from "/page/status.js";
import { makePages } from "/page/pages.js";
import { makeFinding } from "/page/finding.js";
import { makeGraph } from "/page/graph.js";

const $ = (id) => document.getElementById(id);
const NAMES = ["setup", "status", "pages", "search", "graph"];

let noticeTimer = 0;
const notice = (text, kind = "") => {
  const place = $("notice");
  put(place, plain(text));
  place.className = `banner ${kind}`;
  place.hidden = !text;
  clearTimeout(noticeTimer);
  if (text && kind !== "bad") noticeTimer = setTimeout(() => { place.hidden = true; }, 6000);
};

const app = { notice, show: (name) => show(name), explain: (url) => { show("pages"); views.pages.explain(url); }, refresh: () => watch() };
const views = { setup: makeSetup($("setup"), app), status: makeStatus($("status"), app), pages: makePages($("pages"), app), search: makeFinding($("search"), app), graph: makeGraph($("graph"), app) };
let shown = "status";

const stateOf = (crawl) => {
  if (crawl.error) return [crawl.error, "bad"];
  if (crawl.cluster) return crawl.cluster.why ? [crawl.cluster.why, "bad"] : [crawl.cluster.doing, { running: "good", paused: "warn" }[crawl.cluster.doing] || ""];
  if (crawl.live) return { running: ["running", "good"], paused: ["paused", "warn"], stopping: ["stopping", "warn"] }[crawl.live.state] || [crawl.live.why || crawl.live.state, "bad"];
  if (crawl.launched) return ["finishing", "warn"];
  if (crawl.status && crawl.status.missing) return ["no crawl", ""];
  return ["not running", ""];
};

// A cluster has neither form nor search here: use `minicrawl crawl` and `minicrawl search` with --cluster.
const hideTabsOfOneMachine = () => { for (const name of ["setup", "search"]) $(`tab-${name}`).hidden = true; };

const hear = (name, value) => {
  if (name === "crawl") {
    const [text, kind] = stateOf(value);
    const badge = $("state");
    if (badge.textContent !== text) put(badge, plain(text));
    badge.className = `badge ${kind}`;
    put($("store"), plain(value.store || ""));
    if (value.cluster) hideTabsOfOneMachine();
    document.title = `${text} – minicrawl`;
  }
  for (const view of Object.values(views)) if (view.hear) view.hear(name, value);
};

// Nothing is redrawn while a button of the mouse or a finger is down: a click needs both its halves on
// the same element.
let isPressed = false;
const held = [];
const release = () => setTimeout(() => { isPressed = false; for (const [name, value] of held.splice(0)) hear(name, value); });
addEventListener("pointerdown", () => { isPressed = true; }, true);
for (const end of ["pointerup", "pointercancel", "blur"]) addEventListener(end, release, true);

const stream = new Stream((name, value) => (isPressed ? held.push([name, value]) : hear(name, value)), (since) => {
  const place = $("stale");
  place.hidden = since === null;
  document.body.classList.toggle("is-stale", since !== null);
  if (since !== null) put(place, `The dashboard has not answered since ${clock(since / 1000)}: what you see is old. Connecting again …`);
});

const watch = () => stream.watch(["crawl", ...views[shown].topics()], shown === "status" ? views.status.log() : null);

const show = (name, focus = false) => {
  shown = name;
  for (const one of NAMES) {
    const tab = $(`tab-${one}`), is = one === name;
    tab.setAttribute("aria-selected", is);
    tab.tabIndex = is ? 0 : -1;
    $(one).hidden = !is;
    if (is && focus) tab.focus();
  }
  if (views[name].open) views[name].open();
  watch();
};

for (const name of NAMES) {
  $(`tab-${name}`).addEventListener("click", () => show(name));
  $(`tab-${name}`).addEventListener("keydown", (event) => {
    const names = NAMES.filter((one) => !$(`tab-${one}`).hidden), here = names.indexOf(name);
    const to = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: names.length - 1 }[event.key];
    if (to !== undefined) { event.preventDefault(); show(names[(to + names.length) % names.length], true); }
  });
}

addEventListener("hashchange", () => location.reload()); // the printed address was opened here
if (await hasToken()) show(shown); // somebody may have chosen another view meanwhile
else {
  for (const name of NAMES) { $(`tab-${name}`).disabled = true; $(name).hidden = true; }
  put($("state"), "no token");
  notice("Open the address that minicrawl has printed, with the token at its end.", "bad");
}
