"""Crawls of pages that need a browser, in a real one.

Browsers are slow to start, so one crawl reads all kinds of pages, and another one harmful pages.
Each page has a path of its own, and so has each link.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from minicrawl import ExportRow, PageRead
from minicrawl.cli import main
from minicrawl.demo.pages import DemoResponse
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

pytestmark = [needs_browser, pytest.mark.slow, pytest.mark.timeout(600)]

TEXT = {"Content-Type": "text/plain"}
ROBOTS = DemoResponse(200, TEXT, b"User-agent: *\nDisallow: /no/\n")
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
    "/app": SHELL,
    "/one": SHELL,
    "/app.js": script(ROUTER),
    "/api/app": data({"title": "front", "links": ["/one"]}),
    "/api/one": data({"title": "one", "links": ["/app", "/three"]}),
}


def fill(name: str) -> str:
    return f"document.body.insertAdjacentHTML('beforeend', '<a href=/found-{name}>f</a>');"


TRACKER = '<script src="http://www.google-analytics.com/ga.js"></script>'
NOW = f"""{fill("now")} addEventListener('load', () => {{ {fill("load")} }});
requestAnimationFrame(() => {{ {fill("drawn")}
  requestAnimationFrame(() => {{ {fill("drawn-twice")} }}) }});
new IntersectionObserver(() => {{ {fill("seen")} }}).observe(document.getElementById('root'));
document.write('<a href=/found-written>f</a>');"""
ADDED = {
    "now": filled_by(NOW),
    "late": filled_by(
        f"""setTimeout(() => {{ {fill("late")} }}, 3000);
        let n = 0; const t = setInterval(() => {{ if (++n == 20) {{ {fill("ticks")} }} }}, 100)"""
    ),
    "after-frame": filled_by(
        f"requestAnimationFrame(() => setTimeout(() => {{ {fill('after-frame')} }}, 500))"
    ),
    "idle": filled_by(f"requestIdleCallback(() => {{ {fill('idle')} }})"),
    "fetched": filled_by(
        f"fetch('/empty').then(() => setTimeout(() => {{ {fill('fetched')} }}, 1000))"
    ),
    "module": filled_by(f"import('/module.js').then(() => {{ {fill('module')} }})"),
    "worker": filled_by(f"new Worker('/worker.js').onmessage = () => {{ {fill('worker')} }}"),
    "worker-late": filled_by(
        f"new Worker('/late-worker.js').onmessage = () => {{ {fill('worker-late')} }}"
    ),
    "worker-talk": filled_by(
        f"""const w = new Worker('/talk-worker.js'); w.postMessage(0);
        w.onmessage = (e) => {{ if (e.data < 3) w.postMessage(e.data);
          else {{ {fill("worker-talk")} }} }};"""
    ),
    "worker-blocked": filled_by(
        f"""{fill("worker-blocked")} new Worker(URL.createObjectURL(new Blob([
          'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'])));"""
    ),
    "tracker": page(f'{TRACKER}<div id="root"></div><script>{fill("tracker")}</script>'),
    "latin": DemoResponse(
        200,
        {"Content-Type": "text/html; charset=iso-8859-1"},
        f"<p>ä<div id=root></div><script>{fill('latin')}</script>".encode("latin-1"),
    ),
    "wall": filled_by(
        f"""{fill("wall")} document.body.style.overflow = "hidden";
        document.body.insertAdjacentHTML("beforeend",
          '<div style="position:fixed;inset:0;z-index:9999"><button>Accept all</button></div>');"""
    ),
}
SHADOWS = """<my-card><a href=/slotted>s</a></my-card><script>
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
customElements.define("my-inner", Inner);</script>"""
GOES = {
    f"/goes-{number}": filled_by(code)
    for number, code in enumerate(
        (
            "location.href = '/there'",
            "setTimeout(() => { location = '/there' }, 500)",
            "history.pushState({}, '', '/there')",
            "document.write('<meta http-equiv=refresh content=\"0; url=/there\">')",
            "const f = document.createElement('form'); f.action = '/there'; "
            "document.body.append(f); f.submit()",
        )
    )
}
CYRILLIC = DemoResponse(
    200,
    {"Content-Type": "text/html; charset=windows-1251"},
    "<a href='/cyrillic-ж?q=ж#ж'>ж</a><div id=root></div><script>document.getElementById('root')"
    ".innerHTML = '<a href=/cyrillic-added?q=\\u0436>a</a>'</script>".encode("windows-1251"),
)
CANONICAL = """document.title = "rendered";
document.head.insertAdjacentHTML("beforeend", '<link rel="canonical" href="/main">');
document.getElementById("root").innerHTML = "<p>größer <a href=/found>f</a>";"""
THINGS = f"""<link rel="stylesheet" href="/style.css"><img src="/picture.png">
<video src="/film.mp4"></video><style>@font-face {{ font-family: f; src: url(/font.woff2) }}
p {{ font-family: f; background: url(/back.png) }}</style>
<link rel="icon" href="/icon.png"><link rel="prefetch" href="/later.html">
<div id="root"></div><p>text<script>{fill("things")}</script>"""
CHANGES = f"""navigator.sendBeacon("/beacon", "x"); new EventSource("/events");
{fill("changes")};"""
FORBIDDEN = f"""fetch("/no/data").catch(() => {{ {fill("forbidden")} }}); fetch("/yes");
document.body.insertAdjacentHTML("beforeend", "<iframe src=/no/frame></iframe>");
document.body.insertAdjacentHTML("beforeend", "<iframe src=/frame></iframe>");"""
GREEDY = f"""(async () => {{ for (let n = 0; n < 50; n++)
  await fetch("/data?" + n).catch(() => 0); {fill("greedy")} }})()"""
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


def reaches(there: str) -> str:
    """Return a script that tries all ways to reach another server."""
    socket = there.replace("http:", "ws:")
    return f"""fetch("{there}/secret").catch(() => {{ {fill("reaches")} }});
    new WebSocket("{socket}/socket"); new Image().src = "{there}/picture";
    new EventSource("{there}/events"); navigator.sendBeacon("{there}/beacon");
    document.body.insertAdjacentHTML("beforeend", '<iframe src="{there}/frame"></iframe>'
      + '<link rel="preconnect" href="{there}"><link rel="prefetch" href="{there}/p">');
    const blob = new Blob([`fetch("{there}/worker"); new WebSocket("{socket}/w");`]);
    new Worker(URL.createObjectURL(blob));
    window.open("{there}/window");"""


LINK = "document.body.innerHTML += '<a href=/in>in</a>'"
OWN = f"<script>fetch('/').then((r) => r.ok && ({LINK}))</script>"


class Bank(ScriptedWeb):
    """A web with a second host that needs a login, which scripts of the first one try to read."""

    def answer(self, host, target, headers, visits, /):  # type: ignore[no-untyped-def]
        if host != "bank.example":
            found = super().answer(host, target, headers, visits)
            self.asked[-1] = (target if host.startswith("127.") else host + target, {})
            return found
        if target == "/robots.txt":
            return ROBOTS
        if target == "/open":
            return page("mine", Access_Control_Allow_Origin="*")
        is_in = "authorization" in headers
        return page(f"mine {OWN}") if is_in else DemoResponse(401, {"WWW-Authenticate": "Basic"})


class Reading(NamedTuple):
    """Results of a crawl: pages by path, requested paths, requests elsewhere, and read pages."""

    found: dict[str, ExportRow]
    asked: list[str]
    elsewhere: list[str]
    seen: dict[str, PageRead]
    store: Path


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reading]:
    store = tmp_path_factory.mktemp("rendered") / "c.db"
    pages = {**APP, **GOES, "/shadows": page(SHADOWS), "/canonical": filled_by(CANONICAL)}
    pages |= {"/cyrillic": CYRILLIC}
    pages |= {f"/{name}": added for name, added in ADDED.items()}
    pages |= {"/things": page(THINGS), "/changes": filled_by(CHANGES), "/reads": filled_by(READS)}
    pages |= {"/forbidden": filled_by(FORBIDDEN), "/greedy": filled_by(GREEDY)}
    there = page("<title>there</title>")
    others = {
        "/robots.txt": ROBOTS,
        "/empty": data([]),
        "/yes": data([]),
        "/frame": page("<p>frame"),
        "/module.js": script("export const a = 1"),
        "/worker.js": script("fetch('/empty').then(() => postMessage(1))"),
        "/late-worker.js": script(
            "fetch('/empty').then(() => setTimeout(() => postMessage(1), 2500))"
        ),
        "/talk-worker.js": script(
            "onmessage = (e) => setTimeout(() => postMessage(e.data + 1), 200)"
        ),
        "/go": DemoResponse(302, {"Location": "http://bank.example/"}),
        "/there": there,
        "/there?": there,
    } | {f"/data?{number}": data([]) for number in range(50)}
    seen: dict[str, PageRead] = {}
    with served({}) as (other, elsewhere), served({}, Bank) as (web, base):
        pages["/reaches"] = filled_by(reaches(elsewhere))
        starts = [path for path in pages if path not in ("/one", "/app.js") and "/api" not in path]
        links = "".join(f"<a href={path}>{path}</a>" for path in starts)
        web.answers |= others | pages | {"/": page(f"{links}<a href=http://bank.example/>b</a>")}
        named = ("bank.example", "www.google-analytics.com")
        found = crawled(
            f"{base}/",
            store,
            lambda read: seen.update({read.url: read}),
            seeds=("http://bank.example/",),
            render="always",
            keep="pages",
            warc=store.with_name("warcs"),
            max_requests=10,
            resolve=[f"{name}={base[7:]}" for name in named],
            auth="bank.example=me:pw",
            cookies="on",
        )
        yield Reading(found, web.paths, other.paths, seen, store)


def test_all_pages_of_an_application_are_found(rendered: Reading) -> None:
    found = rendered.found
    assert {"/app", "/one", "/three"} <= set(found)
    assert {found[path].title for path in ("/app", "/one")} == {"front", "one"}
    assert {rendered.asked.count(path) for path in APP} == {1}


def test_without_rendering_no_page_of_an_application_is_found(tmp_path: Path) -> None:
    with served(APP) as (web, base):
        assert set(crawled(f"{base}/app", tmp_path / "c.db", render="never")) == {"/app"}
    assert web.paths == ["/robots.txt", "/app"]


def test_links_are_found_whenever_they_are_added(rendered: Reading) -> None:
    others = ("ticks", "load", "drawn", "drawn-twice", "seen", "written")
    assert {f"/found-{name}" for name in (*ADDED, *others)} <= set(rendered.found)
    assert {rendered.asked.count(f"/{name}") for name in ADDED} == {1}


def test_queries_of_links_are_escaped_in_the_encoding_of_the_page(rendered: Reading) -> None:
    expected = {"/cyrillic-%D0%B6?q=%E6", "/cyrillic-added?q=%E6"}
    assert {path for path in rendered.found if path.startswith("/cyrillic-")} == expected


def test_links_in_shadow_trees_are_found(rendered: Reading) -> None:
    assert {"/in-shadow?a=1&b=2", "/inner", "/slotted"} <= set(rendered.found)


def test_a_page_whose_script_leads_to_another_url_is_a_redirect(rendered: Reading) -> None:
    assert {rendered.found[path].state for path in GOES} == {"moved"}
    assert {rendered.asked.count(path) for path in (*GOES, "/there")} == {1}


def test_the_canonical_url_the_title_and_the_text_are_those_of_the_dom(
    rendered: Reading, capsys: pytest.CaptureFixture[str]
) -> None:
    row = rendered.found["/canonical"]
    assert (row.state, row.title, row.status) == ("canonical", "rendered", 200)
    (read,) = (one for url, one in rendered.seen.items() if url.endswith("/canonical"))
    assert "größer" in read.body.decode()
    assert read.headers["content-type"].startswith("text/html")
    assert main(["page", read.url, "--store", str(rendered.store)]) == 0
    assert "größer" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["warcs/*.warc.gz", "site.warc.gz"])
def test_the_dom_is_a_conversion_of_the_response_and_never_the_response(
    rendered: Reading, name: str
) -> None:
    archiveiterator = pytest.importorskip("warcio.archiveiterator")
    whole = rendered.store.with_name("site.warc.gz")
    arguments = [str(whole), "--store", str(rendered.store), "--force"]
    assert main(["export", *arguments]) == 0
    (file,) = rendered.store.parent.glob(name)
    found = {}
    with file.open("rb") as stream:
        for record in archiveiterator.ArchiveIterator(stream, check_digests="raise"):
            head, body = (
                record.rec_headers,
                record.content_stream().read().decode("utf-8", "replace"),
            )
            if (head.get_header("WARC-Target-URI") or "").endswith("/canonical"):
                found[record.rec_type] = head, body
    (response, written), (conversion, dom) = found["response"], found["conversion"]
    assert "<title>rendered</title>" not in written
    assert "<title>rendered</title>" in dom
    assert conversion.get_header("WARC-Refers-To") == response.get_header("WARC-Record-ID")
    assert response.get_header("WARC-IP-Address") == "127.0.0.1"


def test_pictures_media_fonts_and_styles_are_not_requested(rendered: Reading) -> None:
    assert "/found-things" in rendered.found
    names = ("style.css", "picture.png", "film.mp4", "font.woff2", "back.png", "icon.png")
    assert not {f"/{name}" for name in (*names, "later.html")} & set(rendered.asked)


def test_scripts_send_no_beacons_and_event_streams(rendered: Reading) -> None:
    assert "/found-changes" in rendered.found
    assert not {"/beacon", "/events"} & set(rendered.asked)


def test_scripts_do_not_request_what_robots_txt_forbids(rendered: Reading) -> None:
    assert "/found-forbidden" in rendered.found
    assert {"/yes", "/frame"} <= set(rendered.asked)
    assert not [path for path in rendered.asked if path.startswith("/no/")]


def test_scripts_cannot_reach_addresses_that_the_crawl_may_not_request(rendered: Reading) -> None:
    """Another port of loopback is no seed, so no request may reach it."""
    assert "/found-reaches" in rendered.found
    assert rendered.elsewhere == []


def test_no_script_reads_pages_of_a_host_on_which_the_crawl_is_logged_in(rendered: Reading) -> None:
    closed = {"/other-closed", "/moved-closed", "/frame-closed"}
    assert closed | {"/open-read", "/in"} <= set(rendered.found)


def test_the_number_of_requests_of_a_page_is_limited(rendered: Reading) -> None:
    assert "/found-greedy" in rendered.found
    assert len([path for path in rendered.asked if path.startswith("/data")]) == 10


def test_trackers_are_not_requested(rendered: Reading) -> None:
    assert not [path for path in rendered.asked if "google" in path]


ENDLESS = {
    "windows": "alert(1); confirm(2); prompt(3); onbeforeunload = () => 'stay';"
    "for (let n = 0; n < 10; n++) window.open('/window');"
    "const a = document.createElement('a'); a.href = 'data:application/zip,x'; "
    "a.download = 'x.zip'; document.body.append(a); a.click();",
    "timers": "setInterval(() => document.body.append('x'), 1); "
    "const again = () => setTimeout(again, 0); again();",
    "frames": "const again = () => requestAnimationFrame(again); again();",
    "polling": "setInterval(() => fetch('/empty'), 50);",
    "workers": "for (let n = 0; n < 2; n++) "
    "new Worker(URL.createObjectURL(new Blob(['while (true) {}'])));",
    "scrolling": "new IntersectionObserver(() => document.body.insertAdjacentHTML('beforeend', "
    "'<p style=height:500px>more')).observe(document.body);",
}
EATERS = {
    "reloads": "location.reload()",
    "processor": "while (true) {}",
    "memory": "const all = []; while (true) all.push(new Uint8Array(1e6).fill(7));",
}


def test_endless_pages_are_rendered_and_greedy_ones_read_as_served(tmp_path: Path) -> None:
    pages = {f"/{name}": filled_by(fill(name) + code) for name, code in ENDLESS.items()}
    pages |= {
        f"/{name}": page(f"<div id=root></div><a href=/found-{name}>p</a><script>{code}</script>")
        for name, code in EATERS.items()
    }
    front = page("".join(f"<a href={path}>{path}</a>" for path in pages))
    with nothing_left_behind(), served({"/": front, "/empty": data([])} | pages) as (web, base):
        found = crawled(f"{base}/", tmp_path / "c.db", max_s=2, max_memory=700_000_000)
    assert {f"/found-{name}" for name in (*ENDLESS, *EATERS)} <= set(found)
    assert {found[path].state for path in pages} == {"fetched"}
    assert (web.paths.count("/processor"), web.paths.count("/reloads")) == (1, 1)


def test_a_page_that_crashes_its_browser_twice_is_read_without_rendering(tmp_path: Path) -> None:
    deep = """let at = document.body; for (let n = 0; n < 30000; n++)
      at = at.appendChild(document.createElement('div')); at.offsetTop;"""
    eater = page(f"<div id=root></div><a href=/plain>p</a><script>{deep}</script>")
    with nothing_left_behind(), served({"/": eater}) as (web, base):
        found = crawled(f"{base}/", tmp_path / "c.db")
    assert found["/"].state == "fetched"
    assert "/plain" in found
    assert web.paths.count("/") == 2
