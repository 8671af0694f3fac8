"""Pages of results are parts of one list."""

from pathlib import Path
from random import Random

import pytest

pytest.importorskip("tantivy")

from minicrawl.search.index import CANDIDATES, ENOUGH, FOLDER, SearchIndex
from minicrawl.search.notes import Entry
from minicrawl.search.query import parse
from minicrawl.search.searching import Finder, SearchRequest

QUERY = "keeper of lighthouse"
MANY = 3 * CANDIDATES


def spread(seed: int) -> str:
    """Return a text with the words of the query at random places."""
    random = Random(seed)
    words = [f"word{number}" for number in range(random.randrange(50, 500))]
    for word in QUERY.split():
        words.insert(random.randrange(len(words)), word)
    return " ".join(words)


@pytest.fixture(params=[ENOUGH - 1, ENOUGH + 1, MANY])
def finder(request: pytest.FixtureRequest, tmp_path: Path) -> Finder:
    """Finder of pages with all words, others with other forms of them, and others with one word."""
    index = SearchIndex(tmp_path / FOLDER)
    index.write()
    texts = [spread(page) for page in range(request.param)]
    texts += ["keepers of lighthouses", "keepers of lighthouses and more"]
    texts += [f"of town {page}" for page in range(MANY)]
    for page, body in enumerate(texts):
        index.replace(Entry(page, f"http://a.example/{page}", body=body, language="en", at=1e9))
    index.commit()
    index.close()
    return Finder(tmp_path)


def test_pages_of_results_are_parts_of_one_list(finder: Finder) -> None:
    most, each = 2 * MANY, 7
    whole = [one.entry.url for one in finder.find(parse(QUERY), SearchRequest(count=most))]
    parts = [
        one.entry.url
        for offset in range(0, len(whole), each)
        for one in finder.find(parse(QUERY), SearchRequest(count=each, offset=offset))
    ]
    assert parts == whole
    assert len(set(whole)) == len(whole)
