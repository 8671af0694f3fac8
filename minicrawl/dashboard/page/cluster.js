// The crawl of a cluster: its totals, and a row for each node, kept as long as its node.

import { h, put, facts, count, size, fixed, share, plain, clock, pace as paceOf } from "/page/dom.js";

const HEADINGS = [["node", "kind"], ["state"], ["machine"], ["shards"], ["pages", "n"], ["pages/s", "n"], ["free disk", "n"], ["workers a shard", "n"], [""]];
const KINDS = { live: "good", draining: "warn", silent: "bad" };

export const ranges = (numbers) => {
  const parts = [];
  for (const one of [...numbers].sort((a, b) => a - b)) {
    const last = parts.at(-1);
    if (last && last[1] === one - 1) last[1] = one; else parts.push([one, one]);
  }
  return parts.map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(", ") || "none";
};

const row = (node, app, act) => {
  const cells = HEADINGS.map(([, kind]) => h("td", { class: kind }));
  const [name, state, machine, shards, pages, pace, disk, workers, drainAt] = cells;
  const badge = h("span", { class: "badge" }), label = plain(node.name);
  let now = node;
  const drain = h("button", { type: "button", onclick: () => act({ verb: "drain", node: now.name, undo: now.state === "draining" }, now.state === "draining" ? `${plain(now.name)} takes shards again` : `${plain(now.name)} gives up its shards`) }, "Drain");
  put(name, label); put(state, badge); put(machine, plain(node.machine), h("div", { class: "title" }, plain(node.version)));
  put(drainAt, drain);
  const draw = (found) => {
    now = found;
    badge.className = `badge ${KINDS[found.state] || ""}`;
    if (badge.textContent !== found.state) put(badge, found.state);
    for (const [cell, text] of [[shards, ranges(found.shards)], [pages, count(found.fetched)], [pace, paceOf(found.pace)], [disk, size(found.disk_free)], [workers, count(found.workers)]]) if (cell.textContent !== text) put(cell, text);
    drain.disabled = found.state === "silent";
    put(drain, found.state === "draining" ? "Undo drain" : "Drain");
    drain.setAttribute("aria-label", `${drain.textContent}: ${plain(found.name)}`);
  };
  draw(node);
  return { view: h("tr", { "data-node": label }, cells), draw };
};

export const makeNodes = (place, app, act) => {
  const body = h("tbody"), rows = new Map();
  const view = h("table", {}, h("caption", { class: "skip" }, "Nodes"), h("thead", {}, h("tr", {}, HEADINGS.map(([text, kind]) => h("th", { class: kind, scope: "col" }, text)))), body);
  return (nodes) => {
    if (!nodes || !nodes.length) { rows.clear(); put(body); put(place, h("div", { class: "empty" }, "No nodes. Start one with minicrawl node --cluster URL.")); return; }
    if (!view.isConnected) put(place, view);
    for (const gone of [...rows.keys()].filter((name) => !nodes.some((one) => one.name === name))) { rows.get(gone).view.remove(); rows.delete(gone); }
    for (const node of nodes) {
      if (rows.has(node.name)) rows.get(node.name).draw(node);
      else { rows.set(node.name, row(node, app, act)); body.append(rows.get(node.name).view); }
    }
  };
};

export const clusterFacts = (cluster) => {
  if (cluster.why) return h("p", { class: "wrong" }, plain(cluster.why));
  const live = cluster.nodes.filter((one) => one.state !== "silent").length, held = cluster.shards - cluster.unheld.length;
  return [
    facts([
      ["state", plain(cluster.doing), cluster.reason ? `(${plain(cluster.reason)})` : ""],
      ["pages", count(cluster.fetched)], ["pages a second", paceOf(cluster.pace)], ["waiting", count(cluster.waiting)],
      ["nodes", count(live), cluster.nodes.length > live ? `and ${cluster.nodes.length - live} silent` : ""],
      ["shards", `${count(held)} of ${count(cluster.shards)} held`], ["batches of cash under way", count(cluster.batches)],
      ["cash threshold", cluster.level ? `${fixed(cluster.level, 2)} units` : "none"],
    ], "lines"),
    cluster.unheld.length ? h("p", { class: "small wrong" }, `no node holds ${ranges(cluster.unheld)}`) : null,
    h("p", { class: "small muted" }, cluster.gathered_at ? `The shards were gathered at ${clock(cluster.gathered_at)}.` : "The shards are being gathered."),
  ];
};

export const clusterShare = (cluster) => (cluster.budget ? [cluster.fetched / cluster.budget, `${count(cluster.fetched)} of ${count(cluster.budget)}, ${share(Math.min(cluster.fetched / cluster.budget, 1), 0)}`] : null);
