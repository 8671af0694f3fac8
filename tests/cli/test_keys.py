"""Keys of a running crawl, at a real terminal."""

import asyncio
import fcntl
import os
import pty
import re
import select
import signal
import socket
import struct
import sys
import termios
import time
from pathlib import Path

import pytest

from minicrawl.cli.crawl.keyboard import Keyboard, may_hear_keys
from tests.processes import PATIENCE_S

DEMO = ("--demo", "--demo-pages", "500", "--delay", "1")


class Terminal:
    """Terminal with a crawl in its foreground."""

    def __init__(self, store: Path, *crawl: str) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.theirs = theirs
        self.before = termios.tcgetattr(theirs)
        self._child = os.fork()
        if not self._child:
            os.login_tty(theirs)
            own = ("--contact", "a@example.org", "--store", str(store))
            command = [sys.executable, "-m", "minicrawl", "crawl", *crawl, *own]
            os.execve(sys.executable, command, {**os.environ, "TERM": "xterm"})
        self._shown = b""

    def wait_for(self, wanted: bytes) -> None:
        """Read until the wanted text appears, and drop all text up to here."""
        end = time.monotonic() + PATIENCE_S
        while re.search(wanted, self._shown) is None:
            assert time.monotonic() < end, self._shown[-2000:]
            if select.select([self._ours], [], [], 0.1)[0]:
                self._shown += os.read(self._ours, 65536)
        self._shown = b""

    def press(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def send(self, number: int) -> None:
        os.kill(self._child, number)

    @property
    def has_echo(self) -> bool:
        return bool(termios.tcgetattr(self.theirs)[3] & termios.ECHO)

    def exit_code(self) -> int:
        """Read until the crawl has ended, and return its exit code."""
        while not os.waitid(os.P_PID, self._child, os.WEXITED | os.WNOWAIT | os.WNOHANG):
            if select.select([self._ours], [], [], 0.1)[0]:
                self._shown += os.read(self._ours, 65536)
        return os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "login_tty"), reason="needs os.login_tty")
def test_g_shows_and_hides_the_graph_and_the_terminal_is_restored(path: Path) -> None:
    terminal = Terminal(path, *DEMO)
    terminal.wait_for(b"g shows the graph")
    assert not terminal.has_echo
    terminal.press(b"xg")
    terminal.wait_for(b"strong")
    terminal.press(b"g")
    terminal.wait_for(b"g shows the graph")
    terminal.press(b"\x03")
    assert terminal.exit_code() == 130
    assert termios.tcgetattr(terminal.theirs) == terminal.before


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "login_tty"), reason="needs os.login_tty")
def test_a_second_signal_restores_the_terminal(path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # so the crawl does not end by itself
        seed = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        terminal = Terminal(path, seed, "--ignore-robots")
        terminal.wait_for(b"g shows the graph")
        silent.settimeout(PATIENCE_S)
        with silent.accept()[0]:  # a request is in flight
            terminal.send(signal.SIGTERM)
            terminal.wait_for(b"stopping")
            terminal.send(signal.SIGTERM)
            assert terminal.exit_code() == 130
    assert termios.tcgetattr(terminal.theirs) == terminal.before


def test_without_a_terminal_no_keys_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not may_hear_keys()
    monkeypatch.setattr(sys, "stdin", None)
    assert not may_hear_keys()


def test_a_crawl_in_the_background_does_not_change_the_terminal() -> None:
    async def opened(fd: int) -> None:
        keyboard = Keyboard(lambda _key: None, fd)
        keyboard.open()
        keyboard.close()

    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    asyncio.run(opened(theirs))
    assert termios.tcgetattr(theirs) == before
    os.close(ours)
    os.close(theirs)
