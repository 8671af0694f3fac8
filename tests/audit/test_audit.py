"""The audit finds every planted fault of a held-out site, and nothing on its clean pages."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from minicrawl.audit.checks import CHECKS, RULES
from minicrawl.audit.detectors import CHECKED
from minicrawl.audit.findings import audited
from minicrawl.audit.report_sections import report_sections
from minicrawl.cli import main
from minicrawl.errors import NoRoom, UsageError
from minicrawl.report.site.site_report import ReportSection
from minicrawl.report.snapshot import snapshot
from tests.audit.held_out import (
    HOST,
    PARTNER,
    HeldOutSite,
    planted_site,
    site_of_controls_and_leaks,
    site_of_files,
)
from tests.cli.calls import Captured, as_json
from tests.webs import crawl_web

OF_A_BUSY_MACHINE = {"slow", "slow-first-byte"}
# Checks without a fault in `held_out`, which other tests of this file and folder find.
TESTED_ELSEWHERE = {*OF_A_BUSY_MACHINE, RULES, "links-many", "url-session"}


def crawled(path: Path, site: HeldOutSite, **chosen: Any) -> Path:
    """Crawl the site, and check its links."""
    usual: dict[str, Any] = {"scope": "host", "sitemaps": True, "check": "all", "workers": 0}
    return crawl_web(path, site, [f"{HOST}/"], **(usual | chosen))


def issues(path: Path) -> dict[str, set[str]]:
    """Return the paths of the pages with each issue."""
    with audited(path) as found:
        pages = list(found.pages())
        names = {one.check.name for one in found.findings}
    assert names | {name for name, _ in found.skipped} == {check.name for check in CHECKS}
    return {
        name: {page.url.removeprefix(HOST) for page in pages if page.issue == name}
        for name in names
    }


def test_each_check_has_a_planted_fault_or_is_tested_elsewhere() -> None:
    sites = planted_site(), site_of_controls_and_leaks(), site_of_files()
    tested = {issue for site in sites for issue, _ in site.truth} | TESTED_ELSEWHERE
    checks = {check.name for check in CHECKS}
    assert checks - tested == set(), "plant them in held_out, or test and name them elsewhere"
    assert tested - checks == set(), "no check has these names"


@pytest.mark.slow
def test_exactly_the_planted_faults_are_found(tmp_path: Path) -> None:
    site = planted_site()
    with audited(crawled(tmp_path / "crawl.db", site)) as found:
        pages = [page for page in found.pages() if page.issue not in OF_A_BUSY_MACHINE]
        reported = {(page.issue, page.url.removeprefix(HOST)) for page in pages}
        assert [name for name, _ in found.skipped] == [RULES]
        causes = found.table().causes
    assert all(one.target and one.remedy and one.example and one.place for one in causes)
    # The crawl takes the first of two equal pages that it reads for the original.
    one, other = site.copies
    assert {(issue, one if path == other else path) for issue, path in reported} == site.truth


def test_faults_of_controls_data_and_leaks_are_found_and_not_what_looks_like_them(
    tmp_path: Path,
) -> None:
    site = site_of_controls_and_leaks()
    found = issues(crawled(tmp_path / "crawl.db", site))
    reported = {(name, path) for name, paths in found.items() for path in paths}
    assert {row for row in reported if row[0] not in OF_A_BUSY_MACHINE} == site.truth


def test_faults_of_files_are_found_and_not_what_looks_like_them(tmp_path: Path) -> None:
    site = site_of_files()
    found = issues(crawled(tmp_path / "crawl.db", site))
    of_files = {issue for issue, _ in site.truth}
    reported = {(name, path) for name in of_files for path in found[name]}
    assert reported == site.truth
    for name in ("image-missing", "image-large", "style-missing", "script-missing", "link-dead"):
        assert found[name] == set()


def test_many_links_and_slow_responses_and_heads_are_found(tmp_path: Path) -> None:
    site = HeldOutSite()
    for count in (500, 501):
        page = site.add(f"/{count}", links=[f"{PARTNER}/{number}" for number in range(count - 1)])
        site.pages["/"].links.append(page.path)
    path = crawled(tmp_path / "crawl.db", site, check="none")
    times = {"/500": (1.5, 0.5), "/501": (0.9, 0.9), "/": (0.9, 0.5)}
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(
            "UPDATE fetches SET elapsed_s = ?, first_byte_s = ? WHERE page IN "
            "(SELECT id FROM urls WHERE path = ?)",
            [(*both, page) for page, both in times.items()],
        )
    found = issues(path)
    assert found["links-many"] == {"/501"}
    assert found["slow"] & times.keys() == {"/500"}
    assert found["slow-first-byte"] & times.keys() == {"/501"}


def test_only_the_path_counts_for_double_slashes_and_any_session_id_is_found(
    path: Path,
) -> None:
    site = HeldOutSite()
    site.item("/share?to=https://other.example/")
    cart = site.item("/cart;jsessionid=0123456789abcdef0123456789abcdef").path
    found = issues(crawled(path, site, strip_marks=False))
    assert found["url-double-slash"] == set()
    assert found["url-session"] == {cart}


@pytest.mark.parametrize("is_listed", [False, True])
def test_a_session_id_is_found_in_links_to_a_page_whose_url_has_none(
    path: Path, is_listed: bool
) -> None:
    site, mark = HeldOutSite(), "PHPSESSID=0123456789abcdef0123456789abcdef"
    site.item(links=[f"/visit?{mark}"])
    site.pages[f"/visit?{mark}"] = site.add("/visit", listed=is_listed)
    assert issues(crawled(path, site))["url-session"] == {"/visit"}


def test_the_size_of_the_largest_image_is_shown_and_the_image_is_not_broken(
    tmp_path: Path, capsys: Captured
) -> None:
    site, body, lies = HeldOutSite(), "", {"content-length": "9" * 5000}
    for name, size in (("a", 100), ("b", 500_001), ("c", 500_002), ("lies", 1)):
        kind = {"content-type": "image/png"} | (lies if name == "lies" else {})
        site.add(f"/{name}.png", raw=b"x" * size, headers=kind, zipped=False, listed=False)
        body += f'<img src="/{name}.png" alt="">'
    page = site.item(body=body)
    path = crawled(tmp_path / "crawl.db", site)
    with audited(path, ["image-large"]) as found:
        (row,) = found.pages()
    assert (row.url, row.value) == (HOST + page.path, 500_002)
    assert as_json(capsys, "broken", "--store", path) == []


def test_a_page_without_words_is_thin(path: Path) -> None:
    site = HeldOutSite()
    page = site.item(raw=b'<title>Ein Bild</title><img src="/bilder/krug.png" alt="">')
    assert issues(crawled(path, site))["text-thin"] == {page.path}


def test_a_missing_page_that_nothing_links_to_any_longer_is_mended(tmp_path: Path) -> None:
    site = HeldOutSite()
    page = site.item(links=["/kaputt/1"])
    path = crawled(tmp_path / "crawl.db", site)
    assert issues(path)["page-missing"] == {"/kaputt/1"}
    page.links.remove("/kaputt/1")
    gone = site.pages.pop("/biere/eintrag-3.html").path
    crawled(path, site, refresh=1.0)
    assert issues(path)["page-missing"] == {gone}


@pytest.mark.slow
@pytest.mark.parametrize("keep", ["none", "text"])
@pytest.mark.parametrize("runs", [1, 2])
def test_skipped_checks_are_named(tmp_path: Path, keep: str, runs: int) -> None:
    site = HeldOutSite()
    site.item()
    for _ in range(runs):  # the second one keeps revisits of unchanged texts
        path = crawled(tmp_path / "crawl.db", site, keep=keep, check="none", refresh=1.0)
    with audited(path) as found:
        skipped = {name for name, _ in found.skipped}
        made = {one.check.name for one in found.findings}
    assert {check.name for check in CHECKS if check.by.needs in ("markup", CHECKED)} <= skipped
    assert "redirect-loop" in made


@pytest.mark.slow
def test_checks_that_could_not_see_everything_are_named_everywhere(
    tmp_path: Path, capsys: Captured
) -> None:
    """The search index finds near-duplicates; robots.txt forbids one image of the page."""
    site = HeldOutSite()
    site.forbidden.append("/geheim/")
    page = site.item(raw=b'<title>Ein Bild</title><img src="/geheim/krug.png" alt="a">')
    path = crawled(tmp_path / "crawl.db", site)
    with audited(path) as found:
        partial = dict(found.partial)
        of_images = {f"image-{fault}" for fault in ("missing", "large", "empty", "mistyped")}
        assert partial.keys() == {"duplicate-near", *of_images}
        _, section, *_ = report_sections(found.site.seen, lambda _share: None)
        assert f"{len(partial)} of them in part (" in section.means
        assert not any(one.count for one in found.findings if one.check.name == "image-missing")
    document = as_json(capsys, "audit", "--store", path)
    assert {one["issue"] for one in document["partial"]} == partial.keys()
    assert main(["audit", "--store", str(path), "--out", str(tmp_path / "a.xml")]) == 0
    assert "checked in part: 1 issue (equal lines only" in capsys.readouterr().err
    assert (tmp_path / "a.xml").read_text(encoding="utf-8").count("in part: ") == len(partial)
    (row,) = as_json(capsys, "broken", "--verdict", "forbidden", "--store", path)
    assert (row["target"], row["source"]) == (f"{HOST}/geheim/krug.png", HOST + page.path)
    assert as_json(capsys, "status", "--store", path)["linked"]["forbidden"] == 1
    assert main(["index", "--store", str(path)]) == 0
    with audited(path) as found:
        assert "duplicate-near" not in dict(found.partial)


def test_stores_of_versions_that_did_not_time_first_bytes_are_not_judged_by_them(
    tmp_path: Path,
) -> None:
    path = crawled(tmp_path / "crawl.db", HeldOutSite())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE fetches SET first_byte_s = NULL")
    with audited(path) as found:
        assert dict(found.skipped)["slow-first-byte"] == "needs response times: crawl again"


@pytest.mark.parametrize("error", [NoRoom("it is full"), UsageError("it is full")])
def test_a_report_needs_no_room_beside_the_store(
    filled: Path, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("minicrawl.audit.report_sections.audit_of", fail)
    with snapshot(filled) as seen:
        (section,) = report_sections(seen, lambda _share: None)
    assert section == ReportSection("Issues", "Not checked: it is full", (), (), 0)


def test_every_check_says_what_is_wrong_and_what_to_do() -> None:
    assert [check.name for check in CHECKS if not check.remedy or check.text.count(": ") != 1] == []
