"""Keys while a crawl runs: how they are read, and the key `g`, which shows the graph.

Laws: the terminal is restored after any end, and while the crawl is suspended. Only echo and line
buffering are turned off, so Ctrl-C and Ctrl-Z work as usual. A crawl in the background, or whose
stdin is not a terminal, reads no keys and does not touch the terminal.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import termios
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from minicrawl.cli.crawl.display_state import DisplayState

if TYPE_CHECKING:
    from minicrawl.cli.crawl.session import RunOptions
    from minicrawl.report.progress.sampling_process import SamplingProcess

Hear = Callable[[str], None]
_AT_ONCE = 64


class Keyboard:
    """Keys of a terminal that is shared with other processes."""

    def __init__(self, hear: Hear, fd: int) -> None:
        self._hear, self._fd = hear, fd
        self._former: list[int | list[bytes | int]] | None = None

    def open(self) -> None:
        """Read keys as they are pressed, if the crawl is in the foreground."""
        if self._former is not None or not _is_in_the_foreground(self._fd):
            return
        with suppress(termios.error):
            former = termios.tcgetattr(self._fd)
            changed = [*former]
            changed[3] = former[3] & ~(termios.ECHO | termios.ICANON)
            changed[6] = [*former[6]]
            changed[6][termios.VMIN], changed[6][termios.VTIME] = 1, 0
            termios.tcsetattr(self._fd, termios.TCSADRAIN, changed)
            self._former = former
            asyncio.get_running_loop().add_reader(self._fd, self._read)

    def restore(self) -> None:
        """Restore the terminal. Signal handlers may call it."""
        former, self._former = self._former, None
        if former is not None and _is_in_the_foreground(self._fd):
            with suppress(termios.error):
                termios.tcsetattr(self._fd, termios.TCSADRAIN, former)

    def close(self) -> None:
        """Stop reading keys."""
        asyncio.get_running_loop().remove_reader(self._fd)
        self.restore()

    def suspend(self) -> None:
        """Handle Ctrl-Z: restore the terminal, stop, and read keys again on resume."""
        self.close()
        asyncio.get_running_loop().remove_signal_handler(signal.SIGTSTP)
        os.kill(os.getpid(), signal.SIGTSTP)
        asyncio.get_running_loop().call_soon(self.resume)

    def resume(self) -> None:
        """Read keys again after a suspension, if in the foreground."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTSTP, self.suspend)
        self.open()

    def _read(self) -> None:
        try:
            pressed = os.read(self._fd, _AT_ONCE)
        except OSError:
            pressed = b""
        if not pressed:  # the terminal was closed
            self.close()
        for key in pressed.decode("ascii", "ignore"):
            self._hear(key)


def may_hear_keys() -> bool:
    """Return whether stdin and stderr are terminals."""
    with suppress(AttributeError, ValueError, OSError):  # stdin may be closed, or none
        return sys.stdin.isatty() and sys.stderr.isatty()
    return False


def _is_in_the_foreground(fd: int) -> bool:
    """Return whether the crawl is in the foreground; else changing the terminal would stop it."""
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return False


class GraphKey:
    """Handler of the key `g`, which shows or hides figures of the graph that a process samples."""

    def __init__(self, state: DisplayState, options: RunOptions, store: Path) -> None:
        self._state, self._store = state, store
        self._graph_of, self._stays = options.graph_of, options.graph_stats
        self._process = ExitStack()
        self._sampling: SamplingProcess | None = None

    def hear(self, key: str) -> None:
        if key not in "gG":
            return
        if self._state.latest_sample is None:
            self.show()
        else:
            self._state.latest_sample = None
            if not self._stays:  # with --graph-stats, sampling continues
                self.close()
        self.hint()

    def hint(self) -> None:
        shows = self._state.latest_sample is not None
        self._state.key_hint = f"g {'hides' if shows else 'shows'} the graph"

    def show(self) -> None:
        """Show the figures, and start sampling."""
        if self._sampling is None:
            from minicrawl.report.progress.sampling_process import sampling_beside

            beside = sampling_beside(self._store, self._graph_of)
            self._sampling = self._process.enter_context(beside)
        self._state.latest_sample = self._sampling.read

    def finish(self, warn: Callable[[], None]) -> None:
        """Take a final sample for --graph-stats, with a warning if that takes a while."""
        if self._stays and self._sampling is not None:
            with suppress(KeyboardInterrupt):
                self._sampling.finish(warn)

    def close(self) -> None:
        self._process.close()
        self._sampling = None
