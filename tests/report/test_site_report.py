"""A site report lists what its owner should fix, and is inert in a browser."""

from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from html.parser import HTMLParser
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import pytest

from minicrawl.ports import unreported
from minicrawl.report.site.html_report import write_site_report
from minicrawl.report.site.site_report import SiteReport, site_report
from minicrawl.report.snapshot import snapshot
from minicrawl.states import State
from tests.stores import NOON, HandCrawl

SITE = "http://a.example"
HOSTILE = "</title><script>alert(1)</script>\x1b[31m"


class Tags(HTMLParser):
    """Start tags of a document, as a browser sees them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    handle_startendtag = handle_starttag


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds([f"{SITE}/"], endowment=1)
        chain = [f"{SITE}/{n}" for n in range(1, 6)]
        crawl.read(f"{SITE}/", [chain[0], f"{SITE}/gone", "http://b.example/"], title=HOSTILE)
        for page, after in pairwise(chain):
            crawl.read(page, [after], title="The same")
        crawl.read(chain[-1])
        crawl.read("http://b.example/", [f"{SITE}/"])
        crawl.ended(f"{SITE}/gone", State.NOT_FOUND)
    return tmp_path / "crawl.db"


@pytest.fixture
def found(path: Path) -> Iterator[SiteReport]:
    with snapshot(path) as seen:
        yield site_report(seen, NOON, unreported)


def written(report: SiteReport) -> str:
    file = BytesIO()
    write_site_report(report, file)
    return file.getvalue().decode()


def report_of(crawl: HandCrawl) -> str:
    """Return the file of a crawl that is over."""
    crawl.close()
    with snapshot(crawl.path) as seen:
        return written(site_report(seen, NOON, unreported))


def test_sections_have_their_totals(found: SiteReport) -> None:
    totals = {section.name: section.total for section in found.sections}  # rooms add some
    expected = {"Broken links": 1, "Most important pages": 7, "Redirects": 0, "Duplicates": 0}
    assert expected.items() <= totals.items()


class TestTheFile:
    def test_it_loads_nothing_and_runs_only_its_own_script(self, found: SiteReport) -> None:
        text = written(found)
        tags = Tags(text).seen
        assert not {"img", "link", "iframe", "object", "embed"} & {tag for tag, _ in tags}
        assert [tag for tag, _ in tags].count("script") == 1
        script = text.partition("<script>")[2].partition("</script>")[0]
        code = b64encode(sha256(script.encode()).digest()).decode()
        assert not any("src" in attributes or "style" in attributes for _, attributes in tags)
        policies = [attributes for tag, attributes in tags if "http-equiv" in attributes]
        policy = str(policies[0]["content"])
        assert policy.startswith("default-src 'none'")
        assert policy.endswith(f"script-src 'sha256-{code}'")

    def test_links_lead_to_pages_and_to_sections_and_text_is_escaped(
        self, found: SiteReport
    ) -> None:
        text = written(found)
        tags = Tags(text).seen
        targets = [str(attributes["href"]) for tag, attributes in tags if tag == "a"]
        ids = {attributes["id"] for _, attributes in tags if "id" in attributes}
        assert {target[1:] for target in targets if target.startswith("#")} == ids
        assert all(target.startswith(("#", "http://")) for target in targets)
        assert "&lt;script&gt;alert(1)" in text
        assert "\x1b" not in text

    def test_truncated_lists_say_how_long_they_are(self, tmp_path: Path) -> None:
        crawl = HandCrawl(tmp_path / "crawl.db")
        crawl.seeds([f"{SITE}/"], endowment=1)
        crawl.read(f"{SITE}/", [f"{SITE}/{n}" for n in range(300)])
        for n in range(300):
            crawl.ended(f"{SITE}/{n}", State.NOT_FOUND)
        assert "200 of 300" in report_of(crawl)


def test_international_hosts_are_shown_in_unicode(tmp_path: Path) -> None:
    sent = "http://xn--bcher-kva.example/"
    crawl = HandCrawl(tmp_path / "crawl.db")
    crawl.seeds([sent], endowment=1)
    crawl.read(sent, [f"{sent}gone", "http://b.example/"])
    crawl.ended(f"{sent}gone", State.NOT_FOUND)
    crawl.read("http://b.example/")
    text = report_of(crawl)
    link = f'<a href="{sent}gone" rel="noopener noreferrer nofollow">http://bücher.example/gone</a>'
    assert link in text
    assert text.count("xn--") == text.count(f'href="{sent}')
