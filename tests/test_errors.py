"""Expected errors: the tree that the docstring of `minicrawl.errors` draws, and exit codes."""

import re
from collections.abc import Iterator

import minicrawl.cluster.engine
import minicrawl.cluster.nats.jetstream
import minicrawl.cluster.terms  # noqa: F401  # so that all errors are known
from minicrawl import MinicrawlError, errors


def tree(error: type[MinicrawlError]) -> Iterator[tuple[str, str]]:
    """Yield the names of errors, each with that of its base. Their order is that of imports."""
    for child in error.__subclasses__():
        yield child.__name__, error.__name__
        yield from tree(child)


def drawing() -> Iterator[tuple[str, str]]:
    bases: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if drawn := re.match(r"    ([ │├└─]*)([A-Z]\w+) {2,}", line):
            del bases[len(drawn[1]) // 4 :]
            if bases:
                yield drawn[2], bases[-1]
            bases.append(drawn[2])


def test_the_tree_of_errors_is_the_one_drawn_in_the_docstring() -> None:
    assert sorted(drawing()) == sorted(tree(MinicrawlError))
