"""Applications that live again from their archive, in pywb and in wabac.js."""

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
from minicrawl.crawl.rendering.renderer import find_browser
from tests.archive.replaying import replayed
from tests.crawl.rendering.applications import APPLICATIONS, TITLES, Asked, applications
from tests.crawl.rendering.sites import crawled, needs_browser

pytestmark = [needs_browser, pytest.mark.timeout(600)]

VIEW = {"width": 1280, "height": 1600}
_SETTLES_MS, _LOOK_MS, _LOOKS = 15_000, 100, 150
_WABAC = "WABAC_SW"
"""Variable that names the file `sw.js` of the npm package @webrecorder/wabac."""
START = """<script>
navigator.serviceWorker.addEventListener("message", (told) => {
  if (told.data.msg_type === "collAdded") document.title = "ready";
});
navigator.serviceWorker.register("/sw.js").then(() => navigator.serviceWorker.ready).then((one) =>
  one.active.postMessage({ msg_type: "addColl", name: "pages", type: "archive", root: false,
    file: { sourceUrl: location.origin + "/ARCHIVE" } }));
</script>"""


class Archived(NamedTuple):
    """A crawl of all applications."""

    folder: Path
    origin: str
    asked: Asked


@pytest.fixture(scope="module")
def archived(tmp_path_factory: pytest.TempPathFactory) -> Archived:
    folder = tmp_path_factory.mktemp("applications")
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


def test_no_file_is_asked_for_twice(archived: Archived) -> None:
    """Only data that may differ at each reading is."""
    counted = Counter(path for method, path, _ in archived.asked if method == "GET")
    files = {path: count for path, count in counted.items() if "." in path or path[1:] in TITLES}
    assert len(files) > 30
    assert {path: count for path, count in files.items() if count > 1} == {}


def test_a_post_takes_nothing_that_is_ours_along(archived: Archived) -> None:
    posts = [headers for method, _, headers in archived.asked if method == "POST"]
    assert len(posts) == 5
    assert not [one for one in posts if "Cookie" in one or "Authorization" in one]


@pytest.mark.parametrize("name", ["live.warc.gz", "site.warc.gz"])
def test_what_a_browser_asked_for_names_its_kind_and_its_page(
    archived: Archived, name: str
) -> None:
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


@contextmanager
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        program = playwright.chromium.launch(
            executable_path=find_browser(None), chromium_sandbox=os.geteuid() != 0
        )
        yield program
        program.close()


def replays(
    context: Any, start: str, origin: str, of: Callable[[str], str]
) -> dict[str, tuple[str, set[str]]]:
    """The title of each application in a replay, and the requests that the archive missed.

    They are shown in a frame of a page of the replay's origin, as replay programs show them.
    """
    found: dict[str, tuple[str, set[str]]] = {}
    for name in APPLICATIONS:
        missed, shown = set[str](), context.new_page()

        def note(response: Any, missed: set[str] = missed) -> None:
            is_recorded = "memento-datetime" in response.headers
            if response.status >= 400 and not is_recorded:
                missed.add(response.url)

        shown.on("response", note)
        shown.goto(start)
        shown.set_content(f"<iframe width=1280 height=1600 src='{of(f'{origin}/{name}')}'></iframe>")
        found[name] = title_of(shown), missed
        shown.close()
    return found


def title_of(shown: Any) -> str:
    """The title of the page in a frame, when it says that it is done, or in the end."""
    titles: list[str] = []
    for _ in range(_LOOKS):
        titles = [frame.title() for frame in shown.frames]
        for title in titles:
            if title.startswith("done "):
                return title[5:]
        shown.wait_for_timeout(_LOOK_MS)
    return " ".join(titles)


def check(found: dict[str, tuple[str, set[str]]]) -> None:
    assert {name: missed for name, (_, missed) in found.items() if missed} == {}
    wrong = {
        name: title for name, (title, _) in found.items() if not title.startswith(TITLES[name])
    }
    assert wrong == {}


@pytest.mark.parametrize("name", ["live.warc.gz", "site.wacz"])
def test_all_applications_live_again_in_pywb(archived: Archived, name: str, tmp_path: Path) -> None:
    with replayed(tmp_path, archived.folder / name) as there, browser() as program:
        context = program.new_context(viewport=VIEW, service_workers="block")
        check(replays(context, there, archived.origin, lambda url: f"{there}/mp_/{url}"))


@contextmanager
def files_of(folder: Path) -> Iterator[str]:
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
    """Also answers requests for a part of a file, which replay programs send."""

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

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize("name", ["live.warc.gz", "site.wacz"])
def test_all_applications_live_again_in_wabac(
    archived: Archived, name: str, tmp_path: Path
) -> None:
    program_file = os.environ.get(_WABAC)
    if program_file is None:
        pytest.skip(f"no {_WABAC}: let it name sw.js of the npm package @webrecorder/wabac")
    shutil.copy(program_file, tmp_path / "sw.js")
    shutil.copy(archived.folder / name, tmp_path / name)
    (tmp_path / "index.html").write_text(START.replace("ARCHIVE", name))
    with files_of(tmp_path) as there, browser() as program:
        context = program.new_context(viewport=VIEW)
        first = context.new_page()
        first.goto(f"{there}/index.html")
        first.wait_for_function("() => document.title === 'ready'", timeout=_SETTLES_MS)
        start, pages = f"{there}/index.html", f"{there}/w/pages/mp_"
        check(replays(context, start, archived.origin, lambda url: f"{pages}/{url}"))
