"""One request, repeated until somebody answers, and errors in our words.

Laws: a request is repeated only if nobody answered it, or if servers were choosing a leader. So
whoever asks must bear that it is done twice, or find out that it was. A server at which nothing is
answered for longer than that takes is left for another one: it may be cut off from the others, and
does not know it.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error, NoRespondersError
from nats.js import api

from minicrawl.cluster.engine import EngineError, EngineFull, EngineUnavailable
from minicrawl.cluster.nats.settings import NatsSettings

T = TypeVar("T")

API = "$JS.API."
_ANSWER_S = 2.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 0.5
_HEARD_NS = 1.5e9
"""Servers tell each other once a second that they are there, and we wait longer for an answer."""
_SILENT_S = 10.0
"""Servers take as long to choose a leader; until then another server could do no more."""

NOT_FOUND = 404
WRONG_SEQUENCE = 10071
_SOON_OVER = {10005, 10118, 10119}
"""Servers that have just met, or of which one was lost: not all are known to each other yet, or a
stream or a consumer has no live server that it is known to be at.
"""
SEVERAL_NEED_CLUSTER = 10074
NOT_UNIQUE = 10100
"""Another consumer of the same subject is there."""

_FULL = {
    10002: "the account has no room: raise the limits of its JetStream",
    10023: "the servers have no room: raise max_file_store, or add a disk",
    10028: "the servers have no memory left: raise max_memory_store",
    10047: "the servers have no room: raise max_file_store, or add a disk",
    10077: "it is full: wait for the next snapshot, or start the cluster with a larger log",
}
_REFUSED = {
    10039: "JetStream is off for this account: enable it",
    10076: "JetStream is off: start nats-server with -js",
}
_UNAVAILABLE = 503


class JetStreamRefusal(EngineError):
    """JetStream answered with an error that its caller may expect."""

    def __init__(self, code: int, error_code: int, text: str) -> None:
        super().__init__(text)
        self.code, self.error_code = code, error_code


class Asking:
    """Requests over one connection."""

    def __init__(self, client: Client, settings: NatsSettings) -> None:
        self.client = client
        self.denied: str | None = None
        """What the servers said that we may not do."""
        self._shown, self._patience_s = settings.shown, settings.patience_s
        self._bucket = settings.bucket
        self._waits = set[asyncio.Timeout]()
        self._silent_since: float | None = None

    def disconnected(self) -> None:
        """Nobody will answer what was asked: ask again."""
        self._silent_since = None
        for wait in self._waits:
            if not wait.expired():  # its task may not have heard of that yet
                wait.reschedule(0)

    async def api(self, subject: str, request: Any = None) -> dict[str, Any]:
        """Ask JetStream; its answer. Raises JetStreamRefusal."""
        content = b"" if request is None else json.dumps(request).encode()
        return await self.patiently(lambda: self._asked(API + subject, content, None), subject)

    async def store(
        self,
        subject: str,
        content: bytes,
        headers: Mapping[str, str] | None = None,
        stream: str | None = None,
    ) -> int:
        """Publish into a stream, and wait until it is there; its sequence. Raises JetStreamRefusal.

        If the stream is named, nothing is sent to it again before its leader has heard of the other
        servers. What a leader has taken that they do not know stays in its files when it meets them
        again, in servers before 2.10.5: one message is the same in all, a second one is too many.
        """

        async def once() -> dict[str, Any]:
            return await self._asked(subject, content, headers)

        async def again() -> dict[str, Any]:
            if stream is not None:
                await self._check_leader(stream)
            return await once()

        answer = await self.patiently(once, subject, again)
        return int(answer["seq"])

    async def _check_leader(self, stream: str) -> None:
        """Raises _Later if the leader has not heard of most servers since we have asked it last."""
        info = await self._asked(f"{API}STREAM.INFO.{stream}", b"", None)
        others = (info.get("cluster") or {}).get("replicas") or []
        heard = sum(int(one.get("active", 0)) < _HEARD_NS for one in others)
        if 2 * (heard + 1) <= len(others) + 1:
            raise _Later(f"the leader of {stream} hears nothing of the other servers")

    async def patiently(
        self,
        once: Callable[[], Awaitable[T]],
        subject: str,
        again: Callable[[], Awaitable[T]] | None = None,
    ) -> T:
        """Do it until it is answered, or patience is at its end; `again` if it may be done now."""
        loop = asyncio.get_running_loop()
        end, pause_s = loop.time() + self._patience_s, _FIRST_PAUSE_S
        before = _cancellations()
        while True:
            asked_at = loop.time()
            try:
                answer = await self._soon(once)
                self._silent_since = None
                if _cancellations() > before:  # nats-py uses `wait_for`, which may swallow it
                    raise asyncio.CancelledError
                return answer
            except (TimeoutError, Error, _Later, OSError) as error:
                once = again or once
                if self.client.is_closed or loop.time() + pause_s > end:
                    raise self._unanswered(error, subject) from error
            await self._leave_silent_server(asked_at)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    async def _leave_silent_server(self, asked_at: float) -> None:
        """Go to another server if this one has answered nothing for long."""
        if not self._has_others:
            return
        self._silent_since = since = self._silent_since or asked_at
        if asyncio.get_running_loop().time() - since >= _SILENT_S:
            await self.leave_server()

    @property
    def _has_others(self) -> bool:
        return self.client.is_connected and len(self.client.servers) > 1

    async def leave_server(self) -> None:
        """Go to another server, if there is one."""
        if self._has_others:
            self._silent_since = None
            await self.client.force_reconnect()

    async def _soon(self, once: Callable[[], Awaitable[T]]) -> T:
        async with asyncio.timeout(_ANSWER_S) as wait:
            self._waits.add(wait)
            try:
                return await once()
            finally:
                self._waits.remove(wait)

    async def _asked(
        self, subject: str, content: bytes, headers: Mapping[str, str] | None
    ) -> dict[str, Any]:
        message = await self.client.request(
            subject, content, timeout=2 * _ANSWER_S, headers=dict(headers) if headers else None
        )
        answer: dict[str, Any] = json.loads(message.data)
        if "error" in answer:
            raise self._judged(answer["error"])
        return answer

    def _judged(self, error: dict[str, Any]) -> Exception:
        code, text = int(error.get("code", 0)), str(error.get("description", ""))
        error_code = int(error.get("err_code", 0))
        if advice := _FULL.get(error_code):
            return EngineFull(f"{self._shown}: {text}; {advice}")
        if advice := _REFUSED.get(error_code):
            return EngineError(f"{self._shown}: {text}; {advice}")
        if code == _UNAVAILABLE or error_code in _SOON_OVER:
            return _Later(text)
        return JetStreamRefusal(code, error_code, f"{self._shown}: {text}")

    def _unanswered(self, error: BaseException, subject: str) -> EngineError:
        if self.denied is not None:
            return EngineError(
                f"{self._shown}: {self.denied}; let this user publish and subscribe to "
                f"$JS.>, $KV.>, $O.>, _INBOX.> and {self._bucket}.>"
            )
        if self.client.is_closed:
            return EngineUnavailable(f"{self._shown}: the connection is closed")
        if isinstance(error, NoRespondersError):
            why = "no server leads the stream: look whether most of them run, with JetStream on"
        else:
            why = "no answer: look at the servers and the network"
        return EngineUnavailable(f"{self._shown}: {why} ({str(error) or subject})")


def _cancellations() -> int:
    """How often this task was cancelled."""
    task = asyncio.current_task()
    return task.cancelling() if task else 0


class _Later(Exception):
    """The servers say that they cannot now."""


def header(message: Msg, name: str) -> str:
    """A header of a message, or nothing."""
    return (message.headers or {}).get(name, "")


STATUS = api.Header.STATUS.value
