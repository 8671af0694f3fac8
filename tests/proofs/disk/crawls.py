"""A small crawl with archive, WARC files and search index, and the judge of what is left of it.

Laws, whatever has failed: `check` finds no fault, before and after the next run, and no atom of
cash is missing. Each page that the store counts as read can be read from the archive and is what
the server has sent. The WARC files have each response once, and each complete one has a CDXJ that
lists its pages. The next run ends with all pages, and the search index is the one that is built
anew.
"""

import gzip
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import chain
from pathlib import Path
from urllib.parse import urlsplit

from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped]

from minicrawl import State
from minicrawl.cli import main
from minicrawl.config import Storing
from minicrawl.crawl.events import nobody_listens
from minicrawl.crawl.record.store_with_archive import open_keeping
from minicrawl.crawl.start.opening import recorder_of
from minicrawl.report.archived.page_versions import kept_pages
from minicrawl.report.snapshot import snapshot
from minicrawl.search.index import FOLDER, SearchIndex
from minicrawl.search.indexing.rounds import bring_up_to_date
from minicrawl.store import writer
from minicrawl.store.reader import connect, reading, search_folder
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter
from tests.proofs.crash.child import Amounts, Plan, amounts, run
from tests.proofs.crash.killing import Crawls
from tests.proofs.crash.web import Server

PAGES = 40
DONE = ".done"
"""Suffix of the log of finished commits."""


def run_and_index(plan: Plan, store: Path) -> None:
    """Crawl, then index the pages, in this process."""
    _log_commits_done(plan.commits)
    try:
        run(plan)
    except SystemExit as crawled:
        sys.exit(crawled.code or main(["index", "--store", str(store)]))


def _log_commits_done(commits: Path) -> None:
    """Log, after each commit, the length of the log of begun commits, and the amounts now."""
    log = os.open(commits.with_suffix(DONE), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    commit = StoreWriter.commit

    def commit_and_log(store: StoreWriter, batch: Batch) -> None:
        commit(store, batch)
        line = json.dumps([commits.stat().st_size, amounts(store.connection)])
        os.write(log, f"{line}\n".encode())

    vars(writer)["StoreWriter"].commit = commit_and_log


class DiskCrawls:
    """A crawl in a folder, run again and again with the same web."""

    def __init__(self, server: Server, folder: Path, seed: int) -> None:
        self.folder, self._server = folder, server
        self.crawls = Crawls(server, folder, seed, pages=PAGES, keep="pages")
        self.store = self.crawls.store

    def start(self, environment: Mapping[str, str], dies_at: int = 0) -> subprocess.Popen[bytes]:
        """Start a process that crawls and indexes, in an environment."""
        plan = pickle.dumps((self.crawls.plan(dies_at), self.store))
        code = f"import pickle; from {__name__} import *; run_and_index(*pickle.loads({plan!r}))"
        root = Path(__file__).parents[3]
        return subprocess.Popen([sys.executable, "-c", code], cwd=root, env=environment)

    def clear(self) -> None:
        """Delete the files of the crawl."""
        for left in self.folder.iterdir():
            if left.is_dir():
                shutil.rmtree(left)
            elif left.name != "earlier.cdxj":
                left.unlink()

    def judged(self, *, ends: bool) -> list[str]:
        """Return what is wrong now, and after another run, which is only opened unless `ends`."""
        self.crawls.judge_anew(ends=False)
        wrong = self.crawls.report.wrong
        try:
            if not wrong and not ends:
                self._reopen()
            if not wrong:
                self.crawls.judge_anew(ends=ends)
                wrong += chain(self._wrong_pages(), _wrong_indexes(self.folder / "warcs"))
                wrong += self._wrong_search() if ends else ()
        except Exception as error:  # a finding, whatever it is
            wrong.append(f"{type(error).__name__}: {error}")
        found = list(wrong)
        wrong.clear()
        return found

    def _reopen(self) -> None:
        """Open and close the store as a crawl does that has nothing to do."""
        warcs = f"town:200kB={self.folder / 'warcs'}"
        with closing(StoreWriter.open(self.store)) as store, closing(connect(self.store)) as reader:
            recorder_of(store, reader).close()
            open_keeping(store, Storing(keep="pages", warc=warcs), nobody_listens).close()

    def lost_commits(self) -> Iterator[str]:
        """Yield a line if the store holds neither the last commit that was done nor a later one."""
        done = self.crawls.commits.with_suffix(DONE)
        lines = done.read_text().splitlines() if done.exists() else []
        if not lines:
            return
        length, last = json.loads(lines[-1])
        later = self.crawls.commits.read_bytes()[length:].decode().splitlines()
        with reading(self.store) as connection:
            now = amounts(connection)
        if now not in [Amounts(*last), *(Amounts(*json.loads(line)) for line in later)]:
            yield f"the store holds {now}, after a commit of {last}"

    def _wrong_pages(self) -> Iterator[str]:
        with snapshot(self.store) as seen, kept_pages(seen) as archive:
            for page, state in enumerate(seen.states):
                url = seen.url(page)
                if State(int(state)) is not State.FETCHED:
                    continue
                rows = archive.versions(url)
                if not rows:
                    yield f"{url} counts as read, and is not in the archive"
                for row in rows:
                    sent = self._server.town.answer(urlsplit(url).path)
                    is_coded = "content-encoding" in sent.headers
                    body = gzip.decompress(sent.body) if is_coded else sent.body
                    if archive.answer(row.place).body != body:
                        yield f"{url} is not in the archive as it was sent"

    def _wrong_search(self) -> Iterator[str]:
        bring_up_to_date(self.store)
        entries = self._entries()
        bring_up_to_date(self.store, fresh=True)
        if entries != (anew := self._entries()):
            yield f"the search index has {entries[0]} pages instead of {anew[0]}, or other texts"

    def _entries(self) -> list[object]:
        index = SearchIndex(search_folder(self.store) / FOLDER)
        with snapshot(self.store) as seen, closing(index):
            return [len(index), *(index.entry(page) for page in range(len(seen)))]


def _wrong_indexes(warcs: Path) -> Iterator[str]:
    """Yield the complete WARC files whose index is missing, or lists other records."""
    for file in warcs.glob("*.warc.gz") if warcs.is_dir() else ():
        index = file.with_name(file.name.replace(".warc.gz", ".cdxj"))
        found = set[tuple[str, int]]()
        with file.open("rb") as stream:
            records = ArchiveIterator(stream)
            for record in records:
                is_page = record.http_headers and record.http_headers.get_statuscode() != "304"
                if record.rec_type in ("response", "revisit") and is_page:
                    url = record.rec_headers.get_header("WARC-Target-URI")
                    found.add((url, records.get_record_offset()))
                record.content_stream().read()
        if not index.exists():
            yield f"{file.name} is complete and has no index"
            continue
        lines = [json.loads(line.split(" ", 2)[2]) for line in index.read_text().splitlines()]
        listed = {(line["url"], int(line["offset"])) for line in lines}
        if listed != found or len(lines) != len(found):
            yield f"{index.name} has {len(lines)} lines for {len(found)} records"
