"""Requests to JetStream, repeated until they are answered.

Laws: a request is repeated only if nobody answered it, or while servers elect a leader. So it may
be done twice: a caller must tolerate that, or find out whether the first one was done. If a server
answers nothing for longer than an election takes, the client leaves it: it may be cut off from the
others without knowing.
"""

import asyncio
import base64
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from nats.aio.client import Client
from nats.errors import Error, NoRespondersError

from minicrawl.cluster.access import ClusterAccess
from minicrawl.cluster.engine import EngineError, EngineFull, EngineUnavailable

API = "$JS.API."
_ANSWER_S = 2.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.5
_SILENT_S = 10.0
"""Time of silence before a server is left. During an election, which may take as long, no other
server could answer either."""

_NOT_FOUND = 404
WRONG_SEQUENCE = {10071, 10164}
"""Error codes of a message after another one than its sender knew, the second since 2.11."""
_TRANSIENT = {10118, 10119}
"""Error codes that pass: a stream or consumer is offline, since a server was lost."""
COPIES_NEED_CLUSTER, TOO_FEW_SERVERS = 10074, 10005

_FULL = {
    10002: "the account has no room: raise the limits of its JetStream",
    10023: "the servers have no room: raise max_file_store, or add a disk",
    10028: "the servers have no memory left: raise max_memory_store",
    10047: "the servers have no room: raise max_file_store, or add a disk",
    10077: "the log is full: wait for the next snapshot, or raise the stream's max_bytes",
}
_REFUSED = {
    10039: "JetStream is off for this account: enable it",
    10076: "JetStream is off: start nats-server with -js",
}
_UNAVAILABLE = 503


class JetStreamRefusal(EngineError):
    """JetStream answered with an error that the caller may expect."""

    def __init__(self, code: int, error_code: int, text: str) -> None:
        super().__init__(text)
        self.code, self.error_code = code, error_code


class StoredMessage(NamedTuple):
    subject: str
    number: int
    headers: bytes
    content: bytes


class JetStreamClient:
    def __init__(self, client: Client, settings: ClusterAccess) -> None:
        self.client = client
        self.denied: str | None = None
        """Last permission that the servers denied us, or None."""
        self._shown, self._patience_s = settings.shown, settings.patience_s
        self._bucket = settings.bucket
        self._waits = set[asyncio.Timeout]()
        self._silent_since: float | None = None

    def disconnected(self) -> None:
        """Repeat all pending requests now: the lost connection will bring no answers."""
        self._silent_since = None
        for wait in self._waits:
            if not wait.expired():  # its task may not have run since
                wait.reschedule(0)

    async def api(self, subject: str, request: Any = None) -> dict[str, Any]:
        """Send a request to JetStream and return the answer. Raises JetStreamRefusal."""
        content = b"" if request is None else json.dumps(request).encode()
        return await self._patiently(API + subject, content)

    async def api_if_found(self, subject: str, request: Any = None) -> dict[str, Any] | None:
        """Send a request, and return the answer, or None if its object does not exist."""
        try:
            return await self.api(subject, request)
        except JetStreamRefusal as refusal:
            if refusal.code != _NOT_FOUND:
                raise
            return None

    async def message(self, stream: str, query: dict[str, Any]) -> StoredMessage | None:
        """Return a message from the leader of the stream, or None."""
        answer = await self.api_if_found(f"STREAM.MSG.GET.{stream}", query)
        if answer is None:
            return None
        stored = answer["message"]
        headers, content = (base64.b64decode(stored.get(name, "")) for name in ("hdrs", "data"))
        return StoredMessage(stored["subject"], int(stored["seq"]), headers, content)

    async def store(
        self,
        subject: str,
        content: bytes,
        headers: Mapping[str, str] | None = None,
    ) -> int:
        """Publish to a stream, and return the confirmed number. Raises JetStreamRefusal."""
        return int((await self._patiently(subject, content, headers))["seq"])

    async def _patiently(
        self, subject: str, content: bytes, headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Repeat a request until it is answered, or patience ends."""
        loop = asyncio.get_running_loop()
        end, pause_s = loop.time() + self._patience_s, _FIRST_PAUSE_S
        task = asyncio.current_task()
        assert task is not None, "a coroutine runs in a task"
        before = task.cancelling()
        while True:
            asked_at = loop.time()
            try:
                async with asyncio.timeout(_ANSWER_S) as wait:
                    self._waits.add(wait)
                    try:
                        answer = await self._request(subject, content, headers)
                    finally:
                        self._waits.remove(wait)
                self._silent_since = None
                # nats-py uses `wait_for`, which may swallow a cancellation
                if task.cancelling() > before:
                    raise asyncio.CancelledError
                return answer
            except (TimeoutError, Error, _Later, OSError) as error:
                if self.client.is_closed or loop.time() + pause_s > end:
                    raise self._unanswered(error, subject) from error
            if self.client.is_connected and len(self.client.servers) > 1:
                self._silent_since = since = self._silent_since or asked_at
                if loop.time() - since >= _SILENT_S:
                    self._silent_since = None
                    await self.client.force_reconnect()
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _request(
        self, subject: str, content: bytes, headers: Mapping[str, str] | None
    ) -> dict[str, Any]:
        message = await self.client.request(
            subject, content, timeout=2 * _ANSWER_S, headers=dict(headers) if headers else None
        )
        answer: dict[str, Any] = json.loads(message.data)
        if (error := answer.get("error")) is None:
            return answer
        code, text = int(error.get("code", 0)), str(error.get("description", ""))
        error_code = int(error.get("err_code", 0))
        if advice := _FULL.get(error_code):
            raise EngineFull(f"{self._shown}: {text}; {advice}")
        if advice := _REFUSED.get(error_code):
            raise EngineError(f"{self._shown}: {text}; {advice}")
        if code == _UNAVAILABLE or error_code in _TRANSIENT:
            raise _Later(text)
        raise JetStreamRefusal(code, error_code, f"{self._shown}: {text}")

    def _unanswered(self, error: BaseException, subject: str) -> EngineError:
        if self.denied is not None:
            return EngineError(
                f"{self._shown}: {self.denied}; let this user publish and subscribe to "
                f"$JS.>, $KV.>, _INBOX.> and {self._bucket}.>"
            )
        if self.client.is_closed:
            return EngineUnavailable(f"{self._shown}: the connection is closed")
        if isinstance(error, NoRespondersError):
            why = "no server leads the stream: check that most of them run, with JetStream on"
        else:
            why = "no answer: check the servers and the network"
        return EngineUnavailable(f"{self._shown}: {why} ({str(error) or subject})")


class _Later(Exception):
    """The servers cannot do this now; a retry may succeed soon."""
