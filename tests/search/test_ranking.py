"""Ranking, boilerplate and snippets, in cases computed by hand."""

from typing import Any

import pytest

from minicrawl.search.entries import PageEntry, packed, unpacked
from minicrawl.search.indexing.boilerplate import FEWEST, SAMPLE, HostLines, codes_of
from minicrawl.search.ranking import RankingWeights, Score, Sought, importance_part, judged
from minicrawl.search.words.query import parse
from minicrawl.search.words.snippets import ABOUT, snippet

WEIGHTS = RankingWeights()


def score(words: str, relative: float = 1.0, **fields: Any) -> Score:
    entry = PageEntry(1, "http://a.example/", **fields)
    sought = Sought(tuple(parse(words).sought), parse(words).written)
    return judged(1.0, unpacked(packed(entry)), sought, relative, WEIGHTS)


@pytest.mark.parametrize(
    ("body", "grade"),
    [
        ("sea side", 1.0),
        ("side sea", 0.8),
        ("sea a side", 0.8),
        ("sea a b c side", 0.6),
        ("sea " + 7 * "a " + "side", 0.4),
        ("sea " + 19 * "a " + "side", 0.2),
        ("sea " + 300 * "a " + "side", 0.05),
        ("seaside", 0.0),
    ],
)
def test_proximity_falls_with_distance(body: str, grade: float) -> None:
    assert score("sea side", body=body).proximity == pytest.approx(grade * 0.5)
    assert score("sea side", own_title=body, title=body).proximity == pytest.approx(grade)


@pytest.mark.parametrize(
    ("query", "title", "parts"),
    [
        ("sea side town", "Sea side", (2 / 3, 2 / 3, 2 / 3)),
        ("sea side", "Uses of sea side", (1, 0, 1 / 2)),  # more words than the query
    ],
)
def test_share_title_and_exact_are_shares_of_the_query(
    query: str, title: str, parts: tuple[float, float, float]
) -> None:
    found = score(query, own_title=title, title=title)
    assert (found.share, found.title, found.exact) == pytest.approx(parts)


def test_rare_words_have_a_larger_share() -> None:
    stored = unpacked(packed(PageEntry(1, "http://a.example/", title="Sea", own_title="Sea")))
    sought = Sought(("the", "sea"), "the sea", {"the": 1.0, "sea": 9.0})
    found = judged(1.0, stored, sought, 1.0, WEIGHTS)
    assert (found.title, found.share) == pytest.approx((0.9, 0.9))


@pytest.mark.parametrize(
    ("query", "text", "part"),
    [
        ("trim()", "Use trim() here", 1.0),
        ("trim()", "Use trim here", 0.0),
        ("trim()", "text.trim(sides)", 1.0),
        ("(trim),", "Use trim here", 1.0),
        ("f(x)", "f(y)", 0.0),
        ("--all", "git add --all", 1.0),
        ("__init__", "def __init__(self)", 1.0),
        ("init", "def __init__(self)", 0.0),
        ("operator<<", "std::operator<<(a, b)", 1.0),
        ("to_char", "the function to_char", 1.0),
        ("to_char", "the function to_chars", 0.0),
        ("Sea side", "by the Sea", 0.5),
        ("UNION", "a union of sets", 0.0),
        ("union", "SELECT 1 UNION SELECT 2", 1.0),
        ("café", "das Café dort", 1.0),
    ],
)
def test_words_with_equal_punctuation_and_case_count(query: str, text: str, part: float) -> None:
    assert score(query, body=text).written == pytest.approx(part)
    assert score(query, headings=(text,)).heading == pytest.approx(part)
    assert score(query, body=text).phrase == float(part == 1)


def test_an_entry_is_unpacked_unchanged() -> None:
    entry = PageEntry(
        7,
        "http://a.example/\u00fc",
        title="Sea\u2014side",
        own_title="Sea",
        headings=("One", "\u6d77"),
        body="Caf\u00e9 \u6d77\u8fba\nSea",
        repeated="Menu",
        anchors=("sea", "side"),
        language="en",
        at=1.5,
    )
    stored = unpacked(packed(entry))
    assert stored.entry == entry
    assert stored.compared["body"] == "cafe \u6d77\u8fba \u8fba\nsea\nmenu".encode()


def test_importance_is_between_0_and_1_and_counts_less_for_more_words() -> None:
    assert importance_part(0.0) == 0.0
    assert importance_part(1e9) == 1.0
    assert score("a b", 300.0).importance == pytest.approx(score("a", 300.0).importance / 2)


def site_of(pages: int) -> HostLines:
    lines = HostLines()
    for number in range(pages):
        lines.add(f"Page {number} - The Site", codes_of(("Menu", f"Text {number}")))
    return lines


def split_text(lines: HostLines) -> tuple[list[str], list[str]]:
    texts = ("Menu", "Text 1")
    return lines.part(texts, codes_of(texts))


def test_lines_on_many_pages_of_a_site_are_boilerplate() -> None:
    lines = site_of(FEWEST)
    assert split_text(lines) == (["Text 1"], ["Menu"])
    assert lines.own_title("Page 1 - The Site") == "Page 1"
    assert lines.own_title("The Site") == "The Site"


def test_saved_lines_of_a_site_give_the_same_result() -> None:
    lines = site_of(SAMPLE)
    again = HostLines(lines.pages, lines.remembered())
    assert not again.takes_more
    assert split_text(again) == split_text(lines)


def test_a_snippet_has_the_lines_with_most_words_cut_around_them_or_the_beginning() -> None:
    text = "\n".join(["nothing here " * 20, "a sea", "side of the sea", "other " * 50])
    found = snippet(text, ("sea", "side"))
    assert [found.text[begin:end] for begin, end in found.marks][:3] == ["sea", "side", "sea"]
    found = snippet("word " * 500 + "the café there" + " more" * 500, ("cafe",))
    assert len(found.text) < ABOUT + 10
    ((begin, end),) = found.marks
    assert found.text[begin:end] == "café"
    assert snippet("Some text.", ("sea",)).text == "Some text."
    assert snippet("", ("sea",)).text == ""
