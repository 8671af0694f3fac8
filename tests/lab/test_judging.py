"""`minicrawl lab judge`, and `minicrawl lab searches`."""

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")

from minicrawl.cli import main
from minicrawl.lab.commands.judgements import Verdict, file_of, kept
from minicrawl.store.reader import search_folder
from tests.search.stored.stores import HIDDEN, PAGES, PIER, SEA, read_into

Captured = pytest.CaptureFixture[str]
Typed = Callable[[str], None]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("judging") / "crawl.db"
    read_into(path, PAGES, noindex=[HIDDEN])
    assert (
        main(["index", "--store", str(path)]) == 0
    )  # else the first search reports that it indexes
    return path


@pytest.fixture
def store(crawled: Path) -> Path:
    file_of(crawled).unlink(missing_ok=True)
    return crawled


def judged(store: Path, *words: str) -> int:
    return main(["lab", "judge", "--store", str(store), *words])


def order(store: Path, capsys: Captured, *words: str) -> list[str]:
    assert judged(store, "--json", *words) == 0
    return [one["url"] for one in json.loads(capsys.readouterr().out)]


def test_each_line_of_stdin_is_a_verdict_on_a_result(
    store: Path, capsys: Captured, typed: Typed
) -> None:
    first, second = order(store, capsys, "water")[:2]
    typed("good\nb\nq\n")
    assert judged(store, "water") == 0
    assert "2 verdicts on 1 search saved" in capsys.readouterr().err
    assert kept(store)["water"].verdicts == {first: Verdict.GOOD, second: Verdict.BAD}
    assert kept(store)["water"].shown[:2] == (first, second)
    typed("\nfair\n")
    assert judged(store, "water") == 0
    assert kept(store)["water"].verdicts == {first: Verdict.GOOD, second: Verdict.FAIR}


def test_a_terminal_is_asked_again_after_a_wrong_verdict(
    store: Path, capsys: Captured, typed: Typed, on_terminal: Typed
) -> None:
    typed("great\nGood\n")
    on_terminal("stdin")
    assert judged(store, "salt") == 0
    assert capsys.readouterr().err.count("good, fair or bad?") >= 2
    assert list(kept(store)["salt"].verdicts.values()) == [Verdict.GOOD]


def test_verdicts_before_an_interrupt_are_kept(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lines() -> Iterator[str]:
        yield "good\n"
        raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin", Mock(readline=partial(next, lines())))
    assert judged(store, "water") == 130
    assert list(kept(store)["water"].verdicts.values()) == [Verdict.GOOD]


def test_a_wrong_verdict_in_a_script_keeps_nothing(
    store: Path, capsys: Captured, typed: Typed
) -> None:
    typed("good\ngreat\n")
    assert judged(store, "water") == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert kept(store) == {}


def test_verdicts_are_given_by_place_or_url(store: Path, capsys: Captured) -> None:
    second = order(store, capsys, "water")[1]
    other = "nowhere.example/?a=b"
    assert judged(store, "water", "--verdict", "2=good", "--verdict", f"{other}=b", "--json") == 0
    verdicts = kept(store)["water"].verdicts
    assert verdicts == {second: Verdict.GOOD, f"https://{other}": Verdict.BAD}
    capsys.readouterr()
    for wrong in ("9=good", "1=great", "water", "=good", "0=good"):
        assert judged(store, "water", "--verdict", wrong) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_list_of_verdicts_is_kept_whole_or_refused(
    store: Path, tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "verdicts.csv"
    file.write_text(f'query,url,verdict\nwater,{PIER},good\n"salt  ""water""",{SEA},b\n')
    assert judged(store, "--verdicts", str(file)) == 0
    assert "2 verdicts on 2 searches" in capsys.readouterr().err
    assert set(kept(store)) == {"water", 'salt "water"'}
    assert kept(store)["water"].shown
    before = file_of(store).read_bytes()
    for wrong in ("water,good", "water,,good", "?!,x.example,good", "water,x.example,great"):
        file.write_text(f"water,{PIER},good\n{wrong}\n")
        assert judged(store, "--verdicts", str(file)) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
    file.write_bytes(b"water,\xff,good\n")
    assert judged(store, "--verdicts", str(file)) == 2
    assert file_of(store).read_bytes() == before


def test_judgements_outlive_the_index(store: Path) -> None:
    assert judged(store, "water", "--verdict", "1=good") == 0
    shutil.rmtree(search_folder(store))
    assert main(["index", "--fresh", "--store", str(store)]) == 0
    assert list(kept(store)) == ["water"]


def test_a_changed_order_is_compared_on_all_judged_searches(store: Path, capsys: Captured) -> None:
    command = ["lab", "searches", "--store", str(store)]
    assert main(command) == 2
    assert str(store) in capsys.readouterr().err
    usual = order(store, capsys, "sea")
    turned = order(store, capsys, "sea", "--score", "linear=0")
    assert usual[0] != turned[0]
    assert judged(store, "sea", "--verdict", "1=good") == 0
    assert judged(store, "salt", "--verdict", "1=bad") == 0
    capsys.readouterr()
    assert main([*command, "--json"]) == 0
    same = json.loads(capsys.readouterr().out)
    assert (same["better"], same["worse"], same["ndcg"]) == (0, 0, {"then": 1.0, "now": 1.0})
    assert main([*command, "--score", "linear=0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (sea,) = [one for one in found["searches"] if one["query"] == "sea"]
    assert (found["worse"], found["better"]) == (1, 0)
    assert sea["now"]["first"] == turned.index(usual[0]) + 1
    assert main([*command, "--score", "linear=0"]) == 0
    assert "0 better, 1 worse, 1 as before" in capsys.readouterr().out


def test_explain_shows_earlier_verdicts_and_places(
    store: Path, capsys: Captured, typed: Typed
) -> None:
    assert judged(store, "sea", "--verdict", "1=good") == 0
    capsys.readouterr()
    typed("\n" * 10)
    assert judged(store, "sea", "--explain", "--score", "linear=0") == 0
    out = capsys.readouterr().out
    assert "judged good, was at place 1" in out
    assert "1 judged search: nDCG@10 1.000 -> " in out
    assert "0 better, 1 worse" in out


def test_weights_change_scores_and_wrong_ones_are_refused(store: Path, capsys: Captured) -> None:
    plain = order_with_scores(store, capsys, "importance=0")
    assert order_with_scores(store, capsys, "in-body=40") != plain
    for wrong in ("fields=1", "title", "title=x", "title=-1", "title=nan"):
        assert judged(store, "water", "--weight", wrong) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def order_with_scores(store: Path, capsys: Captured, weight: str) -> Any:
    assert judged(store, "water", "--json", "--weight", weight) == 0
    return json.loads(capsys.readouterr().out)


def test_judge_needs_either_words_or_a_list(store: Path, tmp_path: Path, capsys: Captured) -> None:
    file = tmp_path / "verdicts.csv"
    file.write_text(f"water,{PIER},good\n")
    assert judged(store) == 2
    for more in (["water"], ["--verdict", "1=good"], ["--json"]):
        assert judged(store, "--verdicts", str(file), *more) == 2
    assert len(capsys.readouterr().err.splitlines()) == 4
    assert kept(store) == {}


def test_words_may_begin_with_a_minus(store: Path, capsys: Captured) -> None:
    found = order(store, capsys, "water", "-salt")
    assert PIER in found
    assert SEA not in found
