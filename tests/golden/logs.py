"""Golden logs: what is in a store after a crawl, byte for byte, for each web, order and window.

demo  the demo web, with pages that are read again; killed, and resumed a day later
warc  a recorded crawl of it; resumed on the demo web

Law: nothing of this depends on the machine. One request is under way at a time, in a loop whose
time jumps (`tests.crawl.fakes`), so the clock stands still while anything works, and commits have
ended whenever it goes on. All columns are compared, those with times too.
"""

import hashlib
import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from minicrawl.config import Network
from minicrawl.crawl.recorded import import_warcs
from minicrawl.crawl.schedule.orders import ORDERS
from minicrawl.demo.web import DemoWeb
from minicrawl.fetch.warc import RecordedAnswers, WarcRecord
from minicrawl.model import FetchResult, Request
from minicrawl.opic.windows import WINDOWS
from minicrawl.store.reader import LOCK, LOG
from tests.crawl.fakes import FakeWeb, crawl, work_takes_no_time
from tests.limits import settings_of

FOLDER = Path(__file__).parent
GOLDEN, WARC = FOLDER / "logs.json", FOLDER / "demo.warc.zst"
TABLES = {"steps": "seq", "urls": "id", "documents": "page", "frontier": "id"}
"""Each with what its rows are ordered by. A window shows in the frontier only."""
PAGES = 100
READ = 130
"""So many pages are read: some of them twice."""
KILLED_AFTER = 65
TAKES_S = 0.04
DAY_S = 86_400.0

Log = Mapping[str, list[str]]
"""The rows of each table, each as a line."""


class Case(NamedTuple):
    """What is crawled, and how."""

    web: str
    order: str
    window: str

    def __str__(self) -> str:
        return " ".join(self)


CASES = [
    *(Case("demo", *names) for names in product(ORDERS, WINDOWS)),
    *(Case("warc", "siblings", window) for window in WINDOWS),
    *(Case("warc", order, "interpolation") for order in ORDERS if order != "siblings"),
]
"""What is recorded comes in its own order, so only what a crawl goes on with depends on another."""


def logs(case: Case, folder: Path) -> dict[str, Log]:
    """The logs of a crawl, of what a kill left of it, if there was one, and of what went on."""
    with work_takes_no_time():
        return (_demo_logs if case.web == "demo" else _warc_logs)(case, folder)


def _demo_logs(case: Case, folder: Path) -> dict[str, Log]:
    whole, killed = folder / "whole.db", folder / "killed.db"
    _crawl(case, DemoAnswers(copies={KILLED_AFTER: (whole, killed)}), whole)
    left = rows_of(killed)
    _crawl(case, DemoAnswers(), killed, later_s=DAY_S)
    return {"fresh": rows_of(whole), "killed": left, "resumed": rows_of(killed)}


def _warc_logs(case: Case, folder: Path) -> dict[str, Log]:
    store = folder / "recorded.db"
    settings = settings_of(**_of(case), store=store, max_tries=1, converge=False)
    import_warcs([WARC], settings)
    fresh = rows_of(store)
    _crawl(case, DemoAnswers(), store, later_s=DAY_S)
    return {"fresh": fresh, "resumed": rows_of(store)}


def _crawl(case: Case, answers: "DemoAnswers", store: Path, later_s: float = 0.0) -> None:
    """One request at a time; pages are read again when there is room for it."""
    crawl(
        FakeWeb({}, answers, TAKES_S),
        store,
        *answers.seeds,
        later_s=later_s,
        **_of(case),
        pages=READ,
        continuous=True,
        concurrency=1,
        replay=1,
    )


def _of(case: Case) -> dict[str, Any]:
    """Its settings. A window that is much narrower than the crawl is long forgets something."""
    return {"strategy": case.order, "window": case.window, "width": 2}


class DemoAnswers:
    """The demo web as a server begins it. After so many answers the files of a store are copied:
    that is what a kill leaves.
    """

    def __init__(self, copies: Mapping[int, tuple[Path, Path]] | None = None) -> None:
        self._web, self._reader = DemoWeb(PAGES), RecordedAnswers(Network())
        self._visits: Counter[str] = Counter()
        self._copies = copies or {}
        self.seeds = self._web.seeds

    async def __call__(self, request: Request) -> FetchResult:
        if copied := self._copies.get(self._visits.total()):
            for suffix in ("", LOG, LOCK):
                shutil.copyfile(*(f"{path}{suffix}" for path in copied))
        validators = {"if-none-match": request.etag, "if-modified-since": request.last_modified}
        known = {name: value for name, value in validators.items() if value}
        parts = urlsplit(request.url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        visits = self._visits[request.url]
        self._visits[request.url] += 1
        answer = self._web.answer(parts.hostname or "", target, known, visits)
        head = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
        block = f"HTTP/1.1 {answer.status} Said\r\n{head}\r\n".encode("latin-1") + answer.body
        return await self._reader.read(request, WarcRecord("response", {}, block, is_cut=False))


def rows_of(store: Path) -> Log:
    """All rows, to the byte; also of a store that is too old to be read."""
    address = (
        f"{store.absolute().as_uri()}?mode=ro"  # whoever may write would fold the log of a kill
    )
    with closing(sqlite3.connect(address, uri=True)) as connection:
        return {
            table: [repr(row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY {by}")]
            for table, by in TABLES.items()
        }


# ---------------------------------------------------------------- what is kept of them


def digests(case: Case, found: Mapping[str, Log]) -> dict[str, str]:
    """Of each log a line: how many rows each table has, and the hash of them. What a kill leaves
    is the beginning of a fresh log, and needs none.
    """
    return {
        f"{case} {way}": ", ".join(f"{table} {_digest(rows)}" for table, rows in log.items())
        for way, log in found.items()
        if way != "killed"
    }


def _digest(rows: list[str]) -> str:
    whole = "\n".join(rows).encode()
    return f"{len(rows)} {hashlib.sha256(whole).hexdigest()[:12]}"


def golden() -> dict[str, str]:
    """The digests of all cases as they are kept."""
    kept: dict[str, str] = json.loads(GOLDEN.read_text())
    return kept


def dump(case: Case, found: Mapping[str, Log], folder: Path) -> None:
    """Write all rows, for `diff -r`."""
    for way, log in found.items():
        for table, rows in log.items():
            file = folder / str(case).replace(" ", "-") / way / table
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(rows) + "\n")
