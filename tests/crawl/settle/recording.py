"""Helpers for tests of the recorder and its parts."""

from pathlib import Path

from minicrawl.crawl.record.recorder import Recorder
from minicrawl.opic.ledger.books import Spending, Step, StepKind
from minicrawl.states import State
from minicrawl.store import tables
from minicrawl.store.reader import reading
from minicrawl.store.records import DocumentRow

A, B = "http://a.example", "http://b.example"


def bear(recorder: Recorder, *urls: str) -> list[int]:
    meeting = recorder.meet(list(urls), 0)
    recorder.apply_step(Step(StepKind.BORN, born=len(meeting.urls)))
    return meeting.pages


def visit(recorder: Recorder, page: int, *links: int) -> None:
    recorder.apply_step(Step(StepKind.VISIT, page, spending=Spending(links)), State.FETCHED)


def document(page: int, title: str) -> DocumentRow:
    return DocumentRow(page, title, 200, None, None, 7, False, 0.0, 0.0, 0, 0)


def steps_in(path: Path) -> int:
    with reading(path) as connection:
        return tables.last_step(connection)
