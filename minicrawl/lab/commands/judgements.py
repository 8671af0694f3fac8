"""Verdicts on the results of searches, kept beside a store.

verdict    good, fair or bad: a user's opinion of a page that was shown for a query
judgement  the verdicts on the pages of one query in one session, and the pages shown, in order

Laws: verdicts refer to words and URLs, so they apply to every index and every ranking. They are
kept beside the store, not in the index, in an append-only file. Of two verdicts on a page the later
one counts. A line cut off by a crash does not count, and the next writer removes it.
"""

import fcntl
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from minicrawl.errors import StoreError
from minicrawl.store.reader import JUDGED, file_beside
from minicrawl.wording import iso

SHOWN = 10
"""Places of a ranking that are stored and compared."""


class Verdict(StrEnum):
    """User's opinion of a page."""

    GOOD = "good"
    FAIR = "fair"
    BAD = "bad"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Verdicts on the pages of one query, and the pages shown."""

    query: str
    verdicts: Mapping[str, Verdict]
    """Verdicts by URL."""
    shown: tuple[str, ...] = ()
    """URLs of the first places when the user judged."""

    def followed_by(self, later: "Judgement") -> "Judgement":
        """Return both judgements merged; the later one takes precedence."""
        verdicts = {**self.verdicts, **later.verdicts}
        return Judgement(query=self.query, verdicts=verdicts, shown=later.shown or self.shown)


def plain(query: str) -> str:
    """Return the normalized query, under which its verdicts are stored."""
    return " ".join(query.split())


def file_of(store: Path) -> Path:
    """Return the file with the judgements of a store."""
    return file_beside(store, JUDGED)


def keep(store: Path, judgements: Iterable[Judgement], at: float) -> None:
    """Append judgements, and sync them to disk."""
    lines = b"".join(_line(judgement, at) for judgement in judgements if judgement.verdicts)
    with file_of(store).open("ab+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        # Remove a line that a crash cut off, or the next line would be appended to it.
        file.seek(0)
        file.truncate(file.read().rfind(b"\n") + 1)
        file.write(lines)
        file.flush()
        os.fsync(file.fileno())


def kept(store: Path) -> dict[str, Judgement]:
    """Return all judgements by query, in the order of the first judgement."""
    file, by_query = file_of(store), dict[str, Judgement]()
    if not file.is_file():
        return by_query
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.endswith(b"\n"):
                judgement = _judgement(line, f"{file}, line {number}")
                before = by_query.get(judgement.query)
                by_query[judgement.query] = before.followed_by(judgement) if before else judgement
    return by_query


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
        verdicts = {str(url): Verdict(name) for url, name in said["verdicts"].items()}
        shown = tuple(map(str, said["shown"]))
        return Judgement(query=plain(said["query"]), verdicts=verdicts, shown=shown)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(f"{place} is not a judgement of a search: correct or remove it") from error
