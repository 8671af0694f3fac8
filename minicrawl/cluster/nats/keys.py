"""Keys with revisions in a stream of JetStream."""

import asyncio
import math
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from typing import Any

from nats.aio.msg import Msg
from nats.errors import Error

from minicrawl.cluster.engine import MOST_VALUE_BYTES, KeyTaken
from minicrawl.cluster.nats.jetstream import WRONG_SEQUENCE, JetStreamRefusal
from minicrawl.cluster.nats.logs import AT_ONCE
from minicrawl.cluster.nats.streams import NatsPart
from minicrawl.cluster.records import KeyEntry

_LOOKS_EVERY_S = 2.0
"""Interval at which a watcher reads changes, even if none was announced."""
_SETTLES_S = 0.05
"""Time from the message of a change until the servers agree on it."""
_EXPECTED_REVISION, _OPERATION = "Nats-Expected-Last-Subject-Sequence", "KV-Operation"
_MARKER = f"{_OPERATION}: ".encode()


class NatsKeys(NatsPart):
    """`KeyValues` in a bucket in the format of `nats kv`."""

    async def get(self, key: str) -> KeyEntry | None:
        entry = await self._last(key)
        return None if entry is None or entry.value is None else entry

    async def update(self, key: str, value: bytes, revision: int) -> int:
        if not revision and (marker := await self._last(key)) is not None:
            if marker.value is not None:
                raise KeyTaken(f"{key} is there")
            revision = marker.revision
        try:
            return await self._store(key, value, {_EXPECTED_REVISION: str(revision)})
        except KeyTaken:
            current = await self._last(key)
            if current is None or current.value != value or current.revision <= revision:
                raise
            return current.revision  # our own change, whose answer was lost

    async def put(self, key: str, value: bytes) -> int:
        return await self._store(key, value)

    async def delete(self, key: str) -> None:
        if await self.get(key) is not None:
            await self._store(key, b"", {_OPERATION: "DEL"})

    async def keys(self, prefix: str = "") -> list[KeyEntry]:
        answer = await self._jetstream.api(
            f"STREAM.INFO.{self._streams.keys}", {"subjects_filter": self._subjects(prefix)}
        )
        subjects, entries = sorted(answer["state"].get("subjects") or ()), list[KeyEntry]()
        for begin in range(0, len(subjects), AT_ONCE):
            part = subjects[begin : begin + AT_ONCE]
            queries = (self._find({"last_by_subj": subject}) for subject in part)
            entries += filter(None, await asyncio.gather(*queries))
        return [entry for entry in entries if entry.value is not None]

    async def watch(self, prefix: str = "") -> AsyncGenerator[KeyEntry, None]:
        changed, revision, said = asyncio.Event(), 0, 0
        most: int | None = None

        async def wake(_message: Msg) -> None:
            nonlocal said
            said += 1
            changed.set()

        now = asyncio.get_running_loop().time
        looks_at = now() + _LOOKS_EVERY_S
        changes = await self._jetstream.client.subscribe(self._subjects(prefix), cb=wake)
        try:
            while True:
                async for entry in self._changes_after(revision, prefix, most):
                    revision = entry.revision
                    yield entry
                with suppress(TimeoutError):
                    # `wait_for` may swallow a cancellation
                    async with asyncio.timeout(_LOOKS_EVERY_S):
                        await changed.wait()
                    await asyncio.sleep(_SETTLES_S)
                changed.clear()
                is_time = now() >= looks_at  # announcements may have been lost
                if is_time:
                    looks_at = now() + _LOOKS_EVERY_S
                most, said = None if is_time else said, 0
        finally:
            with suppress(Error):  # the connection is closed
                await changes.unsubscribe()

    async def _changes_after(
        self, revision: int, prefix: str, most: int | None
    ) -> AsyncGenerator[KeyEntry, None]:
        """Yield keys and deletion markers with later revisions, in order, at most `most`.

        A caller that knows their number saves the request that finds no more.
        """
        subjects = self._subjects(prefix)
        left, at_once = math.inf if most is None else most, 1
        while left > 0:
            numbers = range(revision + 1, revision + 1 + int(min(at_once, left)))
            queries = (self._find({"seq": number, "next_by_subj": subjects}) for number in numbers)
            before = left
            for entry in await asyncio.gather(*queries):
                if entry is None:
                    return  # what a later request has found may have come after an unseen change
                if entry.revision > revision:
                    revision, left = entry.revision, left - 1
                    yield entry
            is_dense = before - left == len(numbers)
            at_once = min(2 * at_once, AT_ONCE) if is_dense else 1

    def _subjects(self, prefix: str) -> str:
        if prefix and not prefix.endswith("."):
            raise ValueError(f"the prefix {prefix!r} does not end with a dot")
        return self._streams.key_subject(f"{prefix}>")

    async def _last(self, key: str) -> KeyEntry | None:
        """Return the last value of a key or its deletion marker, if it ever had one."""
        return await self._find({"last_by_subj": self._streams.key_subject(key)})

    async def _find(self, query: dict[str, Any]) -> KeyEntry | None:
        message = await self._jetstream.message(self._streams.keys, query)
        if message is None:
            return None
        key = message.subject.removeprefix(self._streams.key_subject(""))
        return KeyEntry(
            key, None if _MARKER in message.headers else message.content, message.number
        )

    async def _store(self, key: str, value: bytes, headers: Mapping[str, str] | None = None) -> int:
        if len(value) > MOST_VALUE_BYTES:
            raise ValueError(f"{key}: {len(value):,} bytes are more than a value may have")
        try:
            return await self._jetstream.store(self._streams.key_subject(key), value, headers)
        except JetStreamRefusal as refusal:
            if refusal.error_code not in WRONG_SEQUENCE:
                raise
            raise KeyTaken(f"{key} was changed by another node") from None
