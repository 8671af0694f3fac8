"""Records are known at once, and in the store with the next commit."""

from pathlib import Path

from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.model import OwnRequest
from minicrawl.opic.ledger import Step, StepKind
from minicrawl.store import tables
from minicrawl.store.reader import reading
from minicrawl.store.records import HostRow
from minicrawl.web.robots import Rules
from tests.crawl.fakes import in_time, keeping
from tests.crawl.settle.recording import A, B, bear, document, visit


def test_the_original_of_a_page_is_kept_when_it_is_new(recorder: Recorder, path: Path) -> None:
    bear(recorder, f"{A}/")
    originals = ((f"{A}/", f"{A}/?gclid=1"), (f"{A}/1", f"{A}/1?gclid=2"))
    recorder.meet([f"{A}/", f"{A}/1", f"{A}/2"], 0, originals)
    recorder.apply_step(Step(StepKind.BORN, born=2))
    in_time(recorder.committer.commit())
    with reading(path) as connection:
        found = [tables.original(connection, page) for page in range(3)]
    assert found == [None, f"{A}/1?gclid=2", None]


def test_records_are_found_before_and_after_their_commit(recorder: Recorder) -> None:
    bear(recorder, f"{A}/", f"{A}/1")
    visit(recorder, 0, 1)
    recorder.describe(document(0, "before"))
    for _ in range(2):
        assert recorder.pages.url_of(1) == f"{A}/1"
        assert list(recorder.frontier.spendings.of(0).links) == [1]
        assert recorder.pages.document(0) == document(0, "before")
        assert recorder.pages.document(1) is None
        in_time(recorder.committer.commit())


def test_a_request_of_a_program_is_found_after_its_commit(recorder: Recorder) -> None:
    wanted = OwnRequest("POST", body=b"q=harbour")
    bear(recorder, f"{A}/", f"{A}/1")
    recorder.keep_own_requests({f"{A}/1": 1}, ((f"{A}/1", wanted),))
    in_time(recorder.committer.commit())
    assert [recorder.pages.own_request(page) for page in (0, 1)] == [None, wanted]


def test_of_two_documents_of_a_page_the_newer_one_counts(recorder: Recorder) -> None:
    recorder.describe(document(0, "before"))
    recorder.describe(document(0, "after"))
    for _ in range(2):
        assert recorder.pages.document(0) == document(0, "after")
        in_time(recorder.committer.commit())
    assert list(recorder.pages.documents()) == [document(0, "after")]


def test_the_rules_of_a_host_are_found_after_their_commit(path: Path) -> None:
    rules = Rules(forbidden=("/private",), crawl_delay_s=2.0)
    with keeping(path) as recorder:
        bear(recorder, f"{A}/", f"{B}/")
        recorder.describe_host(HostRow(0, A, rules.text(), 99.0))
        in_time(recorder.committer.commit())
        assert recorder.hosts.robots(0) == (rules.text(), 99.0)
        assert recorder.hosts.robots(1) is None
        assert recorder.hosts.robots(2) is None
