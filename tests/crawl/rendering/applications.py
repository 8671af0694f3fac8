"""Small applications: pages whose scripts fetch their content, each in another way.

When an application is done, its title is `done` and a word that came over the network.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

JSON, HTML, SCRIPT = "application/json", "text/html; charset=utf-8", "text/javascript"
Answer = tuple[int, Mapping[str, str], bytes]
DONE = "const done = (word) => { document.title = 'done ' + word };"
ADDS = "const add = (html) => document.body.insertAdjacentHTML('beforeend', html);"


def _page(code: str, body: str = "", kind: str = "") -> Answer:
    text = (
        f"<!doctype html><title>shell</title><body>{body}<script{kind}>{DONE}{ADDS}{code}</script>"
    )
    return 200, {"Content-Type": HTML}, text.encode()


def _data(value: object, status: int = 200) -> Answer:
    return status, {"Content-Type": JSON}, json.dumps(value).encode()


def _script(code: str) -> Answer:
    return 200, {"Content-Type": SCRIPT}, code.encode()


def _style(code: str) -> Answer:
    return 200, {"Content-Type": "text/css"}, code.encode()


def _picture(width: int = 4) -> Answer:
    text = f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='4'><g id='a'/></svg>"
    return 200, {"Content-Type": "image/svg+xml"}, text.encode()


_LIST = """let next = 0;
const more = async () => {
  if (next > 3) return;
  const page = next++;
  const found = await (await fetch(`/api/list?page=${page}`)).json();
  add(found.items.map((one) => `<p style="height: 900px">${one}</p>`).join(""));
  if (page == 3) done(found.word); else document.body.append(end);
};
"""
APPLICATIONS: dict[str, str | Answer] = {
    "fetch": "fetch('/api/word').then((r) => r.json()).then((one) => done(one.word))",
    "xhr": """const asks = new XMLHttpRequest(); asks.open("GET", "/api/word");
        asks.onload = () => done(JSON.parse(asks.responseText).word); asks.send();""",
    "post-json": """fetch("/api/post", { method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ query: "{ word(n: 3) }", variables: { a: [1, 2], b: null, c: true },
          a: "x y&z" }) })
        .then((r) => r.json()).then((one) => done(one.word))""",
    "post-form": """fetch("/api/post", { method: "POST",
        body: new URLSearchParams({ q: "salt & water", n: "1" }) })
        .then((r) => r.json()).then((one) => done(one.word))""",
    "post-text": """const asks = new XMLHttpRequest(); asks.open("POST", "/api/post?in=text");
        asks.onload = () => done(JSON.parse(asks.responseText).word); asks.send("tides");""",
    "post-twice": """(async () => { const words = []; for (const n of [1, 2]) {
        const asks = { method: "POST", body: JSON.stringify({ n }),
          headers: { "Content-Type": "application/json" } };
        words.push((await (await fetch("/api/post", asks)).json()).word); }
        done(words.join(" ")); })()""",
    "post-moved": """fetch("/api/post-moved", { method: "POST", body: "x" })
        .then(() => done("there"), () => done("nowhere"))""",
    "import": "import('/lazy.js').then((one) => one.run(done))",
    "large": "import('/large.js').then((one) => done(one.word))",
    "modules": _page(
        "import { word } from '/first.js'; done(await word());", kind=" type='module'"
    ),
    "worker": """const one = new Worker("/worker.js");
        one.onmessage = (told) => done(told.data)""",
    "hash-router": """const show = async () => { const name = location.hash.slice(1) || "home";
        done((await (await fetch(`/api/view/${name}`)).json()).word) };
        addEventListener("hashchange", show); show();""",
    "path-router": """const show = async () => {
        const name = location.pathname.split("/").pop();
        done((await (await fetch(`/api/view/${name}`)).json()).word) }; show();""",
    "observed-list": f"""const end = document.createElement("i"); {_LIST}
        document.body.append(end);
        new IntersectionObserver((seen) => seen[0].isIntersecting && more()).observe(end);""",
    "scrolled-list": f"""const end = document.createElement("i"); {_LIST}
        addEventListener("scroll", () => innerHeight + scrollY >= document.body.scrollHeight - 500
          && more()); more();""",
    "pictures": """const one = new Image(); one.onload = () => done("wide" + one.width);
        one.onerror = () => { document.title = "broken" };
        one.src = "/made/" + ["pic", "ture"].join("") + ".svg";""",
    "styles": """const one = document.createElement("link"); one.rel = "stylesheet";
        one.href = "/late.css"; one.onload = () => done(
          getComputedStyle(document.body).getPropertyValue("--word").trim());
        document.head.append(one)""",
    "background": """document.body.style.background = "url(/back/ground.svg)";
        fetch("/api/word").then((r) => r.json()).then((one) => done(one.word))""",
    "lazy-pictures": """add("<img data-src='/late/1.svg'><img data-src='/late/2.svg'>");
        let left = 2; for (const one of document.images) {
          one.onload = () => --left || done("late"); one.src = one.dataset.src }""",
    "frame": """addEventListener("message", (told) => done(told.data));
        add("<iframe src='/framed'></iframe>")""",
    "moved": "fetch('/api/moved').then((r) => r.json()).then((one) => done(one.word))",
    "missing": """fetch("/api/missing").then((r) => r.ok ? r : fetch("/api/word"))
        .then((r) => r.json()).then((one) => done(one.word))""",
    "callback": """window.take = (one) => done(one.word);
        const one = document.createElement("script"); one.src = "/api/called?callback=take";
        document.head.append(one)""",
    "graph-of-data": """(async () => { let at = "/api/node/1", words = [];
        while (at) { const one = await (await fetch(at)).json();
          words.push(one.word); at = one.next }
        done(words.join(" ")) })()""",
    "late": """setTimeout(() => fetch("/api/word").then((r) => r.json())
        .then((one) => done(one.word)), 1500)""",
}
"""Applications by name: each is a script, or a whole answer."""

_OTHERS: dict[str, Answer] = {
    "/api/word": _data({"word": "harbour"}),
    "/api/view/home": _data({"word": "home"}),
    "/api/view/path-router": _data({"word": "routed"}),
    "/api/moved": (302, {"Location": "/api/word"}, b""),
    "/api/called?callback=take": _script('take({"word": "called"})'),
    "/api/missing": _data({"error": "no such thing"}, 404),
    "/lazy.js": _script(
        "import { word } from './second.js'; export const run = async (done) => done(word)"
    ),
    "/first.js": _script(
        "import { word as one } from './second.js';"
        "export const word = async () => one + (await (await fetch('/api/word')).json()).word"
    ),
    "/large.js": _script(f"/* {'padding ' * 40_000} */ export const word = 'large'"),
    "/second.js": _script("export const word = 'second'"),
    "/worker.js": _script(
        "fetch('/api/word').then((r) => r.json()).then((one) => postMessage(one.word))"
    ),
    "/made/picture.svg": _picture(7),
    "/late.css": _style("@import '/imported.css'; p { background: url(/in-style.svg) }"),
    "/imported.css": _style("body { --word: styled }"),
    "/in-style.svg": _picture(),
    "/back/ground.svg": _picture(),
    "/late/1.svg": _picture(),
    "/late/2.svg": _picture(),
    "/framed": (
        200,
        {"Content-Type": HTML},
        b"<script>fetch('/api/word').then((r) => r.json())"
        b".then((one) => parent.postMessage('framed ' + one.word, '*'))</script>",
    ),
    **{
        f"/api/list?page={number}": _data(
            {"items": [f"{number}a", f"{number}b"], "word": f"page{number}"}
        )
        for number in range(4)
    },
    **{
        f"/api/node/{number}": _data(
            {"word": f"n{number}", "next": f"/api/node/{number + 1}" if number < 3 else None}
        )
        for number in (1, 2, 3)
    },
}
TITLES = {
    **dict.fromkeys(
        ("fetch", "xhr", "worker", "background", "moved", "missing", "late"), "harbour"
    ),
    "post-json": "json {",
    "post-form": "form q=salt+%26+water&n=1",
    "post-text": "text tides",
    "post-twice": 'json {"n":1} json {"n":2}',
    "import": "second",
    "modules": "secondharbour",
    "hash-router": "home",
    "path-router": "routed",
    "frame": "framed harbour",
    "observed-list": "page3",
    "scrolled-list": "page3",
    "pictures": "wide7",
    "styles": "styled",
    "lazy-pictures": "late",
    "callback": "called",
    "graph-of-data": "n1 n2 n3",
    "large": "large",
    "post-moved": "",
}
"""Beginning of the title of each application after `done`."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def do_GET(self) -> None:
        name = self.path[1:]
        if self.path == "/":
            links = "".join(f"<a href='/{one}'>{one}</a>" for one in APPLICATIONS)
            self._send((200, {"Content-Type": HTML}, links.encode()))
        elif name in APPLICATIONS:
            found = APPLICATIONS[name]
            self._send(_page(found) if isinstance(found, str) else found)
        else:
            self._send(_OTHERS.get(self.path, (404, {"Content-Type": HTML}, b"nothing")))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        kind = self.headers["Content-Type"].partition(";")[0].rpartition("/")[2]
        if self.path == "/api/post-moved":
            self._send((302, {"Location": "/api/word"}, b""))
            return
        kind = {"x-www-form-urlencoded": "form", "plain": "text"}.get(kind, kind)
        self._send(_data({"word": f"{kind} {body}"}))

    def _send(self, answer: Answer) -> None:
        status, headers, body = answer
        self.server.asked.append((self.command, self.path, dict(self.headers)))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str, dict[str, str]]] = []


Asked = list[tuple[str, str, dict[str, str]]]
"""Requests that reached the server: method, path and headers."""


@contextmanager
def applications() -> Iterator[tuple[str, Asked]]:
    """Serve all applications; give their origin and a list of requests."""
    with _Server() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", server.asked
        finally:
            server.shutdown()
            thread.join()
