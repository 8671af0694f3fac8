"""Causes: one row for each change that mends pages, with its target, its place and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from minicrawl.audit.findings import Cause, Earlier, SiteAudit, audited
from minicrawl.audit.places import place_beside, place_of
from minicrawl.report.links.problems import broken_links, by_target
from minicrawl.report.site.site_report import site_report
from minicrawl.report.snapshot import snapshot
from tests.audit.held_out import HOST, PARTNER, HeldOutSite
from tests.audit.test_audit import crawled
from tests.cli.calls import Captured, as_json


@contextmanager
def audit_of(path: Path, site: HeldOutSite, *names: str) -> Iterator[SiteAudit]:
    with audited(crawled(path / "crawl.db", site), names) as audit:
        yield audit


def causes(path: Path, site: HeldOutSite, *names: str) -> list[Cause]:
    """Return the causes of these issues."""
    with audit_of(path, site, *names) as audit:
        return audit.table().causes


def rows(found: list[Cause]) -> set[tuple[str, str, int]]:
    return {(one.scope, one.target.replace(HOST, ""), one.pages) for one in found}


def test_a_missing_file_is_one_cause_whatever_style_asks_for_it(tmp_path: Path) -> None:
    site = HeldOutSite()
    style = b"body { background: url(/bilder/fehlt.png) }"
    headers = {"content-type": "text/css"}
    site.add("/stil.css", raw=style, headers=headers, zipped=False, listed=False)
    (one,) = causes(tmp_path, site, "media-missing")
    pages = sum(page.raw is None for page in site.pages.values())
    assert rows([one]) == {("file", "/bilder/fehlt.png in /stil.css", pages)}
    assert "stil.css" in one.place
    assert one.remedy == "Restore it, or remove the reference."


def test_a_lost_host_is_one_cause_whatever_pages_of_it_are_linked(tmp_path: Path) -> None:
    site = HeldOutSite()
    lost = "https://verloren.example"
    for number in range(4):
        site.item(links=[f"{lost}/{number}-weg", f"{PARTNER}/{number}-weg", f"{PARTNER}/da"])
    found = rows(causes(tmp_path, site, "link-dead-outside"))
    alone = {("link", f"{PARTNER}/{number}-weg", 1) for number in range(4)}
    assert found == {("site", lost, 4)} | alone


def test_what_a_host_or_a_folder_lacks_is_one_cause(tmp_path: Path) -> None:
    site = HeldOutSite()
    for page in site.pages.values():
        page.without = "content-security-policy"
        page.viewport = not page.path.startswith("/wissen/")
    pages = len(site.pages)
    found = rows(causes(tmp_path, site, "csp-missing", "viewport-missing"))
    assert found == {("site", "", pages), ("folder", "/wissen/", 7)}


def test_a_few_pages_of_a_folder_are_a_cause_each(tmp_path: Path) -> None:
    site = HeldOutSite()
    paths = [site.item(title="").path for _ in range(2)] + [site.item().path for _ in range(6)]
    found = rows(causes(tmp_path, site, "title-missing"))
    assert found == {("page", path, 1) for path in paths[:2]}


def test_links_have_their_target_and_pages_alike_their_original(tmp_path: Path) -> None:
    site = HeldOutSite()
    for _ in range(3):
        site.item(links=["/kaputt/1"])
    for _ in range(2):
        site.item(title="Unser Sortiment im Herbst")
    head = "<link rel=canonical href=/archiv/nie-da.html>"
    site.item(head=head, canonical=False, listed=False)
    found = causes(tmp_path, site, "link-dead", "title-duplicate", "canonical-dead")
    by_issue = {one.issue: one for one in found}
    assert rows([by_issue["link-dead"]]) == {("link", "/kaputt/1", 3)}
    assert by_issue["link-dead"].place.endswith('<a href="/kaputt/1">')
    assert by_issue["title-duplicate"].scope == "group"
    assert by_issue["title-duplicate"].pages == 2
    assert by_issue["title-duplicate"].example != by_issue["title-duplicate"].target
    assert rows([by_issue["canonical-dead"]]) == {("link", "/archiv/nie-da.html", 1)}


def test_new_pages_have_the_causes_of_their_own_links(tmp_path: Path) -> None:
    site = HeldOutSite()
    old, _ = (site.item(links=[f"/kaputt/{number}"]) for number in range(2))
    with audit_of(tmp_path, site, "link-dead") as audit:
        (finding,) = audit.findings
        urls = dict(zip(audit.site.urls(finding.pages), finding.pages.tolist(), strict=True))
        known = np.packbits(audit.site.of([urls[HOST + old.path]]))
        change = audit.since(Earlier("before", {"link-dead": known}))
        assert change.counts == {"new": 1, "open": 1, "fixed": 0}
        assert rows(change.new.table().causes) == {("link", "/kaputt/1", 1)}


def test_what_gains_most_is_named_first_and_no_issue_takes_all_places(tmp_path: Path) -> None:
    site = HeldOutSite()
    for number in range(20):
        site.item(links=[f"/kaputt/{number}"])
    for page in site.pages.values():
        page.without = "content-security-policy"
    with audit_of(tmp_path, site) as audit:
        first = audit.table().first
    issues = [one.issue for one in first]
    assert issues[:3] == ["link-dead"] * 3
    assert issues.count("link-dead") == 3
    assert "csp-missing" in issues
    assert "page-missing" not in issues


@pytest.mark.slow
def test_lists_audit_and_report_agree_in_their_counts(tmp_path: Path, capsys: Captured) -> None:
    site = HeldOutSite()
    lost = site.moved(site.moved("/kaputt/3"))
    for number in range(4):
        site.item(links=["/kaputt/1", f"{PARTNER}/weg", lost][: number + 1])
    site.item(body="<img src=/bilder/fehlt.png alt=x><a rel=nofollow href=/kaputt/4.png>x</a>")
    path = crawled(tmp_path / "crawl.db", site)
    document = as_json(capsys, "audit", "--n", "0", "--store", path)
    issues = {one["issue"]: one for one in document["issues"]}
    kinds = {"link-dead", "link-dead-outside", "image-missing", "link-dead-unfollowed"}
    of_audit = sorted(one["pages"] for one in document["causes"] if one["issue"] in kinds)
    with snapshot(path) as seen:
        listed = by_target(broken_links(seen))
        sections = {one.name: one for one in site_report(seen, 0, lambda _share: None).sections}
    assert sorted(one.links for one in listed) == of_audit
    assert [one["links"] for one in as_json(capsys, "broken", "--store", path)] == [
        one.links for one in listed
    ]
    each = as_json(capsys, "broken", "--each", "--store", path)
    assert len(each) == sum(of_audit)
    assert sections["Broken links"].total == len(listed)
    assert sections["Issues"].total == len(issues)
    assert sections["Causes"].total == len(document["causes"])
    assert sum(one["causes"] for one in issues.values()) == len(document["causes"])
    pages = sum(one["pages"] for one in issues.values())
    assert sections["Pages with issues"].total == len(document["pages"]) == pages


class TestPlaces:
    """Places in markup."""

    URL = f"{HOST}/a/"

    @pytest.mark.parametrize(
        ("markup", "issue", "target", "line"),
        [
            ("<p>\n<a class=x href='../b?c&amp;d'>", "link-dead", f"{HOST}/b?c&d", 2),
            ("<p style='background: url(x.png)'>", "media-missing", f"{HOST}/a/x.png", 1),
            ("\n<img srcset='a.png 1x, b.png 2x'>", "image-missing", f"{HOST}/a/b.png", 2),
            ("<a href=b>\n<a href=b#c>", "anchor-missing", f"{HOST}/a/b#c", 2),
            ("<a href=c>\n<a href=b#c>", "link-dead", f"{HOST}/a/b", 2),
            ("<link\nhref=s.css>", "media-missing", f"{HOST}/x.png in {HOST}/a/s.css", 2),
            ("\n\n<title>", "title-long", "", 3),
            ("<img alt=''>\n<img src=x>", "image-without-alt", "", 2),
            ("<html>\n<head>", "title-missing", "", 2),
        ],
    )
    def test_a_place_is_a_line_and_its_tag(
        self, markup: str, issue: str, target: str, line: int
    ) -> None:
        place = place_of(markup, self.URL, issue, target)
        assert place.startswith(f"line {line}: <")

    @pytest.mark.parametrize(
        ("markup", "fact", "line"),
        [
            ("<h3>nav</h3>\n<h1>a</h1>\n<h4>b</h4>", "skipped_headings", 3),
            ("<!--\n<a href=/b></a>--><p>\n<a href=/c></a>", "nameless", 3),
            ("<a href=/b>Terms</a>\n<a href=/c>here</a>", "vague_links", 2),
            ("<a href='mailto:a@b.example'>a</a>\n<a href='mailto:a'>a</a>", "bad_contacts", 2),
            ("<p id=a>\n<p id=b>\n<p id=a>", "repeated_ids", 3),
            ("<label><input></label>\n<input>", "unlabelled", 2),
            ("<iframe title=a></iframe>\n<iframe></iframe>", "untitled_frames", 2),
        ],
    )
    def test_a_counted_fault_is_where_it_is_first(self, markup: str, fact: str, line: int) -> None:
        assert place_of(markup, self.URL, "", "", fact).startswith(f"line {line}: <")

    @pytest.mark.parametrize("issue", ["csp-missing", "link-dead"])
    def test_what_is_not_in_the_markup_has_no_place(self, issue: str) -> None:
        assert place_of("<p>" + "<a href=x>" * 20_001, self.URL, issue, f"{HOST}/b") == ""
        assert place_of("<p>", self.URL, issue, "") == ""

    @pytest.mark.parametrize(
        ("issue", "beside"),
        [
            ("url-long", "the address of the page"),
            ("csp-missing", "the headers of the answer"),
            ("sitemap-missing", "robots.txt"),
            ("sitemap-dead", "the sitemap"),
            ("check-of-a-package", "the page"),
        ],
    )
    def test_a_fault_in_no_tag_has_a_place_beside_the_markup(self, issue: str, beside: str) -> None:
        assert place_beside(issue) == beside

    def test_a_long_tag_is_cut_and_an_open_one_ends_with_the_page(self) -> None:
        place = place_of(f"<title {'x' * 500}", self.URL, "title-long", "")
        assert len(place.removeprefix("line 1: ")) == 160
