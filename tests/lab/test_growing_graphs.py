"""Trials run in processes of their own, are timed and validated, and end after a timeout."""

import pickle
from dataclasses import replace
from io import BytesIO, TextIOWrapper
from pathlib import Path

import numpy as np
import pytest

from minicrawl.lab.algorithm_bench import (
    AlgorithmReport,
    TimedRun,
    TrialRules,
    batches_for,
    compare,
    first_difference,
    read_sequence,
    run_in_child,
    timed,
)
from minicrawl.lab.dynamic_graphs.by_name import ALGORITHMS, AlgorithmKind
from minicrawl.lab.dynamic_graphs.one_matrix import A1
from minicrawl.lab.dynamic_graphs.suite import SUITE, solved

RULES = TrialRules(threshold=3, trials=2, timeout_s=600, validate=True)
GRAPH = solved(SUITE["sc2"]())


@pytest.mark.slow
def test_a_trial_has_its_own_process_and_is_validated() -> None:
    rules = replace(RULES, want_answer=True)
    (report,) = compare(GRAPH, [ALGORITHMS["a4"]], rules)
    assert len(report.trials) == 2
    assert report.wrong is None
    assert report.seconds is not None
    answer = report.trials[0].answer
    assert answer is not None
    assert np.array_equal(answer, GRAPH.distances)


def test_a_trial_is_ended_after_its_timeout() -> None:
    hard = solved(SUITE["c100"]())
    (report,) = compare(hard, [ALGORITHMS["floyd-warshall"]], replace(RULES, timeout_s=0.01))
    assert report.seconds is None
    assert len(report.trials) == 1


@pytest.mark.parametrize("name", list(ALGORITHMS))
def test_each_algorithm_inserts_all_edges(name: str) -> None:
    found = ALGORITHMS[name]
    state, seconds = timed(found, GRAPH.graph.nodes, batches_for(found, GRAPH, 5))
    assert seconds > 0
    assert first_difference(found, GRAPH, found.answer(state)) is None


def test_a_wrong_answer_is_caught() -> None:
    broken = GRAPH.distances.copy()
    broken[2, 5] = 7
    found = ALGORITHMS["a1"]
    assert first_difference(found, GRAPH, broken) == (
        f"distance of 2 to 5 is 7, expected {GRAPH.distances[2, 5]}"
    )
    apart = np.arange(8)
    wrong = first_difference(ALGORITHMS["s2"], GRAPH, apart)
    assert wrong == "component of 1 is 1, expected 0"


class ForgetfulA1(A1):
    """Broken algorithm that counts an edge but no longer path that it shortens."""

    def add(self, source: int, target: int) -> None:
        self.distances[source, target] = min(1, self.distances[source, target])


def test_a_broken_algorithm_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child catches it; it reads its job and writes its report as bytes."""
    broken = replace(ALGORITHMS["a1"], make=ForgetfulA1)
    monkeypatch.setitem(ALGORITHMS, "a1", broken)
    for rules, is_caught in ((RULES, True), (replace(RULES, validate=False), False)):
        given, out = BytesIO(pickle.dumps(("a1", GRAPH, rules))), BytesIO()
        monkeypatch.setattr("sys.stdin", TextIOWrapper(given))
        monkeypatch.setattr("sys.stdout", TextIOWrapper(out))
        run_in_child()
        found = pickle.loads(out.getvalue()[1:])
        assert bool(found.wrong) is is_caught
    assert first_difference(broken, GRAPH, GRAPH.distances) is None


def test_a_report_has_the_median_time_the_most_memory_and_the_first_error() -> None:
    trials = [TimedRun(3.0, 5), TimedRun(1.0, 9, "wrong"), TimedRun(2.0, 7)]
    report = AlgorithmReport(ALGORITHMS["a1"], trials)
    assert report.seconds == 2.0
    assert report.memory_bytes == 9
    assert report.wrong == "wrong"
    assert report.to_json()["kind"] == AlgorithmKind.DISTANCES


def test_links_of_a_file_keep_their_order(tmp_path: Path) -> None:
    file = tmp_path / "some.txt"
    file.write_text("30 10\n10 20\n30 10\n20 20\n20 30\n")
    graph = read_sequence(file)
    assert (graph.name, graph.nodes) == ("some", 3)
    assert graph.edges == ((2, 0), (0, 1), (1, 2))
