"""The library that records the changes to a folder, or lets calls fail, as a test sees it."""

import os
import shutil
import struct
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

_SOURCE = Path(__file__).with_name("shim.c")
_STATE = struct.Struct("=QQ")


class Fault(NamedTuple):
    """Failure of the call with a number among those of its kind, or of all from it on."""

    kind: str
    number: int
    error: int
    lasts: bool


@cache
def compiled() -> Path | None:
    """Return the library, or None without a C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    library = Path(mkdtemp(prefix="minicrawl-shim-")) / "shim.so"
    command = (compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(_SOURCE), "-ldl")
    subprocess.run(command, check=True)
    return library


class WatchedFolder:
    """Folder in which the calls of some processes are recorded, or fail."""

    def __init__(self, root: Path, beside: Path) -> None:
        """`beside` is a folder for the files of the library."""
        self.root = root
        self._control, self._log = beside / "control", beside / "log"
        self._control.write_bytes(bytes(_STATE.size))
        self._log.write_bytes(b"")

    def environment(self, fault: Fault | None = None) -> dict[str, str]:
        """Return the environment of a process that is recorded, or that meets a fault."""
        found = {
            "LD_PRELOAD": str(compiled()),
            "DISK_ROOT": str(self.root),
            "DISK_CONTROL": str(self._control),
        }
        if fault is None:
            return os.environ | found | {"DISK_LOG": str(self._log)}
        words = fault.kind, fault.number, fault.error, int(fault.lasts)
        return os.environ | found | {"DISK_FAULT": " ".join(map(str, words))}

    def calls(self) -> int:
        """Return the number of calls of the fault's kind so far."""
        return int(_STATE.unpack(self._control.read_bytes())[0])

    def mend(self) -> None:
        """Let no further call fail."""
        with self._control.open("r+b") as file:
            file.seek(_STATE.size // 2)
            file.write((1).to_bytes(8, "little"))

    def log(self) -> bytes:
        """Return the recorded changes."""
        return self._log.read_bytes()
