"""Words of texts, normalised so that spellings in any script compare equal."""

import pytest
from hypothesis import given, strategies as st

from minicrawl.web.words import LONGEST, comparable, indexed, spans, words_of

SAME = [
    ("Crème brûlée", "creme BRULEE"),
    ("Cafe\u0301", "Café"),
    ("STRASSE", "Straße"),
    ("İstanbul", "istanbul"),
    ("Łódź", "lodz"),
    ("Smørrebrød", "smorrebrod"),
    ("Ægir", "aegir"),
    ("Việt Nam", "viet nam"),
    ("ISPARTA", "\u0131sparta"),
    ("ΟΔΟΣ", "οδός"),
    ("Ёлка", "елка"),
    ("ﬁle", "file"),
    ("\uff30\uff59\uff54\uff48\uff4f\uff4e", "python"),
    ("مُحَمَّد", "محمد"),
    ("שָׁלוֹם", "שלום"),
    ("soft\u00adware", "software"),
    ("right\u200fto\u202eleft", "righttoleft"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spellings_of_a_word_are_equal(one: str, other: str) -> None:
    assert words_of(one) == words_of(other) != []


@pytest.mark.parametrize("run", ["検索エンジン", "中文搜索", "검색엔진", "ภาษาไทย"])
def test_scripts_without_spaces_are_split_into_pairs(run: str) -> None:
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    assert words_of(run) == [*pairs, run[-1]]


def test_emojis_and_signs_that_are_no_letters_separate_words() -> None:
    assert words_of("мой") != words_of("мои")  # a breve counts
    assert words_of("go 🚀now") == ["go", "🚀", "now"]
    assert words_of("a.b_c\0d\ud800e") == ["a", "b", "c", "d", "e"]
    assert words_of("?!\u200f…") == []


def test_long_words_are_split_at_the_same_places_in_any_text() -> None:
    long = "x" * (2 * LONGEST + 1)
    assert [len(word) for word in words_of(long)] == [LONGEST, LONGEST, 1]
    assert words_of(f"{long} é")[:-1] == words_of(long)


@given(st.text(st.characters(codec=None)))
def test_words_of_any_text_can_be_stored(text: str) -> None:
    for word in words_of(text):
        assert word.encode()
        assert not any(sign.isspace() for sign in word)
    assert indexed(text).split(" ") == (words_of(text) or [""])
    comparable(text)


@given(st.lists(st.text(st.sampled_from("ab_ -\n\rAZé\u0301字ß…\ud800"))))
def test_words_of_a_text_are_the_words_of_its_lines(lines: list[str]) -> None:
    assert words_of("\n".join(lines)) == [word for line in lines for word in words_of(line)]


@given(st.text())
def test_spans_of_words_are_in_order_and_within_the_text(text: str) -> None:
    found = list(spans(text))
    assert [one.begin for one in found] == sorted(one.begin for one in found)
    assert all(0 <= one.begin < one.end <= len(text) for one in found)
