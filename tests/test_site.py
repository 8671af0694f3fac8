"""The site has a page for each document, no broken link, and loads nothing from other sites."""

import re
from pathlib import Path

import pytest

from tests.dashboard.servers import ARGUMENTS, CHROMIUM, PATIENCE_MS, needs_chromium
from tests.processes import run_python

ROOT = Path(__file__).parents[1]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
PARTS = ("## Decision\n", "## Why\n", "## Numbers\n", "## What would change our mind\n")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    build = ("-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder)
    done = run_python(*build, folder=ROOT)
    assert done.returncode == 0, done.stderr
    return folder


def page_of(document: Path) -> Path:
    """Return the path of a document's page within the site."""
    place = document.relative_to(ROOT / "docs").with_suffix("")
    return (place.parent if place.name == "index" else place) / "index.html"


@pytest.mark.slow
def test_every_document_is_a_page_that_the_first_page_leads_to(site: Path) -> None:
    start = (site / "index.html").read_text(encoding="utf-8")
    for document in (ROOT / "docs").rglob("*.md"):
        page = page_of(document)
        assert (site / page).is_file()
        link = "." if page.parent == Path() else f"{page.parent}/"
        assert f'href="{link}"' in start, document


@pytest.mark.slow
def test_the_architecture_is_a_page_and_links_to_others(site: Path) -> None:
    page = (site / "explanation" / "architecture" / "index.html").read_text(encoding="utf-8")
    assert 'href="../../decisions/"' in page


@pytest.mark.slow
def test_a_page_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded = re.compile(r"""<(?:script|img|link|iframe)\b[^>]*(?:src|href)="(?:https?:)?//""")
    for page in site.rglob("*.html"):
        assert loaded.search(page.read_text(encoding="utf-8")) is None, page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?(?:https?:)?//", sheet.read_text(encoding="utf-8")), sheet


@needs_chromium
@pytest.mark.proof
@pytest.mark.timeout(600)
@pytest.mark.slow
def test_no_page_is_wider_than_a_phone(site: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        page = opened.new_page(viewport={"width": 360, "height": 740})
        page.set_default_timeout(PATIENCE_MS)
        for file in site.rglob("index.html"):
            page.goto(file.as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, file


def test_decisions_are_numbered_one_by_one() -> None:
    assert [int(page.name[:4]) for page in DECISIONS] == list(range(1, len(DECISIONS) + 1))


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.stem)
def test_a_decision_has_its_numbers_and_says_what_would_change_it(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"# {int(page.name[:4])}. ")
    places = [text.find(part) for part in PARTS]
    assert -1 not in places
    assert places == sorted(places)
