"""Seed lists: one URL a line, and a comment that says where they come from."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

SEEDS = Path(__file__).parents[1] / "seeds"
LISTS = sorted(SEEDS.glob("*.txt"))


def urls_of(seed_list: Path) -> list[str]:
    lines = seed_list.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def test_there_are_seed_lists_and_nothing_else() -> None:
    assert LISTS
    assert sorted(SEEDS.iterdir()) == LISTS


@pytest.mark.parametrize("seed_list", LISTS, ids=lambda path: path.name)
class TestASeedList:
    def test_opens_with_a_comment_that_says_where_it_comes_from(self, seed_list: Path) -> None:
        assert seed_list.read_text(encoding="utf-8").startswith("# Source: ")

    def test_holds_only_absolute_web_addresses(self, seed_list: Path) -> None:
        assert urls_of(seed_list)
        for url in urls_of(seed_list):
            parts = urlsplit(url)
            assert parts.scheme in {"http", "https"}, url
            assert parts.hostname, url
            assert parts.path.startswith("/"), url
            assert not parts.fragment, url
            assert not any(character.isspace() for character in url), url

    def test_names_no_page_twice(self, seed_list: Path) -> None:
        urls = urls_of(seed_list)
        assert len(urls) == len(set(urls))
