"""Content of a body: in memory, or spooled to a temporary file.

Laws: spooled content takes no memory. A full disk is not the server's fault.
"""

from contextlib import suppress
from typing import IO

_MOST_SLICES = 1000


class Content:
    """Bytes of one body, decoded or as sent. `held` is the number of bytes in memory."""

    def __init__(self) -> None:
        self.length = self.held = 0
        self.spooled: IO[bytes] | None = None
        self.is_disk_full = False
        self._slices: list[bytes] = []
        self._earlier = bytearray()  # joined slices; a million small objects would take much memory

    def add(self, piece: bytes) -> None:
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
        content = b"".join(self._slices)
        return bytes(self._earlier) + content if self._earlier else content

    def take(self, most: int) -> bytes:
        """Return the bytes in memory, at most `most`, and release them."""
        content = self.joined()
        self._slices.clear()
        self._earlier.clear()
        return content[:most]

    def spool(self) -> bool:
        """Move the content to a temporary file. Return False if none can be created."""
        from tempfile import TemporaryFile  # deferred: few bodies are that long

        with suppress(OSError):
            self.spooled = TemporaryFile()  # noqa: SIM115  # the reader closes it
            self._write(self.spooled, self.take(self.held))
            self.held = 0
        return self.spooled is not None

    def end(self, most: int) -> IO[bytes] | None:
        """Return the file, cut to `most` bytes and rewound, or None if the content is in memory."""
        if self.spooled is not None:
            with suppress(OSError):
                self.spooled.truncate(min(most, self.spooled.tell()))
            self.spooled.seek(0)
        return self.spooled

    def drop(self) -> None:
        if self.spooled is not None:
            self.spooled.close()

    def _write(self, file: IO[bytes], piece: bytes) -> None:
        try:
            file.write(piece)
        except OSError:
            self.is_disk_full = True
