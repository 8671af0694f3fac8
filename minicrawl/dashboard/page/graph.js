// Graph: the best hosts or pages and the links between them, laid out by springs. Wheel, buttons and
// keys zoom; the keyboard reaches each node.

import { h, s, put, card, count, share, plain, cut, clock } from "/page/dom.js";
import { latest } from "/page/server.js";

const SIZE = 1000, ROUNDS = 320, MARGIN_X = 90, MARGIN_Y = 45, LETTERS = 12, SURE = 12, WIDE = 900;
const LETTER = 0.56, LINE = 1.2; // of a label, by the size of its letters

// A stable hue for each host; lightness contrasts with the background in both schemes.
const colour = (host) => {
  let hash = 2166136261;
  for (const c of host) hash = Math.imul(hash ^ c.charCodeAt(0), 16777619) >>> 0;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  return `hsl(${hash % 360} ${45 + ((hash >>> 9) % 30)}% ${dark ? 66 : 40}%)`;
};

const layout = (nodes, links, width, height) => {
  const n = nodes.length, x = new Float64Array(n), y = new Float64Array(n), dx = new Float64Array(n), dy = new Float64Array(n);
  for (let i = 0; i < n; i += 1) { const a = i * 2.399963, r = 380 * Math.sqrt((i + 0.5) / n); x[i] = SIZE / 2 + r * Math.cos(a); y[i] = SIZE / 2 + r * Math.sin(a); }
  const k = 0.95 * Math.sqrt((SIZE * SIZE) / Math.max(n, 1));
  for (let round = 0; round < ROUNDS; round += 1) {
    dx.fill(0); dy.fill(0);
    for (let i = 0; i < n; i += 1) {
      for (let j = i + 1; j < n; j += 1) {
        const ex = x[i] - x[j], ey = y[i] - y[j], d2 = Math.max(ex * ex + ey * ey, 0.01), f = (k * k) / d2;
        dx[i] += ex * f; dy[i] += ey * f; dx[j] -= ex * f; dy[j] -= ey * f;
      }
      dx[i] += (SIZE / 2 - x[i]) * 0.42; dy[i] += (SIZE / 2 - y[i]) * 0.42;
    }
    for (const [from, to, pull] of links) {
      const ex = x[from] - x[to], ey = y[from] - y[to], d = Math.max(Math.hypot(ex, ey), 0.1), f = (d / k) * pull;
      dx[from] -= ex * f; dy[from] -= ey * f; dx[to] += ex * f; dy[to] += ey * f;
    }
    const heat = 46 * (1 - round / ROUNDS) ** 1.4 + 0.4;
    for (let i = 0; i < n; i += 1) { const d = Math.max(Math.hypot(dx[i], dy[i]), 1e-9), step = Math.min(d, heat); x[i] += (dx[i] / d) * step; y[i] += (dy[i] / d) * step; }
  }
  // The centre is crowded and a few nodes are far out, so a distance is mostly its rank among all.
  const far = Array.from(x, (_, i) => Math.hypot(x[i] - SIZE / 2, y[i] - SIZE / 2));
  const order = far.map((_, i) => i).sort((a, b) => far[a] - far[b]), widest = far[order[n - 1]] || 1;
  order.forEach((i, rank) => {
    const by = (0.35 * (far[i] / widest) + 0.65 * Math.sqrt((rank + 0.5) / n)) / Math.max(far[i] / widest, 1e-6);
    x[i] = (x[i] - SIZE / 2) * by;
    y[i] = (y[i] - SIZE / 2) * by;
  });
  // Scale to the whole drawing area.
  const fit = (values, size, margin) => {
    const least = Math.min(...values), most = Math.max(...values), by = (size - 2 * margin) / Math.max(most - least, 1e-6);
    for (let i = 0; i < n; i += 1) values[i] = n === 1 ? size / 2 : margin + (values[i] - least) * by;
  };
  fit(x, width, MARGIN_X);
  fit(y, height, MARGIN_Y);
  return { x, y };
};

export const makeGraph = (place, app) => {
  const of = h("select", { id: "g-of" }, h("option", { value: "hosts" }, "hosts"), h("option", { value: "pages" }, "pages"));
  const many = h("input", { type: "range", id: "g-many", min: 10, max: 150, step: 10, value: 60 }), manyShown = h("output", { for: "g-many" }, "60");
  const again = h("button", { type: "button" }, "Draw again"), note = h("span", { class: "muted small", role: "status" });
  const canvas = h("div", { class: "canvas" }), told = h("p", { class: "small", "aria-live": "polite" }, "Choose a node.");
  let view = { x: 0, y: 0, w: SIZE, h: SIZE }, svg = null;
  const apply = () => svg && svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.w} ${view.h}`);
  const zoom = (by, cx = view.x + view.w / 2, cy = view.y + view.h / 2) => { if (view.w * by < 60 || view.w * by > 8 * SIZE) return; view = { x: cx - (cx - view.x) * by, y: cy - (cy - view.y) * by, w: view.w * by, h: view.h * by }; apply(); };
  const pan = (sx, sy) => { view.x += sx * view.w; view.y += sy * view.h; apply(); };

  const draw = (found) => {
    const nodes = found.nodes, index = new Map(nodes.map((node, at) => [node.id, at]));
    const pairs = found.links.map(([from, to, weight]) => [index.get(from), index.get(to), weight]).filter(([a, b]) => a !== undefined && b !== undefined && a !== b);
    const heaviest = Math.max(1, ...pairs.map(([, , weight]) => weight));
    const pull = (weight) => 0.25 + 0.75 * (Math.log1p(weight) / Math.log1p(heaviest));
    const busy = Math.max(1, pairs.length / Math.max(nodes.length, 1) / 3);
    const width = Math.max(canvas.clientWidth, 300), height = Math.round(Math.min(innerHeight * 0.72, 760));
    const { x, y } = layout(nodes, pairs.map(([a, b, w]) => [a, b, pull(w) / busy]), width, height);
    const best = Math.max(...nodes.map((node) => node.importance), 1e-12);
    const radius = (node) => 5 + 17 * Math.sqrt(node.importance / best);
    const near = nodes.map(() => new Set());
    const edges = pairs.map(([a, b, weight]) => {
      near[a].add(b); near[b].add(a);
      const mx = (x[a] + x[b]) / 2 + (y[b] - y[a]) * 0.08, my = (y[a] + y[b]) / 2 - (x[b] - x[a]) * 0.08;
      return { a, b, line: s("path", { class: "edge", d: `M${x[a].toFixed(1)} ${y[a].toFixed(1)}Q${mx.toFixed(1)} ${my.toFixed(1)} ${x[b].toFixed(1)} ${y[b].toFixed(1)}`, "stroke-width": ((0.5 + 2.5 * pull(weight) ** 2)).toFixed(2) }) };
    });
    const order = nodes.map((_, at) => at).sort((a, b) => nodes[b].importance - nodes[a].importance);
    // The most important nodes are named, as long as no name covers another one.
    const named = new Map(), taken = [];
    for (const at of order) {
      const text = cut(plain(nodes[at].label).replace(/^https?:\/\//, ""), 30), half = (text.length * LETTER * LETTERS) / 2;
      const box = [x[at] - half, y[at] + radius(nodes[at]) + 2, x[at] + half, y[at] + radius(nodes[at]) + LINE * LETTERS];
      const covers = (other) => other !== at && x[other] + radius(nodes[other]) > box[0] && x[other] - radius(nodes[other]) < box[2] && y[other] + radius(nodes[other]) > box[1] && y[other] - radius(nodes[other]) < box[3];
      if (box[0] < 0 || box[2] > width || (named.size >= (SURE * Math.min(width, WIDE)) / WIDE && order.some(covers))) continue;
      if (taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) continue;
      taken.push(box);
      named.set(at, text);
    }
    const light = (at) => {
      for (const edge of edges) edge.line.classList.toggle("lit", edge.a === at || edge.b === at);
      points.forEach((point, other) => { point.classList.toggle("dim", at !== null && other !== at && !near[at].has(other)); point.classList.toggle("lit", other === at); });
      if (at === null) return;
      const node = nodes[at];
      put(told, h("strong", {}, cut(plain(node.label), 160)), ` importance ${share(node.importance, 3)}, ${node.pages === undefined ? plain(node.state) : `${count(node.pages)} pages`}, ${count(near[at].size)} neighbours here. `,
        node.pages === undefined ? h("button", { type: "button", class: "link", onclick: () => app.explain(node.label) }, "explain") : null);
    };
    const points = nodes.map((node, at) => s("g", { class: "point", tabindex: 0, role: "button", "aria-label": `${plain(node.label)}, importance ${share(node.importance, 3)}`, onfocus: () => light(at), onpointerenter: () => light(at), onclick: () => light(at), onkeydown: (event) => { if (event.key === "Enter" && node.pages === undefined) app.explain(node.label); } },
      (() => { const circle = s("circle", { class: "node", cx: x[at].toFixed(1), cy: y[at].toFixed(1), r: radius(node).toFixed(1) }); circle.style.fill = colour(node.host ?? node.label); return circle; })(),
      s("title", {}, plain(node.label))));
    const labels = [...named].map(([at, text]) => s("text", { class: "node-label", "aria-hidden": "true", x: x[at].toFixed(1), y: (y[at] + radius(nodes[at]) + LETTERS).toFixed(1), "text-anchor": "middle", "font-size": LETTERS }, text));
    view = { x: 0, y: 0, w: width, h: height };
    const first = { ...view };
    svg = s("svg", { role: "group", tabindex: 0, "aria-label": `${nodes.length} ${of.value} and ${pairs.length} links; plus and minus zoom, arrows move` }, edges.map((edge) => edge.line), points, labels);
    svg.addEventListener("wheel", (event) => { event.preventDefault(); const box = svg.getBoundingClientRect(); zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, view.x + ((event.clientX - box.left) / box.width) * view.w, view.y + ((event.clientY - box.top) / box.height) * view.h); }, { passive: false });
    let grabbed = null;
    svg.addEventListener("pointerdown", (event) => { grabbed = [event.clientX, event.clientY]; });
    svg.addEventListener("pointermove", (event) => { if (!grabbed || !event.buttons) return; const box = svg.getBoundingClientRect(), scale = Math.max(view.w / box.width, view.h / box.height); view.x -= (event.clientX - grabbed[0]) * scale; view.y -= (event.clientY - grabbed[1]) * scale; grabbed = [event.clientX, event.clientY]; apply(); });
    svg.addEventListener("pointerleave", () => light(null));
    svg.addEventListener("keydown", (event) => {
      const keys = { "+": () => zoom(1 / 1.25), "=": () => zoom(1 / 1.25), "-": () => zoom(1.25), ArrowLeft: () => pan(-0.1, 0), ArrowRight: () => pan(0.1, 0), ArrowUp: () => pan(0, -0.1), ArrowDown: () => pan(0, 0.1), 0: () => { view = { ...first }; apply(); } };
      if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
    });
    svg.style.setProperty("--faint", Math.max(0.1, Math.min(0.4, 120 / Math.max(edges.length, 1))).toFixed(2));
    put(canvas, svg, h("div", { class: "tools" }, h("button", { type: "button", "aria-label": "zoom in", onclick: () => zoom(1 / 1.3) }, "+"), h("button", { type: "button", "aria-label": "zoom out", onclick: () => zoom(1.3) }, "−"), h("button", { type: "button", "aria-label": "show all", onclick: () => { view = { ...first }; apply(); } }, "⤢")));
    apply();
  };
  const ask = latest();
  const load = async () => {
    put(note, "Reading the links of the store …");
    try {
      const found = await ask("graph", { of: of.value, n: many.value });
      if (!found) return; // there is a later request
      if (!found.nodes.length) { put(canvas, h("div", { class: "empty" }, "no pages yet")); put(note); return; }
      draw(found);
      put(note, `${count(found.nodes.length)} ${of.value}, ${count(found.links.length)} links between them, as of ${clock(found.at)}`);
    } catch (error) { put(canvas, h("div", { class: "empty" }, plain(error.message))); put(note); }
  };
  many.addEventListener("input", () => put(manyShown, many.value));
  many.addEventListener("change", load);
  of.addEventListener("change", load);
  again.addEventListener("click", load);
  put(place, card("Graph", "", h("header", {}, h("h2", {}, "Most important nodes"), note), h("div", { class: "row" }, h("div", {}, h("label", { for: "g-of" }, "of"), of), h("div", {}, h("label", { for: "g-many" }, "how many: ", manyShown), many), again), h("div", { class: "gap" }, canvas), told));
  return { topics: () => [], open: load };
};
