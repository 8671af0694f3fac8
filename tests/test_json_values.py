"""Documents: rows and dataclasses by the names of their fields, at any depth."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from minicrawl.json_values import to_json
from minicrawl.states import State


class Row(NamedTuple):
    kind: State
    pages: int


@dataclass(frozen=True)
class Report:
    store: Path
    rows: tuple[Row, ...]
    best: dict[str, Row | None]


class Curve:
    def to_json(self) -> dict[str, object]:
        return {"last": Row(State.TLS, 2)}


def test_rows_in_documents_become_objects() -> None:
    report = Report(Path("a.db"), (Row(State.DNS, 1),), {"here": Row(State.LOST, 0)})
    dns, lost = {"kind": "dns", "pages": 1}, {"kind": "lost", "pages": 0}
    document = {"store": "a.db", "rows": [dns], "best": {"here": lost}}
    assert json.loads(json.dumps(to_json(report))) == document


def test_a_class_may_have_a_document_of_its_own() -> None:
    assert to_json([Curve(), None]) == [{"last": {"kind": "tls", "pages": 2}}, None]
