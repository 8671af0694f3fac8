"""What users said of the results of searches: kept beside the store, and of no index.

Laws: verdicts belong to words and URLs, so that they hold for every index and every ranking. The
file is only added to; of two verdicts on one page the later one counts. A line that a kill cut off
was never said, and the next writer removes it.

verdict    good, fair or bad: what a user said of a page that was shown for a query
judgement  the verdicts of one sitting on the pages of one query, and what was shown, in order
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO

from minicrawl.errors import StoreError
from minicrawl.store.reader import JUDGED, file_beside
from minicrawl.wording import iso

SHOWN = 10
"""Places of a ranking that are remembered and compared."""


class Verdict(StrEnum):
    """What a user says of a page."""

    GOOD = "good"
    FAIR = "fair"
    BAD = "bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What was said of the pages of one query."""

    query: str
    verdicts: Mapping[str, Verdict]
    """The verdict on each URL."""
    shown: tuple[str, ...] = ()
    """The URLs of the first places, as they were when the user judged."""

    def followed_by(self, later: Judgement) -> Judgement:
        """Both, where the later one counts."""
        verdicts = {**self.verdicts, **later.verdicts}
        return Judgement(query=self.query, verdicts=verdicts, shown=later.shown or self.shown)


def plain(query: str) -> str:
    """The query by which its verdicts are found again."""
    return " ".join(query.split())


def file_of(store: Path) -> Path:
    """Where the judgements of a store are."""
    return file_beside(store, JUDGED)


def keep(store: Path, judgements: Iterable[Judgement], at: float) -> None:
    """Add to what was said. It is on the disk when this returns."""
    lines = b"".join(_line(one, at) for one in judgements if one.verdicts)
    with file_of(store).open("ab+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(_end_of_lines(file))
        file.write(lines)
        file.flush()
        os.fsync(file.fileno())


def kept(store: Path) -> dict[str, Judgement]:
    """All that was said, by query, in the order in which they were judged first."""
    file, found = file_of(store), dict[str, Judgement]()
    if not file.is_file():
        return found
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.endswith(b"\n"):
                one = _judgement(line, f"{file}, line {number}")
                before = found.get(one.query)
                found[one.query] = before.followed_by(one) if before else one
    return found


def _line(judgement: Judgement, at: float) -> bytes:
    said = {
        "query": plain(judgement.query),
        "verdicts": dict(judgement.verdicts),
        "shown": judgement.shown[:SHOWN],
        "at": iso(at),
    }
    return json.dumps(said).encode() + b"\n"


def _judgement(line: bytes, place: str) -> Judgement:
    try:
        said = json.loads(line)
        verdicts = {str(url): Verdict(one) for url, one in said["verdicts"].items()}
        shown = tuple(map(str, said["shown"]))
        return Judgement(query=plain(said["query"]), verdicts=verdicts, shown=shown)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{place} is no judgement of a search: mend or remove it") from error


def _end_of_lines(file: IO[bytes]) -> int:
    """Where the last whole line ends."""
    file.seek(0)
    return file.read().rfind(b"\n") + 1
