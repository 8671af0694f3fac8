"""Expected errors, all subclasses of MinicrawlError.

    MinicrawlError          exit code 1: the command could not do what was asked
    ├── StoreError          a store that cannot be read or written now
    │   ├── NoRoom          its disk is full: a retry may succeed later
    │   │   ├── Unconfirmed  the servers of a cluster have not confirmed a commit
    │   │   └── Unreachable  an object store does not do what it was asked to
    │   │       └── Unnamed  one that the user has not named is not asked
    │   ├── DamagedStore    its file is not what SQLite wrote
    │   └── NoCrawlError    no crawl of the store is running that could be controlled
    ├── Interrupted         exit code 130: interrupted by the user
    ├── UsageError          exit code 2: the user gave an invalid value
    │   ├── MissingStoreError  no store at a path, or one that a crawl is creating
    │   └── GraphFileError  a graph file that is absent, unreadable or has a bad line
    ├── Damaged             a record of an archive that is not what was written
    ├── NoText              a text of a page, which could not be made
    ├── FormError           values that a form in the browser cannot have
    ├── EngineError         the engine that joins the shards of a crawl refuses a call
    │   ├── EngineUnavailable  no response: a retry may succeed
    │   │   └── EngineFull  the engine has no room: a retry may succeed later
    │   ├── Fenced          another node has the shard now
    │   ├── KeyTaken        another writer changed the key first
    │   └── JetStreamRefusal  the NATS servers answer with an error
    └── RecordError         a value in a cluster that no node of this version writes

    The last two kinds are defined in `cluster`.

The command line shows the message as one line, so it has everything: the cause, the value and its
place, and the remedy if that is not obvious.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import ClassVar


class MinicrawlError(Exception):
    """Expected error; any other exception is a bug in minicrawl."""

    exit_code: ClassVar[int] = 1


class StoreError(MinicrawlError):
    """Store that cannot be read or written now; the message names it and says what is safe."""


class NoRoom(StoreError):
    """Full disk: the write was not done, and a retry may succeed later."""

    awaited = "free space"


class Unconfirmed(NoRoom):
    """Commit that the servers of a cluster have not confirmed; a retry may succeed later."""

    awaited = "confirmation by the servers"


class Unreachable(NoRoom):
    """Object store that does not do what it was asked to; a retry may succeed later."""

    awaited = "the object store"


class Unnamed(Unreachable):
    """Object store that the user has not named on this machine."""


class DamagedStore(StoreError):
    """Damaged file of a store; a retry fails again."""


class NoCrawlError(StoreError):
    """No crawl of the store is running that could be controlled."""


class Interrupted(MinicrawlError):
    """Interrupted by the user; the message says how to resume."""

    exit_code: ClassVar[int] = 130


class UsageError(MinicrawlError):
    """Invalid value from the user; the message names the value and its place."""

    exit_code: ClassVar[int] = 2


class MissingStoreError(UsageError):
    """No store at this path, or one that a crawl is creating."""


class GraphFileError(UsageError):
    """Unusable graph file; the message names the file and, if there is one, the line."""


class Damaged(MinicrawlError):
    """Damaged record; the message names it and the problem."""


class NoText(MinicrawlError):
    """Text of a page that could not be made, for example not within its deadline."""


class FormError(MinicrawlError):
    """Invalid fields of a form: the problem of each, by name."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        super().__init__("; ".join(fields.values()))
        self.fields = dict(fields)


@contextmanager
def needs(extra: str, task: str) -> Iterator[None]:
    """Import packages of an extra. If one is missing, the UsageError names the extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "minicrawl":
            raise
        raise UsageError(f"{task} needs {package}: install minicrawl[{extra}]") from error
