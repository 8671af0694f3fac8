"""What came of a body: in memory, or in a file if it is spooled.

Law: what is in a file takes no memory. A full disk is no fault of the server.
"""

from __future__ import annotations

from contextlib import suppress
from typing import IO

_MOST_SLICES = 1000


class Content:
    """The decoded bytes of one body. `held` are those in memory."""

    def __init__(self) -> None:
        self.length = self.held = 0
        self.spooled: IO[bytes] | None = None
        self.is_disk_full = False
        self._slices: list[bytes] = []
        self._earlier = bytearray()  # slices: a million small ones take much memory

    def add(self, piece: bytes) -> None:
        """More has come."""
        self.length += len(piece)
        if self.spooled is not None:
            self._write(self.spooled, piece)
            return
        self.held += len(piece)
        self._slices.append(piece)
        if len(self._slices) > _MOST_SLICES:
            self._earlier += b"".join(self._slices)
            self._slices.clear()

    def joined(self) -> bytes:
        """All of it that is in memory."""
        content = b"".join(self._slices)
        return bytes(self._earlier) + content if self._earlier else content

    def take(self, most: int) -> bytes:
        """The same, up to so many bytes; afterwards nothing of it is held here."""
        content = self.joined()
        self._slices.clear()
        self._earlier.clear()
        return content[:most]

    def spool(self) -> bool:
        """Let it be in a file from now on; whether there is one."""
        from tempfile import TemporaryFile  # few bodies are that long

        with suppress(OSError):
            self.spooled = TemporaryFile()  # noqa: SIM115  # the reader closes it
            self._write(self.spooled, self.take(self.held))
            self.held = 0
        return self.spooled is not None

    def end(self, most: int) -> IO[bytes] | None:
        """The file, to be read from its beginning, with so many bytes at most."""
        if self.spooled is not None:
            with suppress(OSError):
                self.spooled.truncate(min(most, self.spooled.tell()))
            self.spooled.seek(0)
        return self.spooled

    def drop(self) -> None:
        """Nobody will read it."""
        if self.spooled is not None:
            self.spooled.close()

    def _write(self, file: IO[bytes], piece: bytes) -> None:
        try:
            file.write(piece)
        except OSError:
            self.is_disk_full = True
