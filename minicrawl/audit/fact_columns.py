"""Facts of all pages as columns, in a temporary file: an audit reads one column at a time.

The facts of a page are about 80 bytes, and a check is about one number of each page:

    stored     facts of page 0, facts of page 1, ...
    here       title of page 0, title of page 1, ...; h1 of page 0, h1 of page 1, ...

References stay in memory, as most pages have few.
"""

import os
import weakref
from tempfile import TemporaryFile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minicrawl.audit.noted_facts import REFERENCE, REFERENCE_KINDS, UrlKeys
from minicrawl.audit.page_facts import LAYOUT
from minicrawl.report.snapshot import Snapshot
from minicrawl.store.derived.facts import facts_in_blocks

NO_TARGET, UNKNOWN = -1, -2
_HEADS = ("canonical", "next", "prev")
_OFFSETS: dict[str, int] = {name: field[1] for name, field in (LAYOUT.fields or {}).items()}


class FactColumns:
    """Numbers of all pages by name, and the targets of their references."""

    def __init__(self, snapshot: Snapshot, keys: UrlKeys) -> None:
        self._size = len(snapshot)
        self.has = np.zeros(self._size, np.bool_)
        """Pages with facts; the others have 0 in all columns."""
        self.heads = dict[str, NDArray[np.int32]]()
        """Targets of head elements by name."""
        self.with_session = np.zeros(self._size, np.bool_)
        """Pages that a link with a session id leads to."""
        versions = [np.empty((2, 0), np.int32)]
        with TemporaryFile() as file:
            self._file = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._file)
        os.truncate(self._file, LAYOUT.itemsize * self._size)
        for rows in facts_in_blocks(snapshot.path, snapshot.connection):
            pages = np.array([row.page for row in rows], np.int32)
            self.has[pages] = True
            first = int(pages[0])
            block = np.zeros(int(pages[-1]) - first + 1, LAYOUT)
            block[pages - first] = np.frombuffer(b"".join(row.numbers for row in rows), LAYOUT)
            for name in LAYOUT.names or ():
                os.pwrite(self._file, block[name].tobytes(), self._place(name, first))
            givers = np.repeat(pages, [len(row.refs) // REFERENCE.itemsize for row in rows])
            references = np.frombuffer(b"".join(row.refs for row in rows), REFERENCE)
            targets = keys.pages(references["key"])
            targets[targets < 0] = UNKNOWN
            for kind, name in enumerate(REFERENCE_KINDS):
                is_it = references["kind"] == kind
                if name == "session":
                    self.with_session[targets[is_it & (targets >= 0)]] = True
                elif name not in _HEADS:
                    versions.append(np.array((givers[is_it], targets[is_it]), np.int32))
                elif is_it.any():
                    column = self.heads.setdefault(name, np.full(self._size, NO_TARGET, np.int32))
                    column[givers[is_it]] = targets[is_it]
        self.alternates = np.concatenate(versions, axis=1)
        """Pages, and the language version that each names, or `UNKNOWN`."""

    def number(self, name: str) -> NDArray[Any]:
        kind = LAYOUT[name]
        return np.frombuffer(
            os.pread(self._file, kind.itemsize * self._size, self._place(name, 0)), kind
        )

    def _place(self, name: str, page: int) -> int:
        """Return where the number of a page lies in the file."""
        return _OFFSETS[name] * self._size + LAYOUT[name].itemsize * page
