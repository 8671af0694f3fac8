"""A connection that must be encrypted.

Law: a server that does not encrypt is told nothing. nats-py encrypts where the server asks for it,
and sends passwords as they are where it does not; so whoever is between us and the server could
read them by leaving that out.
"""

from typing import Any

from nats.aio.client import Client
from nats.errors import Error

from minicrawl.cluster.nats.settings import NatsSettings


class NotEncrypted(Error):
    """The server does not encrypt, though we want that."""


class EncryptedClient(Client):
    """Leaves a server that does not encrypt, before it says who it is."""

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        assert self._current_server is not None
        scheme = self._current_server.uri.scheme
        if initial_connection and not _is_encrypted(scheme, info):
            raise NotEncrypted
        await super()._process_info(info, initial_connection)


def _is_encrypted(scheme: str, info: dict[str, Any]) -> bool:
    """Whether the connection is, or is going to be before anything else is said."""
    return scheme == "wss" or (scheme != "ws" and bool(info.get("tls_required")))


def client_for(settings: NatsSettings) -> Client:
    """A client that has no connection yet."""
    return EncryptedClient() if settings.wants_tls else Client()
