"""Crawls of pages that need a browser, through a real one."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from minicrawl.cli import main
from minicrawl.crawl.parts import PageRead
from minicrawl.demo.small_web import DemoResponse
from tests.crawl.children import nothing_left_behind
from tests.crawl.rendering.sites import (
    ScriptedWeb,
    crawled,
    data,
    filled_by,
    needs_browser,
    page,
    script,
    served,
)

pytestmark = [needs_browser, pytest.mark.timeout(300)]

ROUTER = """
const show = async (path) => {
  const found = await (await fetch("/api" + path)).json();
  document.title = found.title;
  document.getElementById("root").innerHTML =
    found.links.map((one) => `<a href="${one}">${one}</a>`).join("");
};
show(location.pathname);
"""
SHELL = page('<title>app</title><div id="root"></div><script src="/app.js"></script>')
APP = {
    "/": SHELL,
    "/one": SHELL,
    "/two": SHELL,
    "/app.js": script(ROUTER),
    "/api/": data({"title": "front", "links": ["/one", "/two"]}),
    "/api/one": data({"title": "one", "links": ["/", "/three"]}),
    "/api/two": data({"title": "two", "links": ["/", "/four"]}),
}
WORDS = "words that a page has without its scripts. " * 10
FILL = "document.getElementById('root').innerHTML = '<a href=/found>found</a>';"


def test_the_pages_of_an_application_are_found_one_after_the_other(tmp_path: Path) -> None:
    with served(APP) as (web, base):
        found = crawled(f"{base}/", tmp_path / "c.db")
    assert set(found) == {"/", "/one", "/two", "/three", "/four"}
    assert {found[path].title for path in ("/", "/one", "/two")} == {"front", "one", "two"}
    asked = [path for path in web.paths if path != "/robots.txt"]
    assert sorted(asked) == sorted([*APP, "/three", "/four"])  # each once, the script too


def test_without_rendering_nothing_of_it_is_found(tmp_path: Path) -> None:
    with served(APP) as (web, base):
        found = crawled(f"{base}/", tmp_path / "c.db", render="never")
    assert set(found) == {"/"}
    assert web.paths == ["/robots.txt", "/"]


ADDED = (
    "FILL",
    "setTimeout(() => { FILL }, 3000)",
    "let n = 0; const t = setInterval(() => { if (++n == 20) { FILL } }, 100)",
    "requestAnimationFrame(() => { FILL })",
    "requestAnimationFrame(() => requestAnimationFrame(() => { FILL }))",
    "requestAnimationFrame(() => setTimeout(() => { FILL }, 500))",
    "requestIdleCallback(() => { FILL })",
    "new IntersectionObserver(() => { FILL }).observe(document.getElementById('root'))",
    "addEventListener('load', () => { FILL })",
    "fetch('/empty').then(() => setTimeout(() => { FILL }, 1000))",
    "import('/module.js').then(() => { FILL })",
    "new Worker('/worker.js').onmessage = () => { FILL }",
    "document.write('<a href=/found>found</a>')",
)


def each(codes: Iterable[str]) -> dict[str, DemoResponse]:
    """A page for each of these scripts, whose links end with its number."""
    pages = {
        f"/{number}": filled_by(code.replace("FILL", FILL).replace("/found", f"/found{number}"))
        for number, code in enumerate(codes)
    }
    return {"/": page("".join(f"<a href={path}>{path}</a>" for path in pages)), **pages}


def found_by(codes: Iterable[str]) -> set[str]:
    return {f"/found{number}" for number, _ in enumerate(codes)}


def test_links_are_found_whenever_they_are_added(tmp_path: Path) -> None:
    others = {
        "/empty": data([]),
        "/module.js": script("export const a = 1"),
        "/worker.js": script("fetch('/empty').then(() => postMessage(1))"),
    }
    with served(each(ADDED) | others) as (_, base):
        assert found_by(ADDED) <= set(crawled(f"{base}/", tmp_path / "c.db"))


def test_links_in_shadow_trees_are_found(tmp_path: Path) -> None:
    code = """
    class Card extends HTMLElement {
      constructor() {
        super();
        const root = this.attachShadow({ mode: "closed" });
        root.innerHTML = `<a href="/in-shadow?a=1&amp;b=2">x &lt; y</a><slot></slot>
          <my-inner></my-inner>`;
      }
    }
    class Inner extends HTMLElement {
      connectedCallback() {
        this.attachShadow({ mode: "open" }).innerHTML = "<a href=/inner>inner</a>";
      }
    }
    customElements.define("my-card", Card);
    customElements.define("my-inner", Inner);"""
    markup = f"<my-card><a href=/slotted>s</a></my-card><script>{code}</script>"
    with served({"/": page(markup)}) as (_, base):
        found = crawled(f"{base}/", tmp_path / "c.db")
    assert {"/in-shadow?a=1&b=2", "/inner", "/slotted"} <= set(found)


GOES = (
    "location.href = '/there'",
    "location.replace('/there')",
    "setTimeout(() => { location = '/there' }, 500)",
    "history.replaceState({}, '', '/there')",
    "history.pushState({}, '', '/there')",
    "document.write('<meta http-equiv=refresh content=\"0; url=/there\">')",
    "const f = document.createElement('form'); f.action = '/there'; "
    "document.body.append(f); f.submit()",
)


def test_a_page_that_goes_elsewhere_is_a_redirect(tmp_path: Path) -> None:
    there = page(f"<title>there</title><p>{WORDS}")
    answers = each(GOES) | {"/there": there, "/there?": there}
    with served(answers) as (web, base):
        found = crawled(f"{base}/", tmp_path / "c.db")
    states = {found[path].state for path in each(GOES) if path != "/"}
    assert states == {"moved"}
    assert max(web.paths.count(path) for path in answers) == 1


def test_a_page_that_loads_itself_again_and_again_is_read(tmp_path: Path) -> None:
    again = page("<p><a href=/found>f</a><script>location.reload()</script>")
    with served({"/": again}) as (web, base):
        assert "/found" in crawled(f"{base}/", tmp_path / "c.db", render="always")
    assert web.paths.count("/") == 1


def test_what_lies_behind_a_consent_wall_is_found(tmp_path: Path) -> None:
    wall = """
    document.body.style.overflow = "hidden";
    document.body.insertAdjacentHTML("beforeend",
      '<div style="position:fixed;inset:0;z-index:9999"><button>Accept all</button></div>');
    """
    answers = {"/": filled_by(FILL + wall)}
    with served(answers) as (_, base):
        assert "/found" in crawled(f"{base}/", tmp_path / "c.db")


def test_the_canonical_url_the_title_and_the_text_are_those_of_the_dom(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = """document.title = "rendered";
    document.head.insertAdjacentHTML("beforeend", '<link rel="canonical" href="/main">');
    document.getElementById("root").innerHTML = "<p>größer <a href=/found>f</a>";"""
    seen: dict[str, PageRead] = {}
    with served({"/": filled_by(code)}) as (_, base):
        found = crawled(
            f"{base}/", tmp_path / "c.db", lambda read: seen.update({read.url: read}), keep="pages"
        )
        front = seen[f"{base}/"]
    assert (found["/"].state, found["/"].title, found["/"].status) == ("canonical", "rendered", 200)
    assert "größer" in front.body.decode()
    assert main(["page", front.url, "--store", str(tmp_path / "c.db")]) == 0
    assert "größer" in capsys.readouterr().out
    assert front.headers["content-type"].startswith("text/html")


def test_status_and_headers_are_those_of_the_network(tmp_path: Path) -> None:
    front = filled_by(FILL)
    latin = DemoResponse(
        200,
        {"Content-Type": "text/html; charset=iso-8859-1"},
        "<p>ä".encode("latin-1") + front.body,
    )
    with served({"/": latin}) as (_, base):
        assert "/found" in crawled(f"{base}/", tmp_path / "c.db")


# ---------------------------------------------------------------- what it costs others

THINGS = """<link rel="stylesheet" href="/style.css"><img src="/picture.png">
<video src="/film.mp4"></video><style>@font-face { font-family: f; src: url(/font.woff2) }
p { font-family: f; background: url(/back.png) }</style>
<link rel="icon" href="/icon.png"><link rel="prefetch" href="/later.html">
<div id="root"></div><p>text<script src="/app.js"></script>"""


def test_pictures_media_fonts_and_styles_are_not_asked_for(tmp_path: Path) -> None:
    code = f"fetch('/empty').then(() => {{ {FILL} }})"
    with served({"/": page(THINGS), "/app.js": script(code), "/empty": data([])}) as (web, base):
        assert "/found" in crawled(f"{base}/", tmp_path / "c.db", render="always")
    assert set(web.paths) == {"/robots.txt", "/", "/app.js", "/empty", "/found"}


def test_a_page_reads_and_changes_nothing(tmp_path: Path) -> None:
    code = f"""navigator.sendBeacon("/beacon", "x"); new EventSource("/events");
    fetch("/posted", {{ method: "POST", body: "x" }}).catch(() => {{ {FILL} }});"""
    with served({"/": filled_by(code)}) as (web, base):
        assert "/found" in crawled(f"{base}/", tmp_path / "c.db")
    assert set(web.paths) == {"/robots.txt", "/", "/found"}


def test_what_robots_txt_forbids_is_not_asked_for_by_a_page_either(tmp_path: Path) -> None:
    robots = DemoResponse(200, {"Content-Type": "text/plain"}, b"User-agent: *\nDisallow: /no/\n")
    code = f"""fetch("/no/data").catch(() => {{ {FILL} }}); fetch("/yes");
    document.body.insertAdjacentHTML("beforeend", "<iframe src=/no/frame></iframe>");
    document.body.insertAdjacentHTML("beforeend", "<iframe src=/frame></iframe>");"""
    answers = {"/robots.txt": robots, "/": filled_by(code), "/frame": page("<p>frame")}
    with served(answers | {"/yes": data([])}) as (web, base):
        assert "/found" in crawled(f"{base}/", tmp_path / "c.db")
    assert {"/yes", "/frame"} <= set(web.paths)
    assert not [path for path in web.paths if path.startswith("/no/")]


def test_a_page_cannot_reach_what_the_crawl_may_not_ask(tmp_path: Path) -> None:
    """Another port of loopback is no seed: nothing gets there, by whatever way."""
    with served({"/secret": data([1])}) as (other, there):
        socket = there.replace("http:", "ws:")
        code = f"""fetch("{there}/secret").catch(() => {{ {FILL} }});
        new WebSocket("{socket}/socket"); new Image().src = "{there}/picture";
        new EventSource("{there}/events"); navigator.sendBeacon("{there}/beacon");
        document.body.insertAdjacentHTML("beforeend", '<iframe src="{there}/frame"></iframe>'
          + '<link rel="preconnect" href="{there}"><link rel="prefetch" href="{there}/p">');
        const blob = new Blob([`fetch("{there}/worker"); new WebSocket("{socket}/w");`]);
        new Worker(URL.createObjectURL(blob));
        window.open("{there}/window");"""
        with served({"/": filled_by(code)}) as (_, base):
            assert "/found" in crawled(f"{base}/", tmp_path / "c.db")
    assert other.paths == []


READS = """
const show = (name) => (text) => document.body.insertAdjacentHTML(
  "beforeend", `<a href="/${name}-${/mine/.test(text) ? "read" : "closed"}">x</a>`);
const read = (name, url) => fetch(url).then((r) => r.text()).then(show(name)).catch(show(name));
read("other", "http://bank.example/");
read("open", "http://bank.example/open");
read("moved", "/go");
const inFrame = () => { const one = frame.contentDocument; return one ? one.body.innerText : ""; };
const frame = document.createElement("iframe");
frame.onload = () => show("frame")(inFrame());
frame.src = "/go";
document.body.append(frame);
"""


class Bank(ScriptedWeb):
    """A host that needs a login, and another one whose scripts try to read it."""

    def answer(self, host, target, headers, visits, /):  # type: ignore[no-untyped-def]
        if target == "/robots.txt" or host != "bank.example":
            return super().answer(host, target, headers, visits)
        self.asked.append((host + target, dict(headers)))
        if target == "/open":
            return page("mine", Access_Control_Allow_Origin="*")
        return page(f"mine {OWN}") if "authorization" in headers else LOCKED


LOCKED = DemoResponse(401, {"WWW-Authenticate": "Basic realm=r"})
LINK = "document.body.innerHTML += '<a href=/in>in</a>'"
OWN = f"<script>fetch('/').then((r) => r.ok && ({LINK}))</script>"


def test_no_script_reads_what_another_host_shows_to_us(tmp_path: Path) -> None:
    away = DemoResponse(302, {"Location": "http://bank.example/"})
    with served({"/": filled_by(READS), "/go": away}, Bank) as (web, base):
        more: dict[str, Any] = {
            "resolve": f"*={base[7:]}",
            "auth": "bank.example=me:pw",
            "cookies": "on",
        }
        found = crawled("http://thief.example/", tmp_path / "c.db", render="always", **more)
        assert {"/other-closed", "/moved-closed", "/frame-closed", "/open-read"} <= set(found)
        seen = [headers for target, headers in web.asked if target.startswith("bank.example")]
        assert seen
        assert not [one for one in seen if "authorization" in one]
        own = crawled("http://bank.example/", tmp_path / "own.db", render="always", **more)
    assert "/in" in own


def test_a_page_asks_for_no_more_than_it_may(tmp_path: Path) -> None:
    code = f"""(async () => {{ for (let n = 0; n < 50; n++)
      await fetch("/data?" + n).catch(() => 0); {FILL} }})()"""
    answers = {f"/data?{number}": data([]) for number in range(50)}
    with served({"/": filled_by(code)} | answers) as (web, base):
        assert "/found" in crawled(f"{base}/", tmp_path / "c.db", max_requests=10)
    assert len([path for path in web.paths if path.startswith("/data")]) == 10


def test_trackers_are_not_asked(tmp_path: Path) -> None:
    markup = '<script src="http://www.google-analytics.com/ga.js"></script>'
    with served({"/": page(markup + f'<div id="root"></div><script>{FILL}</script>')}) as (_, base):
        assert "/found" in crawled(f"{base}/", tmp_path / "c.db")


# ---------------------------------------------------------------- pages that do not end

ENDLESS = {
    "dialogs": "alert(1); confirm(2); prompt(3); onbeforeunload = () => 'stay';",
    "windows": "for (let n = 0; n < 10; n++) window.open('/window');",
    "download": "const a = document.createElement('a'); a.href = 'data:application/zip,x'; "
    "a.download = 'x.zip'; document.body.append(a); a.click();",
    "timers": "setInterval(() => document.body.append('x'), 1); "
    "const again = () => setTimeout(again, 0); again();",
    "frames": "const again = () => requestAnimationFrame(again); again();",
    "polling": "setInterval(() => fetch('/empty'), 50);",
    "workers": "for (let n = 0; n < 5; n++) "
    "new Worker(URL.createObjectURL(new Blob(['while (true) {}'])));",
    "scrolling": "new IntersectionObserver(() => document.body.insertAdjacentHTML('beforeend', "
    "'<p style=height:500px>more')).observe(document.body);",
    "promises": "const again = () => new Promise((r) => setTimeout(r, 10)).then(again); again();",
}


def test_pages_without_an_end_are_read(tmp_path: Path) -> None:
    codes = [f"FILL {code}" for code in ENDLESS.values()]
    with nothing_left_behind(), served(each(codes) | {"/empty": data([])}) as (_, base):
        found = crawled(f"{base}/", tmp_path / "c.db", max_s=3)
    assert found_by(codes) <= set(found)


def test_a_page_that_ends_its_browser_is_tried_twice_and_read_as_it_came(tmp_path: Path) -> None:
    deep = """let at = document.body; for (let n = 0; n < 100000; n++)
      at = at.appendChild(document.createElement('div')); at.offsetTop;"""
    eater = page(f"<div id=root></div><a href=/plain>p</a><script>{deep}</script>")
    with nothing_left_behind(), served({"/": eater}) as (web, base):
        found = crawled(f"{base}/", tmp_path / "c.db")
    assert found["/"].state == "fetched"
    assert "/plain" in found
    assert web.paths.count("/") == 2


def test_a_page_that_takes_the_processor_is_read_as_it_came(tmp_path: Path) -> None:
    eater = page("<div id=root></div><a href=/plain>p</a><script>while (true) {}</script>")
    answers = {"/": page("<a href=/eater>e</a><a href=/good>g</a>")}
    with (
        nothing_left_behind(),
        served(answers | {"/eater": eater, "/good": filled_by(FILL)}) as (web, base),
    ):
        found = crawled(f"{base}/", tmp_path / "c.db", max_s=1)
    assert found["/eater"].state == "fetched"
    assert {"/plain", "/found"} <= set(found)
    assert web.paths.count("/eater") == 1


def test_a_page_that_takes_all_memory_is_read_as_it_came(tmp_path: Path) -> None:
    code = "const all = []; while (true) all.push(new Uint8Array(1e6).fill(7));"
    eater = page(f"<div id=root></div><a href=/plain>p</a><script>{code}</script>")
    answers = {"/": page("<a href=/eater>e</a><a href=/good>g</a>")}
    with (
        nothing_left_behind(),
        served(answers | {"/eater": eater, "/good": filled_by(FILL)}) as (_, base),
    ):
        found = crawled(f"{base}/", tmp_path / "c.db", max_memory=700_000_000)
    assert found["/eater"].state == "fetched"
    assert {"/plain", "/found"} <= set(found)
