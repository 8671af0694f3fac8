"""Archives of applications have all that a replay needs.

Replays of an archive of applications in a browser: by pywb, and by wabac.js.

wabac.js is the service worker behind ReplayWeb.page and ArchiveWeb.page. `WABAC_SW` names the file
`sw.js` of its npm package, @webrecorder/wabac.
"""

import os
import re
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from minicrawl.cli import main
from minicrawl.crawl.rendering.pool import find_browser
from tests.archive.replaying import program_of_pywb, replayed
from tests.crawl.rendering.applications import APPLICATIONS, TITLES, Asked, applications
from tests.crawl.rendering.sites import crawled, needs_browser

_VIEW = {"width": 1280, "height": 1600}
_PATIENCE_MS, _LOOK_MS, _LOOKS = 60_000, 100, 300
_START = """<script>
navigator.serviceWorker.addEventListener("message", (told) => {
  if (told.data.msg_type === "collAdded") document.title = "ready";
});
navigator.serviceWorker.register("/sw.js").then(() => navigator.serviceWorker.ready).then((one) =>
  one.active.postMessage({ msg_type: "addColl", name: "pages", type: "archive", root: false,
    file: { sourceUrl: location.origin + "/ARCHIVE" } }));
</script>"""
_TITLES_OF_FRAMES = """() => {
  const titles = [], waiting = [window];
  while (waiting.length) {
    const one = waiting.pop();
    titles.push(one.document.title);
    one.scrollTo(0, one.document.documentElement.scrollHeight);
    for (let n = 0; n < one.frames.length; n++) waiting.push(one.frames[n]);
  }
  return titles;
}"""


class Replay(NamedTuple):
    """The last title of an application, and its requests that the archive could not answer."""

    title: str
    missed: tuple[str, ...]


def in_pywb(archive: Path, origin: str, folder: Path) -> dict[str, Replay]:
    """Replay all applications of an archive in pywb, with its files in `folder`."""
    with replayed(folder, archive) as there, _browser() as program:
        context = program.new_context(viewport=_VIEW, service_workers="block")
        return _replays(context, there, lambda name: f"{there}/mp_/{origin}/{name}")


def in_wabac(archive: Path, origin: str, folder: Path) -> dict[str, Replay]:
    """Replay all applications of an archive in wabac.js, with its files in `folder`."""
    if (worker := os.environ.get("WABAC_SW")) is None:
        pytest.skip("no WABAC_SW: let it name sw.js of the npm package @webrecorder/wabac")
    shutil.copy(worker, folder / "sw.js")
    shutil.copy(archive, folder)
    (folder / "index.html").write_text(_START.replace("ARCHIVE", archive.name))
    (folder / "empty.html").write_text("")
    with _files_of(folder) as there, _browser() as program:
        context = program.new_context(viewport=_VIEW)
        first = context.new_page()
        first.goto(f"{there}/index.html")
        first.wait_for_function("() => document.title === 'ready'", timeout=_PATIENCE_MS)
        url_of = partial("{}/w/pages/mp_/{}/{}".format, there, origin)
        return _replays(context, f"{there}/empty.html", url_of)


@contextmanager
def _browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        program = playwright.chromium.launch(
            executable_path=find_browser(None), chromium_sandbox=os.geteuid() != 0
        )
        yield program
        program.close()


def _replays(context: Any, start: str, url_of: Callable[[str], str]) -> dict[str, Replay]:
    """Show each application in a frame, as these programs do, and return its replay."""
    found: dict[str, Replay] = {}
    for name in APPLICATIONS:
        missed, shown = set[str](), context.new_page()

        def note(response: Any, missed: set[str] = missed) -> None:
            # This one was missing on the server as well.
            if response.status >= 400 and not response.url.endswith("/api/missing"):
                missed.add(response.url)

        shown.on("response", note)
        shown.goto(start)
        shown.set_content(f"<iframe width=1200 height=1200 src='{url_of(name)}'></iframe>")
        found[name] = Replay(_title_of(shown), tuple(sorted(missed)))
        shown.close()
    return found


def _title_of(shown: Any) -> str:
    """Return the word in the title of a frame that is done, or all titles after the last look."""
    titles: list[str] = []
    for _ in range(_LOOKS):
        titles = shown.evaluate(_TITLES_OF_FRAMES)
        for title in titles:
            if title.startswith("done "):
                return title[5:]
        shown.wait_for_timeout(_LOOK_MS)
    return " ".join(titles)


@contextmanager
def _files_of(folder: Path) -> Iterator[str]:
    kind = partial(_QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _QuietHandler(SimpleHTTPRequestHandler):
    """A handler that also answers range requests, which wabac.js sends."""

    def do_GET(self) -> None:
        wanted = re.fullmatch(r"bytes=([0-9]*)-([0-9]*)", self.headers.get("Range", ""))
        if wanted is None:
            super().do_GET()
            return
        content = Path(self.translate_path(self.path)).read_bytes()
        first, last = wanted.groups()
        begin = int(first) if first else max(len(content) - int(last), 0)
        end = min(int(last) + 1, len(content)) if first and last else len(content)
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(content)}")
        self.send_header("Content-Length", str(end - begin))
        self.end_headers()
        self.wfile.write(content[begin:end])

    def log_message(self, *_: object) -> None: ...


pytestmark = [needs_browser, pytest.mark.timeout(600)]


class Archived(NamedTuple):
    """Folder of a crawl of all applications, with its archives, origin and requests."""

    folder: Path
    origin: str
    asked: Asked


def archived_in(folder: Path) -> Archived:
    store = folder / "c.db"
    with applications() as (origin, asked):
        crawled(
            f"{origin}/",
            store,
            render="always",
            keep="pages",
            requisites=True,
            warc=folder / "warcs",
            header="X-Own: secret",
            cookies="on",
        )
        for name in ("site.warc.gz", "site.wacz"):
            assert main(["export", str(folder / name), "--store", str(store)]) == 0
        (file,) = (folder / "warcs").glob("*.warc.gz")
        shutil.copy(file, folder / "live.warc.gz")
        return Archived(folder, origin, list(asked))


def assert_no_file_was_requested_twice(archived: Archived) -> None:
    """Data may be requested twice, and so may a page whose browser crashed."""
    counted = Counter(path for _, path, _ in archived.asked if "." in path)
    assert len(counted) > 10
    assert {path: count for path, count in counted.items() if count > 1} == {}


def assert_posts_have_no_credentials(archived: Archived) -> None:
    posts = [headers for method, _, headers in archived.asked if method == "POST"]
    assert len(posts) >= 6
    assert not [one for one in posts if "Cookie" in one or "Authorization" in one]


def assert_records_name_kinds_and_pages(archived: Archived, name: str) -> None:
    archiveiterator = pytest.importorskip("warcio.archiveiterator")
    kinds, pages = dict[str, str](), dict[str, str]()
    with (archived.folder / name).open("rb") as stream:
        for record in archiveiterator.ArchiveIterator(stream, check_digests="raise"):
            head = record.rec_headers
            path = (head.get_header("WARC-Target-URI") or "").removeprefix(archived.origin)
            if kind := head.get_header("WARC-Resource-Type"):
                kinds[path] = kind
            if record.rec_type == "metadata":
                told = record.content_stream().read().decode()
                named = dict(line.split(": ", 1) for line in told.splitlines())
                pages[path] = named.get("via", "")
    assert kinds["/lazy.js"] == "script"
    assert kinds["/api/view/home"] == "fetch"
    assert kinds["/api/post?in=text"] == "xhr"
    assert pages["/api/view/home"] == f"{archived.origin}/hash-router"
    assert not {"/fetch", "/late.css", "/robots.txt"} & kinds.keys()


@pytest.mark.slow
def test_requests_of_browsers_are_archived_with_their_page(tmp_path: Path) -> None:
    """One test checks several laws, as browsers take long to start."""
    archived = archived_in(tmp_path)
    assert_no_file_was_requested_twice(archived)
    assert_posts_have_no_credentials(archived)
    for name in ("live.warc.gz", "site.warc.gz"):
        assert_records_name_kinds_and_pages(archived, name)


MODULES = ("import", "large", "modules")
"""Applications with modules: pywb 2.10 adds a name `arguments`, which modules may not have."""
MESSAGES = ("frame",)
"""Applications whose messages from a frame end in wombat.js, of pywb 2.10 and wabac.js 2.27."""


REPLAYS = (
    (in_pywb, "live.warc.gz", ()),
    (in_pywb, "site.wacz", (*MODULES, *MESSAGES)),
    (in_wabac, "live.warc.gz", MESSAGES),
    (in_wabac, "site.wacz", MESSAGES),
)


@pytest.mark.proof
def test_replayed_applications_miss_no_request(tmp_path: Path) -> None:
    """For a WARC file, pywb makes an index of its own and shows the archived DOM of a page."""
    program_of_pywb("wayback")  # without it, there is no need to crawl
    made = [tmp_path / name for name in ("archived", *map(str, range(len(REPLAYS))))]
    for folder in made:
        folder.mkdir()
    archived = archived_in(made[0])
    for (replay, name, failing), folder in zip(REPLAYS, made[1:], strict=True):
        found = replay(archived.folder / name, archived.origin, folder)
        where = f"{replay.__name__} {name}"
        assert {one: it.missed for one, it in found.items() if it.missed} == {}, where
        dead = {one: it.title for one, it in found.items() if not it.title.startswith(TITLES[one])}
        assert dead.keys() <= set(failing), (where, dead)
