"""Numbers agree with their nouns."""

import pytest

from minicrawl.wording import counted


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 pages"), (1, "1 page"), (2, "2 pages"), (1234, "1,234 pages")]
)
def test_one_is_singular_and_all_else_is_plural(number: int, words: str) -> None:
    assert counted(number, "page") == words


def test_an_irregular_plural_is_given() -> None:
    assert counted(2, "of the pages has a link", "of the pages have links") == (
        "2 of the pages have links"
    )
