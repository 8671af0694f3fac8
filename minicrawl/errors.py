"""Expected errors: all of them are a MinicrawlError.

    MinicrawlError          exit code 1: something promised could not be done
    ├── StoreError          a store that cannot be read or written now
    │   ├── NoRoom          its disk is full: the same again may succeed later
    │   ├── DamagedStore    its file is not what SQLite wrote
    │   └── NoCrawlError    no crawl of it is running, so none can be steered
    ├── Interrupted         exit code 130: the user broke it off
    ├── UsageError          exit code 2: the user gave a value that cannot be used
    │   └── GraphFileError  a graph file that is absent, unreadable or has a bad line
    ├── Damaged             a record of an archive that is not what was written
    ├── FormError           values that a form in the browser cannot have
    ├── EngineError         what joins the shards of a crawl cannot do what was asked
    │   ├── EngineUnavailable  nobody answered: the same again may succeed
    │   │   └── EngineFull  it has no room: the same again may succeed later
    │   ├── Fenced          another node has the shard now
    │   ├── KeyTaken        somebody else was faster
    │   └── JetStreamRefusal  the servers of NATS answer with an error
    └── RecordError         a value of a cluster that no node of this version writes

    The last two kinds are defined in `cluster`.

The command line shows the message as one line, so the message says it all: who broke the
promise, the value and its place, and what to do where that is not plain.
"""

from collections.abc import Mapping
from typing import ClassVar


class MinicrawlError(Exception):
    """What minicrawl expects to go wrong; anything else is a mistake in its own code."""

    exit_code: ClassVar[int] = 1


class StoreError(MinicrawlError):
    """A store cannot be read or written now; the message names it and says what is safe."""


class NoRoom(StoreError):
    """The disk of a store is full: nothing was written, and the same again may succeed later."""


class DamagedStore(StoreError):
    """The file of a store is not what SQLite wrote: the same again fails again."""


class NoCrawlError(StoreError):
    """No crawl of the store is running that could be steered."""


class Interrupted(MinicrawlError):
    """The user broke it off; the message says how to go on."""

    exit_code: ClassVar[int] = 130


class UsageError(MinicrawlError):
    """The user gave a value that cannot be used; the message names the value and its place."""

    exit_code: ClassVar[int] = 2


class GraphFileError(UsageError):
    """A graph file cannot be used; the message names the file and, where there is one, the line."""


class Damaged(MinicrawlError):
    """A record is not what was written; the message says which, and what is wrong with it."""


class FormError(MinicrawlError):
    """Fields of the form are wrong: what is wrong with each, by its name."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        super().__init__("; ".join(fields.values()))
        self.fields = dict(fields)
