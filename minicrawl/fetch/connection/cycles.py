"""Frees the memory of a connection when it ends, not when the garbage collector runs.

A transport of asyncio keeps bound methods of itself as attributes, so it refers to itself. Where it
does not, nothing is done.
"""

from asyncio import BaseTransport


def break_cycles(transport: BaseTransport) -> None:
    """Remove the transport's references to itself; its connection has been lost."""
    attributes = getattr(transport, "__dict__", {})
    own = [name for name, it in attributes.items() if getattr(it, "__self__", None) is transport]
    for name in own:
        del attributes[name]
