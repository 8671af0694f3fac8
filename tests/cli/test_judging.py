"""`minicrawl search --judge`, and `minicrawl agree --searches`."""

import json
import shutil
from collections.abc import Iterator
from functools import partial
from io import StringIO
from pathlib import Path

import pytest

pytest.importorskip("tantivy")
pytest.importorskip("selectolax")

from minicrawl.cli import main
from minicrawl.search.judgements import Verdict, file_of, kept
from minicrawl.store.reader import search_folder
from tests.search.stored.stores import HIDDEN, PAGES, PIER, SEA, read_into

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("judging") / "crawl.db"
    read_into(path, PAGES, noindex=[HIDDEN])
    return path


@pytest.fixture
def store(crawled: Path) -> Path:
    file_of(crawled).unlink(missing_ok=True)
    return crawled


def asked(store: Path, *words: str) -> int:
    return main(["search", "--store", str(store), *words])


def order(store: Path, capsys: Captured, *words: str) -> list[str]:
    assert asked(store, "--json", *words) == 0
    return [one["url"] for one in json.loads(capsys.readouterr().out)]


def test_each_line_of_stdin_is_a_verdict_on_a_result(
    store: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = order(store, capsys, "water")[:2]
    monkeypatch.setattr("sys.stdin", StringIO("good\nb\nq\n"))
    assert asked(store, "water", "--judge") == 0
    assert "2 verdicts on 1 search kept" in capsys.readouterr().err
    assert kept(store)["water"].verdicts == {first: Verdict.GOOD, second: Verdict.BAD}
    assert kept(store)["water"].shown[:2] == (first, second)
    monkeypatch.setattr("sys.stdin", StringIO("\nfair\n"))
    assert asked(store, "water", "--judge") == 0
    assert kept(store)["water"].verdicts == {first: Verdict.GOOD, second: Verdict.FAIR}


def test_on_a_terminal_what_is_no_verdict_is_asked_again(
    store: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = StringIO("great\nGood\n")
    monkeypatch.setattr(typed, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", typed)
    assert asked(store, "salt", "--judge") == 0
    assert capsys.readouterr().err.count("good, fair or bad?") >= 2
    assert list(kept(store)["salt"].verdicts.values()) == [Verdict.GOOD]


def test_what_was_said_before_an_interrupt_is_kept(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def typed() -> Iterator[str]:
        yield "good\n"
        raise KeyboardInterrupt

    stdin = StringIO()
    monkeypatch.setattr(stdin, "readline", partial(next, typed()))
    monkeypatch.setattr("sys.stdin", stdin)
    assert asked(store, "water", "--judge") == 130
    assert list(kept(store)["water"].verdicts.values()) == [Verdict.GOOD]


def test_a_script_that_says_nonsense_keeps_nothing(
    store: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO("good\ngreat\n"))
    assert asked(store, "water", "--judge") == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert kept(store) == {}


def test_verdicts_are_said_by_place_or_url(store: Path, capsys: Captured) -> None:
    second = order(store, capsys, "water")[1]
    other = "nowhere.example/?a=b"
    assert asked(store, "water", "--verdict", "2=good", "--verdict", f"{other}=b", "--json") == 0
    verdicts = kept(store)["water"].verdicts
    assert verdicts == {second: Verdict.GOOD, f"https://{other}": Verdict.BAD}
    capsys.readouterr()
    for wrong in ("9=good", "1=great", "water", "=good", "0=good"):
        assert asked(store, "water", "--verdict", wrong) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_list_of_verdicts_is_kept_whole_or_refused(
    store: Path, tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "verdicts.csv"
    file.write_text(f'query,url,verdict\nwater,{PIER},good\n"salt  ""water""",{SEA},b\n')
    assert main(["search", "--store", str(store), "--verdicts", str(file)]) == 0
    assert "2 verdicts on 2 searches" in capsys.readouterr().err
    assert set(kept(store)) == {"water", 'salt "water"'}
    assert kept(store)["water"].shown
    before = file_of(store).read_bytes()
    for wrong in ("water,good", "water,,good", "?!,x.example,good", "water,x.example,great"):
        file.write_text(f"water,{PIER},good\n{wrong}\n")
        assert main(["search", "--store", str(store), "--verdicts", str(file)]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
    file.write_bytes(b"water,\xff,good\n")
    assert main(["search", "--store", str(store), "--verdicts", str(file)]) == 2
    assert file_of(store).read_bytes() == before


def test_judgements_outlive_the_index(store: Path) -> None:
    assert asked(store, "water", "--verdict", "1=good") == 0
    shutil.rmtree(search_folder(store))
    assert main(["index", "--fresh", "--store", str(store)]) == 0
    assert list(kept(store)) == ["water"]


def test_a_changed_order_is_compared_on_all_judged_searches(store: Path, capsys: Captured) -> None:
    command = ["agree", "--searches", "--store", str(store)]
    assert main(command) == 2
    assert "has no judged search" in capsys.readouterr().err
    usual = order(store, capsys, "sea")
    turned = order(store, capsys, "sea", "--score", "linear=0")
    assert usual[0] != turned[0]
    assert asked(store, "sea", "--verdict", "1=good") == 0
    assert asked(store, "salt", "--verdict", "1=bad") == 0
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


def test_explain_says_what_was_said_before(store: Path, capsys: Captured) -> None:
    assert asked(store, "sea", "--verdict", "1=good") == 0
    capsys.readouterr()
    assert asked(store, "sea", "--explain", "--score", "linear=0") == 0
    out = capsys.readouterr().out
    assert "judged good, was at place 1" in out
    assert "1 judged search: nDCG@10 1.000 -> " in out
    assert "0 better, 1 worse" in out


def test_weights_change_the_order_and_nonsense_is_refused(store: Path, capsys: Captured) -> None:
    assert asked(store, "water", "--explain", "--weight", "importance=0", "--n", "1") == 0
    plain = capsys.readouterr().out
    assert asked(store, "water", "--explain", "--weight", "in-body=40", "--n", "1") == 0
    assert capsys.readouterr().out != plain
    for wrong in ("fields=1", "title", "title=x", "title=-1", "title=nan"):
        assert asked(store, "water", "--weight", wrong) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_agree_needs_a_rank_and_labels_or_searches(
    store: Path, tmp_path: Path, capsys: Captured
) -> None:
    assert main(["agree", "--store", str(store)]) == 2
    assert main(["agree", "opic", "--store", str(store)]) == 2
    labels = tmp_path / "labels.csv"
    labels.write_text("url,grade\n")
    assert main(["agree", "--searches", "opic", str(labels), "--store", str(store)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 3
