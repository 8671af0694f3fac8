from collections.abc import Iterator
from pathlib import Path

import pytest

from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.opic.ledger import Spending, Step, StepKind
from minicrawl.store.records import HostRow
from minicrawl.web.robots import Rules
from tests.crawl.fakes import in_time, keeping
from tests.crawl.settle.recording import A, B, bear, document, visit


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "crawl.db"


@pytest.fixture
def recorder(path: Path) -> Iterator[Recorder]:
    with keeping(path) as recorder:
        yield recorder


def test_what_is_on_its_way_to_the_store_is_known_as_what_is_there(recorder: Recorder) -> None:
    bear(recorder, f"{A}/", f"{A}/1")
    visit(recorder, 0, 1)
    recorder.describe(document(0, "before"))
    for _ in range(2):
        assert recorder.pages.url_of(1) == f"{A}/1"
        assert list(recorder.frontier.spendings.of(0).links) == [1]
        assert recorder.pages.document(0) == document(0, "before")
        assert recorder.pages.document(1) is None
        in_time(recorder.committer.commit())


def test_of_two_documents_of_a_page_the_newer_one_counts(recorder: Recorder) -> None:
    recorder.describe(document(0, "before"))
    recorder.describe(document(0, "after"))
    for _ in range(2):
        assert recorder.pages.document(0) == document(0, "after")
        in_time(recorder.committer.commit())
    assert list(recorder.pages.documents()) == [document(0, "after")]


def test_rules_of_a_host_are_found_again(path: Path) -> None:
    rules = Rules(forbidden=("/private",), crawl_delay_s=2.0)
    with keeping(path) as recorder:
        bear(recorder, f"{A}/", f"{B}/")
        recorder.describe_host(HostRow(0, A, rules.text(), 99.0))
        in_time(recorder.committer.commit())
        assert recorder.hosts.robots(0) == (rules.text(), 99.0)
        assert recorder.hosts.robots(1) is None
        assert recorder.hosts.robots(2) is None


def test_seeds_are_the_pages_that_were_endowed(recorder: Recorder) -> None:
    assert recorder.seeds.ids() == set()
    bear(recorder, *(f"{A}/{number}" for number in range(5)))
    for pages in ((0, 2), (3,)):
        recorder.apply_step(Step(StepKind.ENDOWED, spending=Spending(pages), amount=5))
    assert recorder.seeds.ids() == {0, 2, 3}
    in_time(recorder.committer.commit())
    assert recorder.seeds.ids() == {0, 2, 3}
    assert list(recorder.seeds.urls()) == [f"{A}/0", f"{A}/2", f"{A}/3"]
