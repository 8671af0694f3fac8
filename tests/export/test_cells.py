import json
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.export.cells import all_harmless, harmless, visible

SharedVector = Callable[[str], Path]

FORMULA = ("=", "+", "-", "@", "\uff0b", "\uff1d", "\uff0d", "\uff20")


def is_safe_to_show(text: str) -> bool:
    return all(c.isprintable() or c in "\u200c\u200d" for c in text)


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("", ""),
        ("A plain title", "A plain title"),
        ("1 + 1 = 2", "1 + 1 = 2"),
        ("Größe – 日本語", "Größe – 日本語"),
        ("=1+1", "'=1+1"),
        ("+49 30", "'+49 30"),
        ("-rf", "'-rf"),
        ("@SUM(1)", "'@SUM(1)"),
        ("  =1+1", "'  =1+1"),
        ("\t=1+1", "'\\t=1+1"),
        ("\tindented", "'\\tindented"),
        ("\rback", "'\\rback"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("\ufeff=1", "'\\ufeff=1"),
        ("two\nlines", "two\\nlines"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\u202etxt.exe", "\\u202etxt.exe"),
        ("no\xa0break", "no break"),
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"),
    ],
)
def test_a_cell_is_what_the_page_said_made_harmless(text: str, cell: str) -> None:
    assert harmless(text) == cell


def test_a_pile_of_marks_is_cut() -> None:
    assert visible("a" + "\u0300" * 1000 + "b") == "a" + "\u0300" * 4 + "b"
    assert visible("e\u0301\u0323") == "e\u0301\u0323"


def test_hostile_strings_become_cells_that_do_nothing(shared_vector: SharedVector) -> None:
    strings = json.loads(shared_vector("blns.json").read_text(encoding="utf-8"))
    by_kind = json.loads(shared_vector("injection_strings.json").read_text(encoding="utf-8"))
    for text in [*strings, *(text for kind in by_kind.values() for text in kind)]:
        cell = harmless(text)
        assert is_safe_to_show(cell), ascii(cell)
        assert not cell.lstrip().startswith(FORMULA), ascii(cell)


@given(st.text(st.characters(exclude_categories=[]), max_size=30))
def test_whatever_a_page_says_is_one_line_that_commands_nothing(text: str) -> None:
    cell = harmless(text)
    assert is_safe_to_show(cell)
    assert not cell.lstrip().startswith(FORMULA)
    assert visible(visible(text)) == visible(text)


@given(st.text(st.characters(categories=["L", "N"]), max_size=30))
def test_letters_of_any_script_are_left_as_they_are(text: str) -> None:
    assert harmless(text) == text
    assert all(unicodedata.category(c)[0] in "LN" for c in harmless(text))


@given(st.lists(st.text(max_size=5), max_size=5))
def test_many_cells_are_what_each_is_by_itself(texts: list[str]) -> None:
    assert all_harmless(texts) == list(map(harmless, texts))


def test_plain_texts_are_not_even_copied() -> None:
    texts = ["https://a.example/", "", "A plain title"]
    assert all_harmless(texts) is texts
