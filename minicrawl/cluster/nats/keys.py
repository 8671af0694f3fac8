"""Keys and beats: buckets of JetStream's key-value store.

Laws: reads are answered by the leader of the stream, so a confirmed revision is visible, except for
a moment after an election, when the new leader may lag behind. Of several changes of a key from the
same revision one is accepted. (Servers before 2.9.21 may accept two that come at the same moment,
nats-server issue 4320; then the later one counts.) A write that is known to be refused is not sent,
for the reason given in `logs`. Watching needs no state of servers that a restart would lose: a
change wakes the watcher, which then reads what is new, as it also does from time to time.

marker   message that says that the key was deleted; it has a revision like any other
"""

import asyncio
import base64
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from typing import Any

from nats.aio.msg import Msg
from nats.errors import Error

from minicrawl.cluster.engine import MOST_VALUE_BYTES, EngineError, KeyEntry, KeyTaken
from minicrawl.cluster.nats.asking import (
    NOT_FOUND,
    WRONG_SEQUENCE,
    Bucket,
    JetStreamRefusal,
    NatsPart,
)

_LOOKS_EVERY_S = 2.0
"""Interval at which a watcher reads changes, even if none was announced."""
_SETTLES_S = 0.05
"""Time from the message of a change until the servers agree on it."""
_EXPECTED, _OPERATION = "Nats-Expected-Last-Subject-Sequence", "KV-Operation"
_MARKER = f"{_OPERATION}: ".encode()
_DELETED = {_OPERATION: "DEL"}


class NatsKeys(NatsPart):
    """The keys."""

    @property
    def _bucket(self) -> Bucket:
        return self._streams.keys

    async def get(self, key: str) -> KeyEntry | None:
        """Return the key as it is now, or None."""
        found = await self._find({"last_by_subj": self._bucket.subject(key)})
        return None if found is None or found.value is None else found

    async def create(self, key: str, value: bytes) -> int:
        """Create the key and return its revision. Raises KeyTaken if it exists."""
        marker = await self._find({"last_by_subj": self._bucket.subject(key)})
        if marker is None or marker.value is None:
            return await self.update(key, value, marker.revision if marker else 0)
        raise KeyTaken(f"{key} is there")

    async def update(self, key: str, value: bytes, revision: int) -> int:
        """Change the key if it has this revision, and return the new one.

        Raises KeyTaken if the key has another revision.
        """
        try:
            return await self._store_behind(revision, key, value)
        except KeyTaken:
            found = await self._find({"last_by_subj": self._bucket.subject(key)})
            if found is None or found.value != value or found.revision <= revision:
                raise
            return found.revision  # our own change, whose answer was lost

    async def put(self, key: str, value: bytes) -> int:
        """Set the key unconditionally, and return its revision."""
        return await self._store(key, value)

    async def delete(self, key: str, revision: int | None = None) -> None:
        """Delete the key, if it has this revision. Raises KeyTaken if it has another one."""
        found = await self.get(key)
        if found is None:
            return
        try:
            if revision is None:
                await self._store(key, b"", _DELETED)
            else:
                await self._store_behind(revision, key, b"", _DELETED)
        except KeyTaken:
            if await self.get(key) is not None:  # else the answer was lost
                raise

    async def keys(self, prefix: str = "") -> list[KeyEntry]:
        """Return all keys with this prefix, sorted by name."""
        found = [entry async for entry in self._behind(0, prefix) if entry.value is not None]
        latest = {entry.key: entry for entry in found}
        return [latest[key] for key in sorted(latest)]

    async def watch(self, prefix: str = "") -> AsyncGenerator[KeyEntry | None, None]:
        """Yield keys with this prefix as they are, then None, then each change, for ever."""
        changed, seen, said = asyncio.Event(), 0, 0

        async def wake(_message: Msg) -> None:
            nonlocal said
            said += 1
            changed.set()

        now = asyncio.get_running_loop().time
        looks_at = now() + _LOOKS_EVERY_S
        changes = await self._asking.client.subscribe(self._subjects(prefix), cb=wake)
        try:
            async for entry in self._behind(seen, prefix):
                seen = entry.revision
                if entry.value is not None:
                    yield entry
            yield None
            while True:
                await _soon(changed)
                is_time = now() >= looks_at  # announcements may have been lost
                if is_time:
                    looks_at = now() + _LOOKS_EVERY_S
                most, said = None if is_time else said, 0
                async for entry in self._behind(seen, prefix, most):
                    seen = entry.revision
                    yield entry
        finally:
            with suppress(Error):  # the connection is closed
                await changes.unsubscribe()

    async def _behind(
        self, revision: int, prefix: str, most: int | None = None
    ) -> AsyncGenerator[KeyEntry, None]:
        """Yield keys and markers with later revisions, in order; all of them, or the first `most`.

        A caller that knows their number saves the request that finds no more.
        """
        subjects = self._subjects(prefix)
        while most is None or most > 0:
            found = await self._find({"seq": revision + 1, "next_by_subj": subjects})
            if found is None:
                return
            revision = found.revision
            yield found
            most = None if most is None else most - 1

    def _subjects(self, prefix: str) -> str:
        if prefix and not prefix.endswith("."):
            raise ValueError(f"the prefix {prefix!r} does not end with a dot")
        return self._bucket.subject(f"{prefix}>")

    async def _find(self, request: dict[str, Any]) -> KeyEntry | None:
        try:
            answer = await self._asking.api(f"STREAM.MSG.GET.{self._bucket.stream}", request)
        except JetStreamRefusal as refusal:
            if refusal.code != NOT_FOUND:
                raise EngineError(str(refusal)) from None
            return None
        message = answer["message"]
        is_marker = _MARKER in base64.b64decode(message.get("hdrs", ""))
        value = None if is_marker else base64.b64decode(message.get("data", ""))
        key = message["subject"].removeprefix(self._bucket.subject(""))
        return KeyEntry(key, value, int(message["seq"]))

    async def _store_behind(
        self, revision: int, key: str, value: bytes, headers: Mapping[str, str] | None = None
    ) -> int:
        """Store a change of the key from this revision, and return the new revision."""
        found = await self._find({"last_by_subj": self._bucket.subject(key)})
        known = found.revision if found else 0
        if known > revision:
            raise KeyTaken(f"{key} was changed by another node")
        return await self._store(key, value, {**(headers or {}), _EXPECTED: str(revision)})

    async def _store(self, key: str, value: bytes, headers: Mapping[str, str] | None = None) -> int:
        if len(value) > MOST_VALUE_BYTES:
            raise ValueError(f"{key}: {len(value):,} bytes are more than a value may have")
        try:
            return await self._asking.store(self._bucket.subject(key), value, headers)
        except JetStreamRefusal as refusal:
            if refusal.error_code != WRONG_SEQUENCE:
                raise EngineError(str(refusal)) from None
            raise KeyTaken(f"{key} was changed by another node") from None


class NatsBeats(NatsKeys):
    """The beats."""

    @property
    def _bucket(self) -> Bucket:
        return self._streams.beats

    async def lead_apart(self) -> None:
        """Make a server lead the beats that does not lead the keys, if there are several."""
        await self._streams.lead_apart()

    async def leave_server(self) -> None:
        """Connect to another server, if there are several.

        This server may be cut off from the others.
        """
        await self._asking.leave_server()


async def _soon(changed: asyncio.Event) -> None:
    """Wait for a change, or until the next look is due."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_LOOKS_EVERY_S):  # `wait_for` may swallow a cancellation
            await changed.wait()
        await asyncio.sleep(_SETTLES_S)
    changed.clear()
