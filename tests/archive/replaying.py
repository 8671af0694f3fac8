"""pywb, which replays web archives as browsers see them.

Its requirements conflict with ours, so it needs an environment of its own. PYWB_PROGRAMS is the
folder with `wayback` and `wb-manager`; without it, the PATH is searched.
"""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

import pytest

_PATIENCE_S = 60.0
_OPENER = build_opener(ProxyHandler({}))
COLLECTION = "pages"


def program_of_pywb(name: str) -> str:
    """Return the path of a program, or skip the test."""
    found = shutil.which(name, path=os.environ.get("PYWB_PROGRAMS"))
    if found is None:
        pytest.skip(f"no {name}: install pywb, and set PYWB_PROGRAMS to its folder of programs")
    return found


def _manage(folder: Path, *arguments: str) -> None:
    command = [program_of_pywb("wb-manager"), *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@contextmanager
def replayed(folder: Path, archive: Path) -> Iterator[str]:
    """Replay an archive by a server that works in `folder`; yield the URL of the collection."""
    server = program_of_pywb("wayback")
    _manage(folder, "init", COLLECTION)
    unpack = ("--unpack-wacz",) if archive.suffix == ".wacz" else ()
    _manage(folder, "add", *unpack, COLLECTION, str(archive))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen(
            [server, "-b", "127.0.0.1", "-p", str(port)], cwd=folder, stdout=log, stderr=log
        ) as process,
    ):
        try:
            _wait_for(port, process, folder / "log")
            yield f"http://127.0.0.1:{port}/{COLLECTION}"
        finally:
            process.terminate()


def body(origin: str, url: str) -> bytes:
    """Return the last recorded body of a page, without additions by pywb."""
    with _OPENER.open(f"{origin}/id_/{url}") as answer:
        content: bytes = answer.read()
        return content


def _wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    began = time.monotonic()
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            assert process.poll() is None, log.read_text("utf-8", "replace")
            assert time.monotonic() - began < _PATIENCE_S, log.read_text("utf-8", "replace")
            time.sleep(0.05)
        else:
            return
