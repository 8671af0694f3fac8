"""JavaScript that runs inside pages.

Laws: no page opens a window, a dialog or a way to other machines; shadow roots are always open to
us. A page is read as the HTML of its DOM, with each shadow tree where it is shown.
"""

BEFORE_SCRIPTS = """(() => {
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (init) {
    return attach.call(this, { ...init, mode: "open" });
  };
  const nothing = () => null;
  for (const name of ["open", "print", "alert", "confirm", "prompt"]) window[name] = nothing;
  const gone = ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport", "SharedWorker"];
  for (const name of gone) delete window[name];
  if (window !== top) return;
  let begun = 0, messages = 0;
  const Begun = window.Worker;
  window.Worker = class Worker extends Begun {
    constructor(...given) {
      super(...given);
      begun++;
      super.addEventListener("message", () => { messages++; });
    }
    postMessage(...given) { messages++; return super.postMessage(...given); }
  };
  Object.defineProperty(window, Symbol.for("minicrawl workers"), { get: () => [begun, messages] });
})();"""
"""Script that runs before any script of the page, in each of its frames. It counts workers."""

COUNT_WORKERS = '() => window[Symbol.for("minicrawl workers")] || [0, 0]'
"""Function that returns how many workers the page has begun, and messages to and from them."""

NEXT_FRAMES = "() => new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)))"
"""Promise that ends at the second frame: by then all observers of the first one have run."""

TURN = "() => undefined"
"""Function that a worker runs when it has done what was sent to it before."""

READ_DOM = r"""(most) => {
  const root = document.documentElement;
  if (!root) return "";
  // The HTML is read as UTF-8, but queries of links are escaped in the encoding of the page.
  if (document.characterSet !== "UTF-8")
    for (const one of root.querySelectorAll(":is(a, area, link)[href*='?']"))
      if (/\?.*[^\x00-\x7f]/s.test(one.getAttribute("href"))) one.setAttribute("href", one.href);
  const EMPTY = new Set(["area", "base", "br", "col", "embed", "frame", "hr", "img", "input",
    "link", "meta", "param", "source", "track", "wbr"]);
  const RAW = new Set(["script", "style", "noscript", "iframe", "xmp", "noembed", "noframes",
    "plaintext"]);
  let hasShadow = false;
  for (const one of root.querySelectorAll("*")) if (one.shadowRoot) { hasShadow = true; break; }
  const head = "<!DOCTYPE html>";
  if (!hasShadow) return (head + root.outerHTML).slice(0, most);
  const parts = [];
  let length = 0;
  const add = (text) => { parts.push(text); length += text.length; };
  const inText = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const inValue = (text) => text.replace(/&/g, "&amp;").replace(/"/g, "&quot;");
  const closing = (text) => ({ text });
  // Not by recursion: scripts can nest deeper than the stack.
  const waiting = [root];
  const later = (nodes) => { for (let i = nodes.length - 1; i >= 0; i--) waiting.push(nodes[i]); };
  while (waiting.length && length < most) {
    const node = waiting.pop();
    if (node.text !== undefined && node.nodeType === undefined) { add(node.text); continue; }
    if (node.nodeType === Node.TEXT_NODE) {
      const parent = node.parentNode;
      const isRaw = parent && parent.localName && RAW.has(parent.localName);
      add(isRaw ? node.data : inText(node.data));
      continue;
    }
    if (node.nodeType !== Node.ELEMENT_NODE) continue;
    const name = node.localName;
    let tag = "<" + name;
    for (const one of node.attributes) tag += " " + one.name + '="' + inValue(one.value) + '"';
    add(tag + ">");
    if (EMPTY.has(name)) continue;
    waiting.push(closing("</" + name + ">"));
    if (node.shadowRoot) {
      later([...node.childNodes].filter((one) => !one.assignedSlot));
      later([...node.shadowRoot.childNodes]);
    } else if (name === "slot" && node.assignedNodes().length) {
      later(node.assignedNodes());
    } else if (name === "template") {
      later([...node.content.childNodes]);
    } else {
      later([...node.childNodes]);
    }
  }
  return (head + parts.join("")).slice(0, most);
}"""
"""Function that returns the DOM as HTML, with at most `most` characters."""

TO_TOP = "() => { scrollTo(0, 0); }"
"""Function that scrolls the page up. It returns nothing: the promise of `scrollTo` ends only in a
frame that a clock which stands still does not bring.
"""

UNFOLD = """if (window === top) setInterval(() => {
  for (const closed of document.querySelectorAll("details:not([open])")) closed.open = true;
  for (const list of document.querySelectorAll("main, section, div, ul, ol"))
    if (list.scrollHeight > list.clientHeight) list.scrollTop = list.scrollHeight;
  window.scrollTo(0, document.documentElement.scrollHeight);
}, 500);"""
"""Script that opens details, and scrolls page and lists to their ends, every 500 ms of its virtual
time.
"""
