"""What a writer asks of a replica of its store, such as the log of a shard."""

from typing import Protocol


class StoreReplica(Protocol):
    """What has each commit of a store before it counts. It says when the log may be shortened."""

    @property
    def last(self) -> int:
        """The number of its last entry."""

    def kept(self, begin: int, end: int) -> None:
        """Called when pages were appended to the archive between two places, before the commit that
        counts them, as `committed` is.
        """

    def committed(self) -> None:
        """Called after each commit, in the thread that writes.

        NoRoom says that it is to be called again; what else it raises ends the crawl.
        """

    def wants_checkpoint(self) -> bool:
        """Whether the write-ahead log is to be moved into the file now."""

    def may_checkpoint(self) -> bool:
        """Whether it may be."""

    def checkpointed(self, *, is_complete: bool) -> None:
        """It was, if `is_complete`, and a new log begins."""

    def closing(self) -> None:
        """The store is about to be closed."""
