"""Disks whose power can be cut: files go back to what was synced.

Each disk is an image with ext4, mounted by a loop device. A cut shuts the file system down without
flushing data or journal, by the ioctl with which file systems are tested, and mounts the image
again, which replays the journal. Journals are committed every ten minutes, or when somebody syncs,
and the kernel writes data out when it is half a minute old. Only root may mount.
"""

import fcntl
import os
import shutil
import struct
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_SHUTDOWN = 0x8004587D
"""EXT4_IOC_SHUTDOWN."""
_FLUSH_NOTHING = struct.pack("I", 2)
_BYTES = 1 << 30
"""Size of an image, of which only the used part takes room."""
_BUSY_S = 20.0

needs_disks = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("mkfs.ext4") is None,
    reason="only root may mount disks whose power is cut, and mkfs.ext4 makes them",
)


class LoopDisk:
    """Disk of one server or node, mounted at a folder."""

    def __init__(self, image: Path, folder: Path) -> None:
        self._image, self._folder = image, folder
        with image.open("wb") as file:
            file.truncate(_BYTES)
        subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=1", image], check=True)
        folder.mkdir(parents=True)
        self._mount()

    def cut(self) -> None:
        """Lose what is not synced. Processes that use the disk must have been killed."""
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, _SHUTDOWN, _FLUSH_NOTHING)
        finally:
            os.close(folder)
        self.unmount()
        self._mount()

    def _mount(self) -> None:
        command = ("mount", "-o", "loop,commit=600", str(self._image), str(self._folder))
        subprocess.run(command, check=True)

    def unmount(self) -> None:
        """Unmount the disk, once killed processes have left it."""
        ends_at = time.monotonic() + _BUSY_S
        while subprocess.run(["umount", self._folder], check=False, capture_output=True).returncode:
            assert time.monotonic() < ends_at, f"{self._folder} is in use"
            time.sleep(0.05)


@contextmanager
def loop_disks(images: Path, folders: Iterable[Path]) -> Iterator[dict[str, LoopDisk]]:
    """Mount a disk at each folder, and give them by the names of the folders."""
    disks: dict[str, LoopDisk] = {}
    images.mkdir()
    try:
        for folder in folders:
            disks[folder.name] = LoopDisk(images / f"{folder.name}.img", folder)
        yield disks
    finally:
        for disk in disks.values():
            disk.unmount()
