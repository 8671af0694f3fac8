"""The audit finds every planted fault, and none on a site without faults."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from minicrawl.audit import checks
from minicrawl.audit.checks import CHECKED, CHECKS, audited
from minicrawl.report.page_links import broken_links
from minicrawl.report.snapshot import snapshot
from tests.audit.planted import FAULTS, HOST, PlantedSite
from tests.webs import crawl_web

MADE_ELSEWHERE = {"slow", "slow-first-byte", "links-many"}
"""Issues that have a test of their own."""


def crawled(path: Path, site: PlantedSite, **chosen: Any) -> Path:
    """Crawl the site, and check its links."""
    usual: dict[str, Any] = {"scope": "host", "sitemaps": True, "check": "all"}
    return crawl_web(path, site, [f"{HOST}/"], **{**usual, "workers": 0, **chosen})


def issues(path: Path) -> dict[str, set[str]]:
    """Return the URLs of the pages with each issue."""
    with audited(path) as found:
        pages = list(found.pages())
        names = {one.check.name for one in found.found}
    assert names | {name for name, _ in found.skipped} == {check.name for check in CHECKS}
    return {name: {page.url for page in pages if page.issue == name} for name in names}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, set[str]], dict[str, str]]:
    site = PlantedSite()
    places = {name: plant(site) for name, plant in FAULTS.items()}
    found = issues(crawled(tmp_path_factory.mktemp("planted") / "crawl.db", site))
    return found, places


@pytest.mark.parametrize("issue", FAULTS)
def test_a_planted_fault_is_found(
    planted: tuple[dict[str, set[str]], dict[str, str]], issue: str
) -> None:
    found, places = planted
    place = places[issue]
    url = place if place.startswith("http") else HOST + place
    assert url in found[issue]
    assert len(found[issue]) < len(places) / 2


def test_a_clean_site_has_no_issue(tmp_path: Path) -> None:
    found = issues(crawled(tmp_path / "crawl.db", PlantedSite()))
    assert {name: urls for name, urls in found.items() if urls} == {}
    assert len(found) >= 60


def test_many_links_and_slow_responses_and_heads_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "_MANY_LINKS", 5)
    monkeypatch.setattr(checks, "_SLOW_S", -1.0)
    monkeypatch.setattr(checks, "_LATE_S", 0.0)
    found = issues(crawled(tmp_path / "crawl.db", PlantedSite()))
    assert found["links-many"] == {f"{HOST}/", f"{HOST}/all"}
    assert f"{HOST}/good-1" in found["slow"] & found["slow-first-byte"]


def test_only_the_path_counts_for_double_slashes_and_any_session_id_is_found(
    tmp_path: Path,
) -> None:
    site = PlantedSite()
    site.add("/share?to=https://other.example/")
    site.add("/cart;jsessionid=0123456789abcdef0123456789abcdef")
    found = issues(crawled(tmp_path / "crawl.db", site, strip_marks=False))
    assert found["url-double-slash"] == set()
    assert found["url-session"] == {f"{HOST}/cart;jsessionid=0123456789abcdef0123456789abcdef"}


def test_a_session_id_is_found_in_links_to_a_page_that_a_sitemap_named_without_it(
    tmp_path: Path,
) -> None:
    site, mark = PlantedSite(), "PHPSESSID=0123456789abcdef0123456789abcdef"
    site.add("/leads-to-session", links=("/", "/all", f"/visit?{mark}"))
    site.pages[f"/visit?{mark}"] = site.add("/visit", is_linked=False)
    assert issues(crawled(tmp_path / "crawl.db", site))["url-session"] == {f"{HOST}/visit"}


def test_the_size_of_the_largest_image_is_shown_and_the_image_is_not_broken(
    tmp_path: Path,
) -> None:
    site, kind, body = PlantedSite(), {"content-type": "image/png"}, ""
    for size in (100, 500_001, 500_002):
        site.add(f"/{size}.png", is_linked=False, headers=kind, text="x" * size)
        body += f'<img src="/{size}.png" alt="">'
    site.add("/lies.png", is_linked=False, headers=kind | {"content-length": "9" * 5000})
    page = site.add("/pictures", body=body + '<img src="/lies.png" alt="">')
    path = crawled(tmp_path / "crawl.db", site)
    with audited(path, ["image-large"]) as found:
        (row,) = found.pages()
    assert (row.url, row.value) == (HOST + page.path, 500_002)
    with snapshot(path) as seen:
        assert broken_links(seen) == []


def test_a_page_without_words_is_thin(tmp_path: Path) -> None:
    site = PlantedSite()
    page = site.add("/picture", h1="", text="", links=(), body='<img src="/img.png" alt="">')
    found = issues(crawled(tmp_path / "crawl.db", site))
    assert found["text-thin"] == {HOST + page.path}


def test_every_check_has_a_planted_fault() -> None:
    names = [check.name for check in CHECKS]
    assert len(names) == len(set(names))
    assert {*names} == FAULTS.keys() | MADE_ELSEWHERE


def test_skipped_checks_are_named(tmp_path: Path) -> None:
    chosen: dict[str, Any] = {"keep": "none", "check": "none"}
    path = crawled(tmp_path / "crawl.db", PlantedSite(), **chosen)
    with audited(path) as found:
        skipped = {name for name, _ in found.skipped}
        made = {one.check.name for one in found.found}
    assert {check.name for check in CHECKS if check.by.needs in ("markup", CHECKED)} <= skipped
    assert "redirect-loop" in made


def test_stores_of_versions_that_did_not_time_first_bytes_are_not_judged_by_them(
    tmp_path: Path,
) -> None:
    path = crawled(tmp_path / "crawl.db", PlantedSite())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE fetches SET first_byte_s = NULL")
    with audited(path) as found:
        assert dict(found.skipped) == {"slow-first-byte": "needs response times: crawl again"}
