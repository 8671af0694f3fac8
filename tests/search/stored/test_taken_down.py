"""No search shows a page that was taken down, whatever its type or state."""

import json
from pathlib import Path

import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")

from minicrawl.cli import main
from minicrawl.crawl.record.archiving import forget
from minicrawl.search.indexing.rounds import bring_up_to_date
from minicrawl.search.searching import Finder, SearchRequest
from minicrawl.search.words.query import parse
from minicrawl.store.disk.files import set_aside
from minicrawl.store.reader import search_folder
from tests.taken_down import HOST, KINDS, PAGE, TEXT, crawled, url_of


def urls(path: Path, query: str) -> set[str]:
    found = Finder(search_folder(path)).find(parse(query), SearchRequest(count=99, folds=False))
    return {one.entry.url for one in found}


@pytest.mark.slow
@pytest.mark.parametrize("gone", [f"{HOST}/*", *map(url_of, KINDS)])
def test_no_search_shows_a_page_that_was_taken_down(gone: str, tmp_path: Path) -> None:
    path = tmp_path / "crawl.db"
    crawled(path)
    bring_up_to_date(path)
    hidden = {*map(url_of, KINDS)} if gone.endswith("*") else {gone}
    assert urls(path, "anchor file") >= {url_of("file.bin")}
    forget(path, gone, 1.0)
    for _ in range(2):
        bring_up_to_date(path)
        for name in KINDS:
            for query in (f"anchor {name.partition('.')[0]}", TEXT, "site:a.example"):
                assert not urls(path, query) & hidden, query
        crawled(path)  # the links become known again
    assert main(["search", "--static", str(tmp_path / "static"), "--store", str(path)]) == 0
    pages = (tmp_path / "static" / "pages").glob("*/*.json")
    shown = [json.loads(file.read_text())[0] for file in pages]
    assert shown or gone.endswith("*")
    assert not hidden & set(shown)


def test_a_take_down_names_what_it_does_not_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "crawl.db"
    crawled(path)
    aside = set_aside(path)
    crawled(path)
    (tmp_path / "crawl.db.other").touch()
    archive = tmp_path / "crawl.db-pages.1"
    archive.mkdir()
    assert main(["forget", PAGE, "--json", "--store", str(path)]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["aside"] == [str(aside), str(archive)]
    assert str(aside) in err
    assert str(archive) in err
    assert "pages that link there keep their own texts" in err
