"""Judged searches: their file, and measures of an order by the verdicts."""

import json
from math import log2
from pathlib import Path

import pytest

from minicrawl.errors import StoreError
from minicrawl.lab.commands.judgements import Judgement, Verdict, file_of, keep, kept
from minicrawl.lab.commands.searches import (
    JudgedSearch,
    OrderMeasure,
    SearchAgreement,
    measured,
)

GOOD, FAIR, BAD = Verdict
AT = 1_800_000_000.0


def test_of_two_verdicts_on_a_page_the_later_one_counts(tmp_path: Path) -> None:
    store = tmp_path / "crawl.db"
    keep(store, [Judgement(query="sea  food", verdicts={"a": GOOD, "b": BAD}, shown=("a",))], AT)
    keep(store, [Judgement(query=" sea food", verdicts={"b": FAIR}, shown=("b", "a"))], AT)
    (one,) = kept(store).values()
    assert one == Judgement(query="sea food", verdicts={"a": GOOD, "b": FAIR}, shown=("b", "a"))


def test_a_line_that_a_kill_cut_off_is_dropped(tmp_path: Path) -> None:
    store = tmp_path / "crawl.db"
    keep(store, [Judgement(query="sea", verdicts={"a": GOOD})], AT)
    whole = file_of(store).read_bytes()
    for length in range(len(whole)):
        file_of(store).write_bytes(whole + whole[:length])
        assert list(kept(store)) == ["sea"]
        keep(store, [Judgement(query="pier", verdicts={"a": BAD})], AT)
        assert list(kept(store)) == ["sea", "pier"]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{}",
        "[]",
        "1",
        '{"query": 1, "verdicts": {}, "shown": []}',
        '{"query": "x", "verdicts": {"u": "great"}, "shown": []}',
        "\udcff",
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str) -> None:
    store = tmp_path / "crawl.db"
    keep(store, [Judgement(query="sea", verdicts={"a": GOOD})], AT)
    with file_of(store).open("ab") as file:
        file.write(line.encode("utf-8", "surrogateescape") + b"\n")
    with pytest.raises(StoreError, match="line 2"):
        kept(store)


def test_a_lone_surrogate_is_kept(tmp_path: Path) -> None:
    store = tmp_path / "crawl.db"
    keep(store, [Judgement(query="\ud800 \0", verdicts={"a": GOOD})], AT)
    assert list(kept(store)) == ["\ud800 \0"]
    assert json.loads(file_of(store).read_text())["at"] == "2027-01-15T08:00:00Z"


def test_ndcg_is_1_for_the_best_order_and_0_for_bad_pages() -> None:
    verdicts = {"g": GOOD, "f": FAIR, "b": BAD}
    assert measured(["g", "f", "b"], verdicts) == OrderMeasure(1.0, 1, 0)
    swapped = measured(["f", "g"], verdicts)
    assert swapped.ndcg == pytest.approx((1 + 3 / log2(3)) / (3 + 1 / log2(3)))
    assert swapped.first == 2
    assert measured(["b", "?"], verdicts) == OrderMeasure(0.0, None, 1)
    assert measured(["b"], {"b": BAD}) == OrderMeasure(None, None, 0)


def test_only_the_first_ten_places_count() -> None:
    shown = [*(str(number) for number in range(10)), "g"]
    assert measured(shown, {"g": GOOD}) == OrderMeasure(0.0, None, 10)


def test_means_leave_out_searches_without_a_good_page() -> None:
    one = JudgedSearch(
        query="a", verdicts=1, then=OrderMeasure(0.5, 2, 0), now=OrderMeasure(1.0, 1, 0)
    )
    none = JudgedSearch(
        query="b", verdicts=1, then=OrderMeasure(None, None, 0), now=OrderMeasure(None, None, 0)
    )
    found = SearchAgreement(searches=[one, none])
    assert (found.mean_ndcg(now=False), found.mean_ndcg(now=True)) == (0.5, 1.0)
    assert (found.mean_reciprocal(now=False), found.mean_reciprocal(now=True)) == (0.5, 1.0)
    assert (found.better, found.worse, found.by_chance) == (1, 0, 1.0)
    assert SearchAgreement(searches=[none]).mean_ndcg(now=True) is None
    assert SearchAgreement(searches=[one] * 8).by_chance == pytest.approx(2 / 2**8)
