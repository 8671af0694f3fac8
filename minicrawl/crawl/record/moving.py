"""Moves finished files of a crawl to an object store, while the crawl goes on.

A thread looks every few seconds for segments and WARC files that get no more records, and moves
them one after the other. If the object store fails, files stay here, the user is told once, and the
thread tries again every minute. The crawl waits for none of this, except that it ends when the
last files are moved, or when the object store has failed once more.

Law: files are moved only if the store has committed all that is in them.
"""

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread, current_thread

from minicrawl.archive.headers import write_headers
from minicrawl.archive.objects.bucket import bucket_at
from minicrawl.archive.objects.moved_file import move
from minicrawl.archive.segments import held, segment_of
from minicrawl.archive.warc.series import WarcFiles
from minicrawl.archive.writer import ArchiveWriter
from minicrawl.crawl.events import Listener, Noted, Warned
from minicrawl.errors import MinicrawlError, needs
from minicrawl.wording import counted

PAUSE_S, TROUBLE_PAUSE_S = 5.0, 60.0


def finished_files(archive: ArchiveWriter | None, warcs: WarcFiles | None) -> Iterator[Path]:
    """Yield the files here that get no more records, a CDXJ before its WARC file."""
    if archive is not None:
        segments, end = archive.reader.segments, archive.end
        for number in range(segment_of(segments.begin(end)), segment_of(end)):
            if (path := segments.path(number)).exists():
                yield path
    if warcs is not None:
        series = warcs.series
        for number in range(1, segment_of(series.end) + 1):
            if (path := series.path(number)).exists():
                index = path.with_name(f"{path.name.removesuffix('.warc.gz')}.cdxj")
                yield from (index, path) if index.exists() else (path,)


class FileMover:
    """Thread that moves finished files, from its start until it is closed."""

    def __init__(
        self,
        url: str,
        finished: Callable[[], Iterator[Path]],
        emit: Listener,
        note: Callable[[], None] = lambda: None,
    ) -> None:
        """`note` is called for what was moved, perhaps more than once."""
        with needs("objects", "--objects"):
            import obstore  # noqa: F401
        self._url, self._finished, self._emit, self._note = url, finished, emit, note
        self._loop = asyncio.get_running_loop()
        self._closed = Event()
        self._trouble: str | None = None
        """Last failure; empty after a success, None before the first request."""
        self._files = self._bytes = 0
        self._thread = Thread(target=self._run, name="objects", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread, once it has moved the file that it is at."""
        self._closed.set()

    async def finish(self) -> None:
        """Move what is left at the end of the crawl, and say what was moved."""
        moved = asyncio.Event()

        def run() -> None:
            self._thread.join()
            self._move()
            self._loop.call_soon_threadsafe(moved.set)

        if left := sum(1 for _ in self._finished()):
            self._emit(Noted(text=f"moving {counted(left, 'file')} to {self._url}"))
        # A thread of its own, which a second Ctrl-C leaves behind: a kill loses nothing.
        Thread(target=run, name="objects", daemon=True).start()
        await moved.wait()
        if self._files:
            size = f"{counted(self._files, 'file')}, {self._bytes:,} bytes"
            self._emit(Noted(text=f"moved to {self._url}: {size}"))
        if left := sum(1 for _ in self._finished()):
            stay = f"{counted(left, 'finished file stays', 'finished files stay')} here"
            self._emit(Warned(text=f"{self._trouble}; {stay}: the next run moves them"))

    def _run(self) -> None:
        shown = False
        while not self._closed.is_set():
            self._move()
            if bool(self._trouble) != shown:
                shown, text = not shown, f"{self._url} takes files again"
                if shown:
                    text = f"{self._trouble}; finished files stay here, and are moved later"
                self._loop.call_soon_threadsafe(self._emit, Warned(text=text))
            self._closed.wait(TROUBLE_PAUSE_S if shown else PAUSE_S)

    def _move(self) -> None:
        """Move finished files until there are none, or one cannot be moved."""
        try:
            if self._trouble != "":  # a wrong URL is noticed before the first file is full
                bucket_at(self._url).has("probe", "", 1)
            self._note()
            for file in self._finished():
                if self._closed.is_set() and self._thread is current_thread():
                    return
                length, stays = file.stat().st_size, file.suffix == ".cdxj"
                hold = held(file.parent)  # so that no pruning deletes it meanwhile
                try:
                    if file.suffix == ".pages":
                        move(write_headers(file), self._url)
                    move(file, self._url, stays=stays)
                finally:
                    if hold is not None:
                        os.close(hold)
                if not stays:
                    self._files, self._bytes = self._files + 1, self._bytes + length
            self._trouble = ""
        except (MinicrawlError, OSError) as error:
            self._trouble = str(error)
