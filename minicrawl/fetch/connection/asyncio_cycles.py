"""Frees the memory of an asyncio transport as soon as its connection ends.

A transport keeps bound methods of itself as attributes, so it refers to itself and stays in memory
until the garbage collector runs: 256 KB with TLS. These functions break that cycle.

They need private parts of asyncio. If those are not what they were when this was written, these
functions do nothing: transports are left to the garbage collector, and all else works as before.
"""

from asyncio import BaseTransport, sslproto


def _is_familiar() -> bool:
    """Whether asyncio has the private parts that are used here."""
    try:
        of_transport = sslproto._SSLProtocolTransport.__init__.__code__.co_names
        of_protocol = sslproto.SSLProtocol.connection_made.__code__.co_names
    except AttributeError:
        return False
    return "_ssl_protocol" in of_transport and "_transport" in of_protocol


_IS_FAMILIAR = _is_familiar()


def socket_transport(transport: BaseTransport) -> BaseTransport:
    """The transport below one of TLS; without TLS the transport itself."""
    if not _IS_FAMILIAR:
        return transport
    below = getattr(getattr(transport, "_ssl_protocol", None), "_transport", None)
    return below or transport


def break_cycles(transport: BaseTransport) -> None:
    """Remove the transport's references to itself; its connection has been lost."""
    attributes = getattr(transport, "__dict__", {}) if _IS_FAMILIAR else {}
    own = [name for name, it in attributes.items() if getattr(it, "__self__", None) is transport]
    for name in own:
        del attributes[name]
