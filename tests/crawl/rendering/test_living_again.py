"""Archives of applications have all that a replay needs."""

import shutil
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from minicrawl.cli import main
from tests.archive.replaying import program_of_pywb
from tests.crawl.rendering.applications import TITLES, Asked, applications
from tests.crawl.rendering.replays import in_pywb, in_wabac
from tests.crawl.rendering.sites import crawled, needs_browser

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
