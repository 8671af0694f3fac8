"""Signatures of texts, and groups of near-duplicates."""

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from minicrawl.report.near_duplicates import (
    NEAR_DUPLICATES_FILE,
    NO_NEAR_DUPLICATES,
    NearDuplicates,
    keep_near_duplicates,
    kept_near_duplicates,
)
from minicrawl.search.near_duplicates import (
    ReadText,
    SignedPages,
    are_alike,
    common_among,
    found_among,
    jaccard,
)
from minicrawl.web.signatures import ALIKE, LONGEST_SIGNED, PLACES, likeness, shingles, signature
from minicrawl.web.words import indexed

WORDS = [f"word{number}" for number in range(3_000)]


def text(seed: int, length: int = 300) -> str:
    return " ".join(Random(seed).choices(WORDS, k=length))


def with_changes(original: str, changes: int) -> str:
    words, random = original.split(), Random(changes)
    for place in random.sample(range(len(words)), changes):
        words[place] = f"changed{place}"
    return " ".join(words)


def signed(texts: list[str], titles: list[int] | None = None) -> SignedPages:
    rows = b"".join(signature(one) or bytes(PLACES) for one in texts)
    return SignedPages(
        np.arange(len(texts)) * 10,
        np.array(titles or [0] * len(texts), np.int64),
        np.frombuffer(rows, np.uint8).reshape(-1, PLACES),
    )


def groups(texts: list[str]) -> list[tuple[int, int]]:
    read = [ReadText("", own, own) for own in map(shingles, texts)]
    found = found_among(signed(texts), lambda a, b: are_alike(read[a // 10], read[b // 10]))
    return list(zip(found.pages.tolist(), found.originals.tolist(), strict=True))


def test_a_shingle_is_three_words_without_punctuation() -> None:
    assert len(shingles("one two three four")) == 2
    assert len(shingles("one two")) == len(shingles(" ,;")) == 0
    assert set(shingles("One, two\n(three)")) == set(shingles("one two three"))
    assert set(shingles("one two three")) != set(shingles("three two one"))
    assert signature("two words") is None
    assert len(signature("now three words") or b"") == PLACES


def test_signatures_compare_words_like_the_search_up_to_a_limit() -> None:
    assert signature("Čeština má háčky") == signature("cestina ma hacky")
    assert signature("a \ud800 b c") is not None
    long = "some words here " * (LONGEST_SIGNED // 16 + 1)
    assert signature(long) == signature(long + " and others beyond the limit")
    for text in ("Größe, größer, am größten", "字符测试 一二三", "é, " * LONGEST_SIGNED):
        assert signature(text, indexed(text)) == signature(text)


@pytest.mark.parametrize("changes", [0, 3, 10, 20, 40])
def test_signatures_estimate_the_share_of_common_shingles(changes: int) -> None:
    estimates, exact = [], []
    for seed in range(20):
        one, other = text(seed), with_changes(text(seed), changes)
        rows = [np.frombuffer(signature(some) or b"", np.uint8)[None] for some in (one, other)]
        estimates.append(float(likeness(*rows)[0]))
        exact.append(jaccard(shingles(one), shingles(other)))
    error = 4 * 0.5 / (PLACES * len(exact)) ** 0.5
    assert np.mean(estimates) == pytest.approx(np.mean(exact), abs=error)


@given(st.text())
def test_every_text_can_be_signed(strange: str) -> None:
    signature(strange)


def test_pages_join_the_first_page_that_they_resemble() -> None:
    one, other = text(1), text(2)
    texts = [one, other, with_changes(one, 2), text(3), with_changes(other, 3), one]
    assert groups(texts) == [(0, 0), (10, 10), (20, 0), (40, 10), (50, 0)]


def test_every_page_resembles_the_original_of_its_group() -> None:
    texts = [with_changes(text(1), changes) for changes in range(0, 120, 6)]
    own = {10 * place: shingles(one) for place, one in enumerate(texts)}
    for page, original in groups(texts):
        assert jaccard(own[page], own[original]) >= ALIKE
    assert groups([]) == groups(texts[:1]) == []


def test_thousands_of_near_duplicates_are_compared_once_each() -> None:
    texts = [f"{text(1)} {number}" for number in range(2_000)]
    asked = []

    def judge(page: int, other: int) -> bool:
        asked.append((page, other))
        return True

    found = found_among(signed(texts), judge)
    assert set(found.originals.tolist()) == {0}
    assert len(asked) == len(texts) - 1


def test_titles_decide_if_little_own_text_is_left() -> None:
    own, few = shingles(text(1)), shingles("only four words here")
    assert are_alike(ReadText("a", own, few), ReadText("a", own, few))
    assert not are_alike(ReadText("a", own, few), ReadText("b", own, few))
    assert not are_alike(ReadText("a", own, few), ReadText("a", shingles(text(2)), few))
    assert are_alike(ReadText("a", own, own), ReadText("b", own, own))


def test_shingles_of_four_pages_are_common_to_the_site() -> None:
    repeated = "the menu of the site"
    pages = [shingles(f"{repeated} {text(seed, 20)}") for seed in range(4)]
    assert set(common_among(pages)) == set(shingles(repeated))
    assert not len(common_among(pages[:3]))
    assert not len(common_among([]))


def test_the_table_has_originals_groups_and_first_pages() -> None:
    table = NearDuplicates(np.array([1, 4, 6, 7]), np.array([1, 1, 6, 6]))
    assert table.originals_of(np.array([0, 1, 4, 7, 9])).tolist() == [-1, 1, 1, 6, -1]
    assert table.like(4) == [1]
    assert table.like(0) == []
    firsts = table.first_of_groups(np.array([9, 7, 6, 0, 4, 1])).tolist()
    assert firsts == [True, True, False, True, True, False]
    assert table.others().tolist() == [1, 1, 1, 1]
    assert NO_NEAR_DUPLICATES.originals_of(np.array([3])).tolist() == [-1]


def test_the_table_is_read_back_for_its_own_store_only(tmp_path: Path) -> None:
    assert kept_near_duplicates(tmp_path) is None
    keep_near_duplicates(tmp_path, "this", NearDuplicates(np.array([1, 4]), np.array([1, 1])))
    found = kept_near_duplicates(tmp_path, "this")
    assert found is not None
    assert (found.pages.tolist(), found.originals.tolist()) == ([1, 4], [1, 1])
    assert kept_near_duplicates(tmp_path, "other") is None
    file = tmp_path / NEAR_DUPLICATES_FILE
    content = file.read_bytes()
    for damaged in (b"", content[:10], content[:-3], b"\0" * len(content)):
        file.write_bytes(damaged)
        assert kept_near_duplicates(tmp_path, "this") is None
