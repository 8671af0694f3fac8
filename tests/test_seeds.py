"""Seed lists: one URL a line, and a comment that says where they come from."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

SEEDS = Path(__file__).parents[1] / "seeds"
LISTS = sorted(SEEDS.glob("*.txt"))


def test_there_are_seed_lists_and_nothing_else() -> None:
    assert sorted(SEEDS.iterdir()) == LISTS != []


@pytest.mark.parametrize("seed_list", LISTS, ids=lambda path: path.name)
def test_a_list_names_its_source_and_absolute_urls_once_each(seed_list: Path) -> None:
    lines = seed_list.read_text(encoding="utf-8").splitlines()
    urls = [line for line in lines if line and not line.startswith("#")]
    assert lines[0].startswith("# Source: ")
    assert 0 < len(urls) == len(set(urls))
    for url in urls:
        parts = urlsplit(url)
        assert parts.scheme in {"http", "https"}, url
        assert parts.hostname, url
        assert parts.path.startswith("/"), url
        assert not parts.fragment, url
        assert not any(character.isspace() for character in url), url
