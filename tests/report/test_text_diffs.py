"""Words that went from a text and came to it."""

import pytest
from hypothesis import given, strategies as st

from minicrawl.report.states.text_diffs import GONE, MOST_WORDS, NEW, SAME, as_plain, text_diff

WORDS = st.lists(st.sampled_from("abc"), max_size=8).map(" ".join)


@pytest.mark.parametrize(
    ("before", "now", "shown"),
    [
        ("the tide of May", "the tide of June", "the tide of [-May-] {+June+}"),
        ("a b", "a b c", "a b {+c+}"),
        ("a b c", "b c", "[-a-] b c"),
        ("", "new", "{+new+}"),
        ("same  words", "same words", "same words"),
    ],
)
def test_a_change_is_shown_as_git_shows_it(before: str, now: str, shown: str) -> None:
    assert as_plain(text_diff(before, now)) == shown


@given(WORDS, WORDS)
def test_without_what_came_it_is_the_text_before_and_without_what_went_the_one_now(
    before: str, now: str
) -> None:
    parts = text_diff(before, now)
    for left_out, text in ((NEW, before), (GONE, now)):
        words = " ".join(words for kind, words in parts if kind != left_out)
        assert words.split() == text.split()


def test_words_far_from_a_change_are_left_out() -> None:
    many = [str(number) for number in range(100)]
    before, now = " ".join([*many, "old", *many]), " ".join([*many, "new", *many])
    head, gone, came, tail = text_diff(before, now)
    assert (gone, came) == ((GONE, "old"), (NEW, "new"))
    assert head == (SAME, "… 92 93 94 95 96 97 98 99")
    assert tail == (SAME, "0 1 2 3 4 5 6 7 …")


def test_a_long_passage_is_one_change() -> None:
    before, now = ("x " * (MOST_WORDS + 1), "y " * MOST_WORDS)
    assert [kind for kind, _ in text_diff(before, now)] == [GONE, NEW]
