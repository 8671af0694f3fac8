"""The connection to the servers, and the engine made of all parts.

Laws: nothing is sent to a server that does not encrypt, if encryption is required. A broken
connection is restored automatically, to any server. A permanent failure, such as a
wrong password, is reported in one line that says what to do. A file that cannot be used is refused
before any server is asked, and no line contains a secret.
"""

import asyncio
import json
import ssl
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from random import SystemRandom
from typing import Any
from urllib.parse import unquote, urlsplit

import nkeys
from nats.aio.client import Client
from nats.aio.transport import TcpTransport
from nats.errors import AuthorizationError, Error

from minicrawl.cluster.access import ClusterAccess, cancelled, without_password
from minicrawl.cluster.engine import EngineError, EngineUnavailable
from minicrawl.cluster.nats.broadcasts import NatsBroadcasts
from minicrawl.cluster.nats.jetstream import JetStreamClient
from minicrawl.cluster.nats.keys import NatsKeys
from minicrawl.cluster.nats.logs import NatsLogs
from minicrawl.cluster.nats.streams import Streams
from minicrawl.cluster.records import STATE_KEY, StateRecord
from minicrawl.cluster.server_versions import ServerFacts, Version, as_text, as_version, refusal
from minicrawl.errors import UsageError


class NotEncrypted(Error):
    """The server does not encrypt, though encryption is required."""


class EncryptedClient(Client):
    """Client that leaves a server without encryption before it sends credentials.

    nats-py alone encrypts only if the server asks for it, and otherwise sends passwords in clear
    text: an attacker between us and the server could remove the server's request for encryption,
    and read them.
    """

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        assert self._current_server is not None
        scheme = self._current_server.uri.scheme
        # The connection is encrypted now, or will be before anything else is sent.
        is_encrypted = scheme == "wss" or (scheme != "ws" and bool(info.get("tls_required")))
        if initial_connection and not is_encrypted:
            raise NotEncrypted
        await super()._process_info(info, initial_connection)

    async def _process_connect_init(self) -> None:
        await super()._process_connect_init()
        if isinstance(self._transport, TcpTransport) and self._transport._io_writer is not None:
            # Else asyncio warns at the end of the connection: nats-py upgrades it by hand.
            protocol: Any = self._transport._io_writer.transport.get_protocol()
            protocol._over_ssl = True


def client_for(settings: ClusterAccess) -> Client:
    """Return an unconnected client, which insists on encryption if the settings do."""
    return EncryptedClient() if settings.wants_tls else Client()


_ASK_S = 0.5
"""Time for which answers of servers about themselves are collected."""
_CONNECT_S = 5
_AGAIN_S = 0.2
"""Interval between attempts to reach a server."""
_PING_S, _PINGS = 2, 2
"""Interval of pings, and number of unanswered pings after which a server is left."""
_REFUSALS = ("authorization", "authentication")
_ALERT, _OF_OUR_CERTIFICATE = "ALERT", ("CERTIFICATE", "UNKNOWN_CA")
"""Words in TLS errors for a refusal of our certificate."""
_FORBIDDEN = "permissions violation"
_MOST_ERRORS = 10
_SEED_OF_USER = "SU"
_JWT, _SEED = "BEGIN NATS USER JWT", "BEGIN USER NKEY SEED"
_MOST_CREDS_BYTES = 1 << 20


class NatsEngine(NatsLogs, NatsKeys, NatsBroadcasts):
    def __init__(self, streams: Streams) -> None:
        super().__init__(streams)
        self.name = streams.name
        self.pages, self.snapshots = NatsLogs(streams, "pages"), NatsLogs(streams, "snapshots")

    async def server_facts(self) -> list[ServerFacts]:
        """Ask all servers, which answer only the user of the system account."""
        client, servers = self._jetstream.client, list[ServerFacts]()
        answers = await client.subscribe(inbox := client.new_inbox())
        # Other users get an empty answer or none.
        with suppress(Error, TimeoutError, ValueError, KeyError, TypeError):
            await client.publish("$SYS.REQ.SERVER.PING.VARZ", reply=inbox)
            while True:
                answer = json.loads((await answers.next_msg(_ASK_S)).data)
                config = answer["data"]["jetstream"].get("config", {})
                server, syncs = answer["server"], bool(config.get("sync_always"))
                version = as_text(as_version(server["ver"]))
                servers.append(ServerFacts(server["name"], version, syncs))
        with suppress(Error):
            await answers.unsubscribe()
        name = str(client._server_info.get("server_name", "?"))
        return sorted(servers) or [ServerFacts(name, as_text(_version_of(client)))]

    async def close(self) -> None:
        with suppress(Error):
            await self._jetstream.client.close()


def _version_of(client: Client) -> Version:
    version = client.connected_server_version
    return version.major, version.minor, version.patch


async def await_answer(settings: ClusterAccess) -> None:
    """Wait until JetStream answers, which needs an elected leader if there are several servers."""
    loop = asyncio.get_running_loop()
    end = loop.time() + settings.patience_s
    while True:
        try:
            jetstream = await _connected(settings)
            try:
                await jetstream.api("STREAM.NAMES")
            finally:
                await jetstream.client.close()
        except EngineUnavailable:
            if loop.time() > end:
                raise
        else:
            return


async def connect(settings: ClusterAccess, *, makes: bool = True) -> NatsEngine:
    """Connect, and return the engine of the crawl, or of the one that goes on in its place.

    Shared streams that do not exist are created. With `makes` false nothing is created, and a crawl
    that does not exist is refused.
    """
    jetstream = await _connected(settings)
    try:
        if why := refusal(_version_of(jetstream.client)):
            raise EngineError(f"{settings.shown}: {why}")
        while True:
            streams = Streams(jetstream, settings)
            if makes:
                await streams.open_common()
            elif await jetstream.api_if_found(f"STREAM.INFO.{streams.keys}") is None:
                raise EngineError(
                    f"no crawl named {settings.name} exists on this cluster: "
                    "minicrawl crawl SEEDS --cluster URL"
                )
            engine = NatsEngine(streams)
            state = StateRecord.of(await engine.get(STATE_KEY))
            if state is None or not state.continued_as:
                return engine
            settings = replace(settings, name=state.continued_as)
    except BaseException:
        await jetstream.client.close()
        raise


async def _connected(settings: ClusterAccess) -> JetStreamClient:
    """Connect to a server that accepts us, within a time limit. Raises EngineError."""
    jetstream = JetStreamClient(client := client_for(settings), settings)
    errors, is_refused = list[Exception](), asyncio.Event()

    async def note(error: Exception) -> None:
        text = str(error)
        if _FORBIDDEN in text.lower():
            jetstream.denied = text.removeprefix("nats: ")
        del errors[:-_MOST_ERRORS]
        errors.append(error)
        is_unsafe = isinstance(error, (ssl.SSLCertVerificationError, NotEncrypted))
        if _is_refusal(error) or is_unsafe or _wants_certificate(error):
            is_refused.set()

    async def repeat_requests() -> None:
        jetstream.disconnected()

    servers = [without_password(url) for url in settings.urls]
    SystemRandom().shuffle(servers)
    reaching = client.connect(
        servers=servers,
        dont_randomize=True,  # so that a client that leaves a server reaches another one
        name="minicrawl",
        connect_timeout=_CONNECT_S,
        reconnect_time_wait=_AGAIN_S,  # type: ignore[arg-type]  # any number of seconds will do
        max_reconnect_attempts=-1,
        ping_interval=_PING_S,
        max_outstanding_pings=_PINGS,
        error_cb=note,
        disconnected_cb=repeat_requests,
        **authentication(settings),
        **encryption(settings),
    )
    tasks = [asyncio.create_task(reaching), asyncio.create_task(is_refused.wait())]
    seconds = min(_CONNECT_S, settings.patience_s)
    await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    await cancelled(tasks)
    results = await asyncio.gather(*tasks, return_exceptions=True)
    errors += [result for result in results if isinstance(result, Exception)]
    if not client.is_connected:
        with suppress(Error):
            await client.close()
        raise _connection_error(errors, settings)
    return jetstream


def authentication(settings: ClusterAccess) -> dict[str, Any]:
    """Return the options of nats-py for user, password, token or credentials.

    User and password are taken out of the URL: servers discovered later have URLs without them.
    """
    options: dict[str, Any] = {}
    for url in settings.urls:
        parts = urlsplit(url)
        if parts.username and parts.password:
            options |= {"user": unquote(parts.username), "password": unquote(parts.password)}
        elif parts.username:
            options["token"] = unquote(parts.username)
    if (creds := settings.creds) is None:
        return options
    # The file is checked here because nats-py loops for ever on one without a JWT.
    try:
        with creds.open(encoding="ascii") as file:
            lines = [line.strip() for line in file.read(_MOST_CREDS_BYTES).splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"NATS_CREDS={creds} cannot be read: {error}") from error
    first = next(filter(None, lines), "")
    is_plain = first.startswith(_SEED_OF_USER)
    after = {mark: text for line, text in pairwise(lines) for mark in (_JWT, _SEED) if mark in line}
    seed = first if is_plain else after.get(_SEED)
    if not seed or not (is_plain or after.get(_JWT)):
        raise UsageError(
            f"NATS_CREDS={creds} has no credentials: it needs the JWT and the seed of a user, "
            "as nsc writes them, or a seed alone"
        )
    try:
        nkeys.from_seed(bytearray(seed.encode())).wipe()
    except (nkeys.NkeysError, ValueError):
        raise UsageError(f"NATS_CREDS={creds}: the seed of its user is damaged") from None
    return options | {"nkeys_seed" if is_plain else "user_credentials": str(creds)}


def encryption(settings: ClusterAccess) -> dict[str, Any]:
    """Return the options of nats-py for TLS; empty if encryption is not required."""
    if settings.key is not None and settings.cert is None:
        raise UsageError(f"NATS_KEY={settings.key} needs its NATS_CERT")
    if not settings.wants_tls:
        return {}
    try:
        context = ssl.create_default_context(cafile=settings.ca)
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"the certificates in {settings.ca} cannot be read: {error}") from error
    if settings.cert is not None:
        try:
            context.load_cert_chain(settings.cert, settings.key, lambda: "")  # nobody can be asked
        except (OSError, ssl.SSLError) as error:
            raise UsageError(
                f"NATS_CERT={settings.cert} and its key cannot be used: {error}"
            ) from error
    return {"tls": context}


def _is_refusal(error: Exception) -> bool:
    text = str(error).lower()
    return isinstance(error, AuthorizationError) or any(word in text for word in _REFUSALS)


def _wants_certificate(error: Exception) -> bool:
    """Return whether the server refuses our certificate, or the lack of one."""
    reason = error.reason or "" if isinstance(error, ssl.SSLError) else ""
    return _ALERT in reason and any(word in reason for word in _OF_OUR_CERTIFICATE)


def _connection_error(errors: list[Exception], settings: ClusterAccess) -> EngineError:
    """Return an error with the reason why no server accepts us, and advice."""
    if any(map(_is_refusal, errors)):
        return EngineError(
            f"{settings.shown} refuses these credentials: name their file in "
            "NATS_CREDS, or give nats://USER:PASSWORD@HOST"
        )
    if any(map(_wants_certificate, errors)):
        return EngineError(
            f"{settings.shown} wants a certificate that it trusts: name its file in NATS_CERT, and "
            "the file of its key in NATS_KEY if that is another one"
        )
    if any(isinstance(error, NotEncrypted) for error in errors):
        return EngineError(
            f"{settings.shown} does not encrypt, so nothing was sent: give it certificates "
            "(tls { cert_file, key_file }); or leave out tls://, NATS_CA and NATS_CERT, and say "
            "--insecure HOST if it is another machine"
        )
    for error in errors:
        if isinstance(error, ssl.SSLError):
            return EngineError(
                f"{settings.shown}: TLS fails ({error.reason}): name the file of the "
                "certificates to trust in NATS_CA"
            )
    why = str(errors[-1]) if errors else "no answer"
    return EngineUnavailable(
        f"{settings.shown} cannot be reached ({why}): start nats-server -js there, "
        "or give another URL"
    )
