"""Every text is a valid query or is refused in one line."""

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from minicrawl.errors import UsageError
from minicrawl.search.words.query import MOST_WORDS, parse


def test_words_phrases_and_filters_are_parsed() -> None:
    found = parse(
        'Harbour "free to copy" -museum -"old town" site:https://Example.org/x title:tide '
        "url:sea-side lang:en-GB after:2024-05"
    )
    assert found.words == ("harbour",)
    assert found.phrases == (("free", "to", "copy"),)
    assert found.without == (("museum",), ("old", "town"))
    assert found.sites == ("example.org",)
    assert found.within == (("title", ("tide",)), ("url", ("sea", "side")))
    assert found.languages == ("en",)
    assert found.after == datetime(2024, 5, 1, tzinfo=UTC).timestamp()
    assert found.sought == ("harbour", "free", "to", "copy", "tide", "sea", "side")


def test_a_minus_negates_a_filter() -> None:
    found = parse('sea -site:Example.org -title:"old town" -lang:de-AT -url:print')
    assert (found.words, found.without) == (("sea",), ())
    assert found.not_sites == ("example.org",)
    assert found.not_within == (("title", ("old", "town")), ("url", ("print",)))
    assert found.not_languages == ("de",)
    with pytest.raises(UsageError, match="after:"):
        parse("sea -after:2024")


def test_compounds_pairs_of_cjk_and_unclosed_quotes_are_parsed() -> None:
    assert parse("os.path.join x").compounds == (("os", "path", "join"),)
    assert parse("検索エンジン").words == ("検索", "索エ", "エン", "ンジ", "ジン")
    assert parse("中").words == ("中",)
    assert parse('"free to').phrases == (("free", "to"),)


def test_words_beyond_the_limit_are_ignored_and_counted() -> None:
    found = parse(" ".join(f"w{number}" for number in range(10_000)))
    assert (len(found.words), found.ignored) == (MOST_WORDS, 10_000 - MOST_WORDS)


def test_a_command_line_option_is_a_word() -> None:
    found = parse("git add --all -museum")
    assert (found.words, found.without) == (("git", "add", "all"), (("museum",),))
    assert found.written == "git add --all"


@pytest.mark.parametrize("text", ["", "?!", "\0", "\ud800", "\u200f", '""', "-x", "\u202e"])
def test_a_query_without_words_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError, match="no word") as refused:
        parse(text)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize("date", ["soon", "2024-13", "99999", "2024-02-30"])
def test_an_invalid_date_is_refused(date: str) -> None:
    with pytest.raises(UsageError, match="is not a date"):
        parse(f"x after:{date}")


@given(st.text(st.characters(codec=None)))
def test_any_text_is_a_query_or_is_refused(text: str) -> None:
    with suppress(UsageError):
        assert len(parse(text).words) <= MOST_WORDS
