"""What the archive has of applications, so that they can live again."""

import shutil
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from minicrawl.cli import main
from tests.crawl.rendering.applications import TITLES, Asked, applications
from tests.crawl.rendering.replays import in_pywb, in_wabac
from tests.crawl.rendering.sites import crawled, needs_browser

pytestmark = [needs_browser, pytest.mark.timeout(600)]


class Archived(NamedTuple):
    """A crawl of all applications."""

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


def no_file_is_asked_for_twice(archived: Archived) -> None:
    """Only data that may differ at each reading is, and a page whose browser crashed."""
    counted = Counter(path for _, path, _ in archived.asked if "." in path)
    assert len(counted) > 10
    assert {path: count for path, count in counted.items() if count > 1} == {}


def a_post_takes_nothing_that_is_ours_along(archived: Archived) -> None:
    posts = [headers for method, _, headers in archived.asked if method == "POST"]
    assert len(posts) >= 6
    assert not [one for one in posts if "Cookie" in one or "Authorization" in one]


def what_a_browser_asked_for_names_its_kind_and_its_page(archived: Archived, name: str) -> None:
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


def test_what_browsers_ask_for_is_kept_with_its_page(tmp_path: Path) -> None:
    """One test, as browsers take long to start."""
    archived = archived_in(tmp_path)
    no_file_is_asked_for_twice(archived)
    a_post_takes_nothing_that_is_ours_along(archived)
    for name in ("live.warc.gz", "site.warc.gz"):
        what_a_browser_asked_for_names_its_kind_and_its_page(archived, name)


MODULES = ("import", "large", "modules")
"""pywb 2.10 puts its own names into modules, where none may be called `arguments`."""
MESSAGES = ("frame",)
"""Messages from a frame to its page end in wombat.js, which pywb 2.10 and wabac.js 2.27 share."""


REPLAYS = (
    (in_pywb, "live.warc.gz", ()),
    (in_pywb, "site.wacz", (*MODULES, *MESSAGES)),
    (in_wabac, "live.warc.gz", MESSAGES),
    (in_wabac, "site.wacz", MESSAGES),
)


@pytest.mark.proof
def test_applications_live_again_without_a_missing_request(tmp_path: Path) -> None:
    """pywb shows the DOM that a WARC file has beside a page, if it makes the index itself."""
    made = [tmp_path / name for name in ("archived", *map(str, range(len(REPLAYS))))]
    for folder in made:
        folder.mkdir()
    archived = archived_in(made[0])
    for (replay, name, beyond_it), folder in zip(REPLAYS, made[1:], strict=True):
        found = replay(archived.folder / name, archived.origin, folder)
        where = f"{replay.__name__} {name}"
        assert {one: it.missed for one, it in found.items() if it.missed} == {}, where
        dead = {one: it.title for one, it in found.items() if not it.title.startswith(TITLES[one])}
        assert dead.keys() <= set(beyond_it), (where, dead)
