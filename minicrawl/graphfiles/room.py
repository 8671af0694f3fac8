"""How memory is shared out where a graph does not fit into it.

Law: what works at one time takes no more than `free` bytes together; each share is what so many
things take, copies included.
"""

from typing import Final, NamedTuple

MEGA: Final = 1_000_000
LEAST_FREE: Final = 4 * MEGA
"""With less all would be done in crumbs."""

_BLOCK, _SORTED, _TEXT, _STRETCH, _LINKS = 16, 32, 32, 64, 256  # bytes of `free` for each
_ENOUGH = 1 << 20  # larger portions are no quicker


class Room(NamedTuple):
    """What fits into memory."""

    block: int  # nodes whose scores are made together
    sorted: int  # numbers put in order together
    text: int  # bytes of a file
    stretch: int  # nodes that links come from
    links: int  # worked on together


def room_in(free: int) -> Room:
    """The shares of so many bytes."""
    return Room(
        block=free // _BLOCK,
        sorted=min(free // _SORTED, 16 * _ENOUGH),
        text=min(free // _TEXT, _ENOUGH),
        stretch=min(free // _STRETCH, _ENOUGH),
        links=min(free // _LINKS, _ENOUGH),
    )


def free_for(block: int) -> int:
    """How many bytes let so many nodes be a block."""
    return max(block * _BLOCK, LEAST_FREE)
