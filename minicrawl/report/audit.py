"""Is the store whole? Every law that a store can be held to, one after the other.

Law: an audit does not believe what it looks at: it ends with a list of what is wrong, and never
with a traceback or a loop.

The books made anew from the first step to the last, and held against those that were loaded.

Law: a checkpoint only saves time. What it says of a page is what the steps say, to the atom.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.errors import MinicrawlError
from minicrawl.frontier.loading import contradictions, verify
from minicrawl.frontier.pages import Frontier
from minicrawl.model import STANDS_FOR_ANOTHER
from minicrawl.opic.ledger import READ
from minicrawl.progress import Progress, unreported
from minicrawl.report.snapshot import inlinks, spent, unproven
from minicrawl.store import columns, questions, tables
from minicrawl.store.blobs import unpack
from minicrawl.store.reader import reading
from minicrawl.store.records import StoreTerms
from minicrawl.store.trouble import NONSENSE

_STEPS_AT_ONCE = 1000  # before anybody is told


def differences(
    connection: tables.Connection, loaded: Frontier, tell: Progress = unreported
) -> Iterator[str]:
    """A line for each page and each total that the steps tell otherwise."""
    made, last = Frontier(loaded.terms, partial(tables.spending, connection)), loaded.last_seq
    try:
        for row in tables.steps_after(connection, 0):
            made.apply(row)
            if not row.seq % _STEPS_AT_ONCE:
                tell(min(row.seq / max(last, 1), 1.0))
    except NONSENSE as error:
        yield f"step {made.last_seq} cannot be done: {error}"
        return
    yield from _of_pages(loaded, made)
    for name, one, other in (
        ("inlinks", inlinks(connection, loaded), made.gained()),
        ("spent", spent(connection, loaded), made.spendings.of_all(len(made))),
    ):
        yield from _of_column(name, one, other)
    if loaded.ledger.totals != made.ledger.totals:
        yield f"the totals are {loaded.ledger.totals}, by the steps {made.ledger.totals}"
    if loaded.books.forwards != made.books.forwards:
        yield "pages stand for others than the steps say"


def _of_pages(loaded: Frontier, made: Frontier) -> Iterator[str]:
    for (name, one), (_, other) in zip(_columns(loaded), _columns(made), strict=True):
        yield from _of_column(name, one, other)
    for page in range(len(loaded)):
        if loaded.window.past(page) != made.window.past(page):
            yield f"page {page} has another history than the steps say"


def _of_column(name: str, loaded: NDArray[Any], made: NDArray[Any]) -> Iterator[str]:
    for page in np.flatnonzero(loaded != made).tolist():
        yield f"page {page} has {name} {loaded[page]}, by the steps {made[page]}"


def _columns(frontier: Frontier) -> Iterator[tuple[str, NDArray[np.int64]]]:
    yield "state", np.array(frontier.state, dtype=np.int64)
    yield "key", np.array(frontier.ledger.key, dtype=np.int64)


_DENSE = ("urls", "hosts", "frontier")
_SHOWN = 10
_BEFORE_THE_FOLD = 0.2  # of the time, about


@dataclass(slots=True)
class Audit:
    """What was checked, what is wrong, and what could not be checked."""

    checked: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Nothing is wrong."""
        return not self.wrong

    def lines(self) -> Iterator[str]:
        """What is wrong, or that nothing is; then what nobody can know."""
        yield from self.wrong
        if self.is_whole:
            yield f"ok: {', '.join(self.checked)}"
        yield from (f"not checked: {note}" for note in self.notes)

    def as_json(self) -> dict[str, object]:
        """The same for programs."""
        return {"ok": self.is_whole} | asdict(self)


Check = Callable[[tables.Connection, Path], Iterator[str]]


def audit(path: Path, tell: Progress = unreported) -> Audit:
    """Check all there is; each check begins only if those before it found nothing."""
    found = Audit()
    with reading(path) as connection:
        for number, (name, check) in enumerate(_CHECKS.items()):
            tell(_BEFORE_THE_FOLD * number / len(_CHECKS))
            _run(name, partial(check, connection, path), found)
            if found.wrong:
                break
        else:
            _check_the_fold(connection, path, found, tell)
            _run("commit", partial(_commit, connection, path), found)
    return found


def _run(name: str, check: Callable[[], Iterator[str]], found: Audit) -> None:
    found.checked.append(name)
    complaints = check()
    try:
        found.wrong += [f"{name}: {complaint}" for complaint in islice(complaints, _SHOWN)]
        if next(complaints, None):
            found.wrong.append(f"{name}: there is more of this kind")
    except (MinicrawlError, *NONSENSE) as error:
        found.wrong.append(f"{name}: {error}")


# ---------------------------------------------------------------- one check each


def _file(connection: tables.Connection, _path: Path) -> Iterator[str]:
    yield from questions.complaints(connection)


def _values(connection: tables.Connection, _path: Path) -> Iterator[str]:
    """What the other checks and all commands take for granted of each column."""
    yield from columns.unfit(connection)
    is_imported = (tables.terms(connection) or StoreTerms()).imported
    if not is_imported and (count := columns.foreign_origins(connection)):
        yield f"the origins of {count:,} hosts are no beginning of a URL"


def _ids(connection: tables.Connection, _path: Path) -> Iterator[str]:
    for table in _DENSE:
        count, least, greatest = questions.extent(connection, table)
        if (least, greatest) != (0, count - 1):
            yield f"{table} has {count} rows with ids from {least} to {greatest}"
    count, last = questions.steps_known(connection)
    if count != last and _has_links(connection):
        yield f"the log has {count} steps, and the last one is number {last}"
    if count := questions.homeless(connection):
        yield f"the hosts of {count} URLs are unknown"


def _births(connection: tables.Connection, _path: Path) -> Iterator[str]:
    """Each page was born by a step: of all that is in the log, and of what is behind the rows."""
    known, _, _ = questions.extent(connection, "urls")
    saved, _, _ = questions.extent(connection, "frontier")
    born = saved + questions.born_after(connection, _watermark(connection))
    if born != known:
        yield f"{known} URLs are known, but {born} pages were born"
    if _has_links(connection) and (born := questions.born_after(connection, 0)) != known:
        yield f"{known} URLs are known, but the steps bore {born}"


def _links(connection: tables.Connection, _path: Path) -> Iterator[str]:
    known, _, _ = questions.extent(connection, "urls")
    for row in questions.all_spendings(connection):
        try:
            links = unpack(row.blob).links
        except ValueError as error:
            yield f"step {row.seq}: {error}"
            continue
        if not links or min(links) < 0 or max(links) >= known:
            yield f"step {row.seq} leads to pages that are not known"


def _forwards(connection: tables.Connection, _path: Path) -> Iterator[str]:
    """Where pages stand for each other in a circle, cash would run for ever."""
    targets: dict[int, int] = {}
    for page, seq in _standing(connection):
        links = tables.spending(connection, seq).links
        if links:
            targets[page] = links[0]
        else:
            yield f"page {page} stands for another one, and no step says for which"
    yield from (f"page {page} stands for itself" for page in _circling(targets))


def _standing(connection: tables.Connection) -> Iterator[tuple[int, int]]:
    """The pages that stand for others, and the steps that say for which."""
    for pages, states, steps in columns.frontier(connection, "id", "state", "spent"):
        found = np.isin(states, STANDS_FOR_ANOTHER)
        yield from zip(pages[found].tolist(), steps[found].tolist(), strict=True)


def _circling(targets: dict[int, int]) -> Iterator[int]:
    """A page of each circle."""
    settled: set[int] = set()
    for start in targets:
        trail: set[int] = set()
        page = start
        while page in targets and page not in settled:
            settled.add(page)
            trail.add(page)
            page = targets[page]
        if page in trail:
            yield page


def _books(connection: tables.Connection, path: Path) -> Iterator[str]:
    ledger = unproven(path, connection).ledger
    if missing := ledger.missing():
        yield f"{missing} atoms of cash are missing"
    keys = np.frombuffer(ledger.key, dtype=np.int64)
    floors = np.where(
        np.frombuffer(ledger.flags, dtype=np.uint8) & READ, -ledger.virtual_page.dividend, 0
    )
    for page in np.flatnonzero(keys < floors).tolist():
        yield f"page {page} holds {ledger.cash(page)} atoms of cash"


_CHECKS: dict[str, Check] = {
    "file": _file,
    "values": _values,
    "ids": _ids,
    "births": _births,
    "links": _links,
    "forwards": _forwards,
    "books": _books,
}
"""The later ones rely on what the earlier ones found."""


def _check_the_fold(
    connection: tables.Connection, path: Path, found: Audit, tell: Progress
) -> None:
    if not _has_links(connection):
        found.notes.append("the fold: a store without links keeps only its last steps")
    elif (seq := tables.meta(connection, "restated")) is not None:
        found.notes.append(f"the fold: the cash was dealt anew after step {seq}")
    else:
        _run("fold", partial(_fold, connection, path, tell), found)


def _fold(connection: tables.Connection, path: Path, tell: Progress) -> Iterator[str]:
    def tell_of_it(share: float) -> None:
        tell(_BEFORE_THE_FOLD + (1 - _BEFORE_THE_FOLD) * share)

    yield from differences(connection, unproven(path, connection), tell_of_it)


def _commit(connection: tables.Connection, path: Path) -> Iterator[str]:
    """What the last commit said of all pages is what there is."""
    frontier = unproven(path, connection)
    verify(frontier, connection)
    yield from contradictions(frontier, connection)


# ---------------------------------------------------------------- what the log is


def _has_links(connection: tables.Connection) -> bool:
    return (tables.terms(connection) or StoreTerms()).links


def _watermark(connection: tables.Connection) -> int:
    return int(tables.meta(connection, "watermark") or 0)
