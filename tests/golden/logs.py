"""Golden logs: the exact rows of stores after crawls, for each web, order and window.

demo  the demo web, with pages that are read again; killed, and resumed a day later
warc  a recorded crawl of the demo web; resumed on the demo web

Law: no row depends on the machine. There is one request at a time, on a fake clock
(`tests.crawl.jumping_clock`) that stands still during work and commits. So all columns are
compared, even times.
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
from minicrawl.crawl.imports.warc_import import import_warcs
from minicrawl.crawl.schedule.orders import ORDERS
from minicrawl.demo.web import DemoWeb
from minicrawl.fetch.warc.answers import RecordedAnswers
from minicrawl.fetch.warc.records import WarcRecord
from minicrawl.model import FetchResult, Request
from minicrawl.opic.windows.by_name import WINDOWS
from minicrawl.store.reader import LOCK, LOG
from tests.crawl.fakes import FakeWeb, crawl
from tests.crawl.jumping_clock import work_takes_no_time
from tests.limits import settings_of

FOLDER = Path(__file__).parent
GOLDEN, WARC = FOLDER / "logs.json", FOLDER / "demo.warc.zst"
TABLES = {"steps": "seq", "urls": "id", "documents": "page", "frontier": "id"}
"""Tables and the column that orders their rows. Only the frontier depends on the window."""
PAGES = 100
READS = 130
"""Number of reads. It exceeds `PAGES`, so some pages are read twice."""
KILLED_AFTER = 65
RESPONSE_S = 0.04
DAY_S = 86_400.0

Log = Mapping[str, list[str]]
"""Rows of each table, one per line."""


class Case(NamedTuple):
    """A web, and the order and window of its crawl."""

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
"""A recorded crawl has its own order, so for `warc` only the resumed part depends on the order."""


def logs(case: Case, folder: Path) -> dict[str, Log]:
    """Return the logs of a crawl: fresh, after a kill (for `demo`), and resumed."""
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
    settings = settings_of(**_options(case), store=store, max_tries=1, converge=False)
    import_warcs([WARC], settings)
    fresh = rows_of(store)
    _crawl(case, DemoAnswers(), store, later_s=DAY_S)
    return {"fresh": fresh, "resumed": rows_of(store)}


def _crawl(case: Case, answers: "DemoAnswers", store: Path, later_s: float = 0.0) -> None:
    """Crawl with one request at a time, and read pages again."""
    crawl(
        FakeWeb({}, answers, RESPONSE_S),
        store,
        *answers.seeds,
        later_s=later_s,
        **_options(case),
        pages=READS,
        continuous=True,
        concurrency=1,
        replay=1,
    )


def _options(case: Case) -> dict[str, Any]:
    """Return the settings of a case. The window is far narrower than the crawl, so it moves."""
    return {"strategy": case.order, "window": case.window, "width": 2}


class DemoAnswers:
    """The demo web without a server. After given numbers of responses, it copies the files of a
    store: a kill at this moment would leave the same files.
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
    """Return all rows, even of a store that is too old for the current code."""
    # Read-only, because a writer would merge the write-ahead log that a kill left.
    address = f"{store.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        return {
            table: [repr(row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY {by}")]
            for table, by in TABLES.items()
        }


def digests(case: Case, found: Mapping[str, Log]) -> dict[str, str]:
    """Return a line for each log, with the number and the hash of the rows of each table.

    The log after a kill has none, because it is the beginning of the fresh log.
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
    """Return the golden digests of all cases."""
    kept: dict[str, str] = json.loads(GOLDEN.read_text())
    return kept


def dump(case: Case, found: Mapping[str, Log], folder: Path) -> None:
    """Write all rows, for `diff -r`."""
    for way, log in found.items():
        for table, rows in log.items():
            file = folder / str(case).replace(" ", "-") / way / table
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(rows) + "\n")
