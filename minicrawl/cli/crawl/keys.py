"""Keys that the user presses while a crawl runs.

Laws: the terminal is as it was after any end, and while the crawl is suspended. Only echo and the
waiting for whole lines are turned off, so Ctrl-C and Ctrl-Z do what they always do. A crawl in the
background, or whose stdin is no terminal, hears no keys and leaves the terminal alone.
"""

import asyncio
import os
import signal
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from minicrawl.cli.crawl.live import DisplayState

if TYPE_CHECKING:
    from minicrawl.cli.crawl.session import RunOptions
    from minicrawl.report.live.sampling_process import SamplingProcess

Hear = Callable[[str], None]
_AT_ONCE = 64


class Keyboard:
    """The keys of a terminal, which belongs to others as well."""

    def __init__(self, hear: Hear, fd: int) -> None:
        self._hear, self._fd = hear, fd
        self._former: list[int | list[bytes | int]] | None = None

    def open(self) -> None:
        """Hear each key as it is pressed, if the terminal is ours now."""
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
        """Leave the terminal as it was. Signals may call it."""
        former, self._former = self._former, None
        if former is not None and _is_in_the_foreground(self._fd):
            with suppress(termios.error):
                termios.tcsetattr(self._fd, termios.TCSADRAIN, former)

    def close(self) -> None:
        """Hear no more keys."""
        asyncio.get_running_loop().remove_reader(self._fd)
        self.restore()

    def suspend(self) -> None:
        """Ctrl-Z: stop with the terminal as it was, and hear keys again when the crawl goes on."""
        self.close()
        asyncio.get_running_loop().remove_signal_handler(signal.SIGTSTP)
        os.kill(os.getpid(), signal.SIGTSTP)
        asyncio.get_running_loop().call_soon(self.resume)

    def resume(self) -> None:
        """The crawl goes on, in the foreground or not."""
        asyncio.get_running_loop().add_signal_handler(signal.SIGTSTP, self.suspend)
        self.open()

    def _read(self) -> None:
        try:
            pressed = os.read(self._fd, _AT_ONCE)
        except OSError:
            pressed = b""
        if not pressed:  # the terminal has gone
            self.close()
        for key in pressed.decode("ascii", "ignore"):
            self._hear(key)


@contextmanager
def keys_heard(hear: Hear) -> Iterator[Callable[[], None]]:
    """Hear keys while it lasts. Gives what restores the terminal before a signal kills us."""
    if not may_hear_keys():
        yield lambda: None
        return
    keyboard = Keyboard(hear, sys.stdin.fileno())
    loop = asyncio.get_running_loop()
    keyboard.resume()
    loop.add_signal_handler(signal.SIGCONT, keyboard.open)
    try:
        yield keyboard.restore
    finally:
        loop.remove_signal_handler(signal.SIGCONT)
        loop.remove_signal_handler(signal.SIGTSTP)
        keyboard.close()


def may_hear_keys() -> bool:
    """Whether there is a terminal to press keys at."""
    with suppress(AttributeError, ValueError, OSError):  # stdin may be closed, or none
        return sys.stdin.isatty() and sys.stderr.isatty()
    return False


def _is_in_the_foreground(fd: int) -> bool:
    """To change the terminal from the background would stop the crawl."""
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return False


# ---------------------------------------------------------------- what keys do


class GraphKey:
    """The figures of the graph in the display. A process takes them while somebody looks."""

    def __init__(self, state: DisplayState, options: "RunOptions", store: Path) -> None:
        self._state, self._store = state, store
        self._graph_of, self._stays = options.graph_of, options.graph_stats
        self._process = ExitStack()
        self._sampling: SamplingProcess | None = None

    def hear(self, key: str) -> None:
        """A key was pressed."""
        if key not in "gG":
            return
        if self._state.latest_sample is None:
            self.show()
        else:
            self.hide()
        self.hint()

    def hint(self) -> None:
        """Tell the user of the key."""
        shows = self._state.latest_sample is not None
        self._state.hint = f"g {'hides' if shows else 'shows'} the graph"

    def show(self) -> None:
        """Show the figures, and have them taken."""
        if self._sampling is None:
            from minicrawl.report.live.sampling_process import sampling_beside

            beside = sampling_beside(self._store, self._graph_of)
            self._sampling = self._process.enter_context(beside)
        self._state.latest_sample = self._sampling.read

    def hide(self) -> None:
        """Show them no longer; --graph-stats goes on taking them."""
        self._state.latest_sample = None
        if not self._stays:
            self.close()

    def finish(self, tell: Callable[[], None]) -> None:
        """The crawl is over: what --graph-stats has taken ends with how it is now. `tell` is called
        if that takes a while, and an interrupt goes without.
        """
        if self._stays and self._sampling is not None:
            with suppress(KeyboardInterrupt):
                self._sampling.finish(tell)

    def close(self) -> None:
        """Take no more of them."""
        self._process.close()
        self._sampling = None
