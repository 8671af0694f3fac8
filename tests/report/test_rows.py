import json
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from minicrawl.wording import all_harmless, harmless, visible

SharedVector = Callable[[str], Path]

SIGNS = "=+-@\uff0b\uff1d\uff0d\uff20\ufe62\ufe63\ufe66\ufe6b"
HIDDEN = "\u200b\u200c\u200d\u2060\ufeff"


def is_safe_to_show(text: str) -> bool:
    return all(c.isprintable() or c in "\u200c\u200d" for c in text)


def is_no_formula(cell: str) -> bool:
    """Return whether neither a cell nor its parts between semicolons are formulas."""
    begin = (part.lstrip().lstrip(HIDDEN).lstrip() for part in cell.split(";"))
    return not any(part.startswith(tuple(SIGNS)) for part in begin)


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
        ("\u200d=1", "'\u200d=1"),
        ("\ufe661+1", "'\ufe661+1"),
        ("http://a/;=1+1", "http://a/;'=1+1"),
        ("a; \t@b;c;-1", "a;' \\t@b;c;'-1"),
        ("two\nlines", "two\\nlines"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\u202etxt.exe", "\\u202etxt.exe"),
        ("no\xa0break", "no break"),
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"),
    ],
)
def test_a_cell_is_escaped_text(text: str, cell: str) -> None:
    assert harmless(text) == cell


def test_long_runs_of_combining_marks_are_truncated() -> None:
    assert visible("a" + "\u0300" * 1000 + "b") == "a" + "\u0300" * 4 + "b"
    assert visible("e\u0301\u0323") == "e\u0301\u0323"


def test_known_hostile_strings_become_harmless(shared_vector: SharedVector) -> None:
    strings = json.loads(shared_vector("blns.json").read_text(encoding="utf-8"))
    by_kind = json.loads(shared_vector("injection_strings.json").read_text(encoding="utf-8"))
    hostile = [*strings, *(text for kind in by_kind.values() for text in kind)]
    assert len(hostile) >= 457
    for text in hostile:
        cell = harmless(text)
        assert is_safe_to_show(cell), ascii(cell)
        assert is_no_formula(cell), ascii(cell)


PIECES = st.sampled_from([*SIGNS, *HIDDEN, *"; \t\r\n,'\"a1"])


@given(st.text(st.characters(exclude_categories=[]), max_size=30) | st.text(PIECES, max_size=8))
def test_any_text_becomes_a_harmless_line(text: str) -> None:
    cell = harmless(text)
    assert is_safe_to_show(cell)
    assert is_no_formula(cell)
    assert visible(visible(text)) == visible(text)


@given(st.text(st.characters(categories=["L", "N"]), max_size=30))
def test_letters_of_any_script_are_unchanged(text: str) -> None:
    assert harmless(text) == text
    assert all(unicodedata.category(c)[0] in "LN" for c in harmless(text))


@given(st.lists(st.text(max_size=5), max_size=5))
def test_a_batch_of_cells_equals_single_cells(texts: list[str]) -> None:
    assert all_harmless(texts) == list(map(harmless, texts))
