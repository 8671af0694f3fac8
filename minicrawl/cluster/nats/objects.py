"""The objects: a bucket of JetStream's object store, as `nats object` knows it.

Laws: an object is there when its description is, which comes last. What is read is checked against
the digest in the description. A file is read and written in pieces, never as a whole.

description   a message with name, size and digest of an object, and which chunks it is made of
chunk         a message with a piece of the file
"""

import base64
import json
from asyncio import to_thread
from collections.abc import AsyncIterator
from hashlib import sha256
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import Any

from minicrawl.cluster.engine import EngineError
from minicrawl.cluster.nats.asking import NOT_FOUND, JetStreamRefusal
from minicrawl.cluster.nats.parts import NatsPart

_CHUNK_BYTES = 1 << 17
_ROLLUP = "sub"


class NatsObjects(NatsPart):
    """The objects."""

    async def put_object(self, name: str, file: Path) -> None:
        """Keep a copy of the file under this name; it replaces an older one when it is complete."""
        before = await self._description(name)
        unique = token_hex(11)
        digest, size, chunks = sha256(), 0, 0
        async for piece in _pieces(file):
            number = {"Nats-Msg-Id": f"{unique}-{chunks}"}
            await self._asking.store(self._chunks(unique), piece, number, self._streams.objects)
            digest.update(piece)
            size, chunks = size + len(piece), chunks + 1
        await self._describe(
            name,
            {
                "name": name,
                "bucket": self._streams.bucket,
                "nuid": unique,
                "size": size,
                "chunks": chunks,
                "digest": _digest_text(digest.digest()),
                "options": {"max_chunk_size": _CHUNK_BYTES},
            },
        )
        if before is not None:
            await self._purge(self._chunks(before["nuid"]))

    async def get_object(self, name: str, file: Path) -> None:
        """Write the object into this file. Raises EngineError if it is absent or damaged."""
        described = await self._description(name)
        if described is None:
            raise EngineError(f"there is no object {name}")
        digest, size = sha256(), 0
        with file.open("wb") as written:
            async for piece in self._read(described):
                await to_thread(written.write, piece)
                digest.update(piece)
                size += len(piece)
        if size != described["size"] or _digest_text(digest.digest()) != described["digest"]:
            raise EngineError(f"the object {name} is damaged, or was replaced while it was read")

    async def delete_object(self, name: str) -> None:
        """Remove the object, if it is there."""
        if (described := await self._description(name)) is not None:
            await self._purge(self._subject(name))
            await self._purge(self._chunks(described["nuid"]))

    async def objects(self) -> list[str]:
        """The names of all objects."""
        subject, names = f"$O.{self._streams.bucket}.M.>", list[str]()
        number = 0
        while (found := await self._next(number + 1, subject)) is not None:
            number = int(found["seq"])
            names.append(json.loads(base64.b64decode(found["data"]))["name"])
        return sorted(names)

    async def _read(self, described: dict[str, Any]) -> AsyncIterator[bytes]:
        subject, number = self._chunks(described["nuid"]), 0
        for _ in range(described["chunks"]):
            found = await self._next(number + 1, subject)
            if found is None:
                return
            number = int(found["seq"])
            yield base64.b64decode(found["data"])

    async def _description(self, name: str) -> dict[str, Any] | None:
        found = await self._next(1, self._subject(name))
        if found is None:
            return None
        described: dict[str, Any] = json.loads(base64.b64decode(found["data"]))
        return None if described.get("deleted") else described

    async def _describe(self, name: str, description: dict[str, Any]) -> None:
        content = json.dumps(description).encode()
        await self._asking.store(self._subject(name), content, {"Nats-Rollup": _ROLLUP})

    async def _next(self, number: int, subject: str) -> dict[str, Any] | None:
        """The next message of a subject, as the leader has it."""
        request = {"seq": number, "next_by_subj": subject}
        try:
            answer = await self._asking.api(f"STREAM.MSG.GET.{self._streams.objects}", request)
        except JetStreamRefusal as refusal:
            if refusal.code != NOT_FOUND:
                raise EngineError(str(refusal)) from None
            return None
        message: dict[str, Any] = answer["message"]
        return message

    async def _purge(self, subject: str) -> None:
        await self._asking.api(f"STREAM.PURGE.{self._streams.objects}", {"filter": subject})

    def _subject(self, name: str) -> str:
        coded = base64.urlsafe_b64encode(name.encode()).decode()
        return f"$O.{self._streams.bucket}.M.{coded}"

    def _chunks(self, unique: str) -> str:
        return f"$O.{self._streams.bucket}.C.{unique}"


async def _pieces(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as source:
        for _ in count():
            piece = await to_thread(source.read, _CHUNK_BYTES)
            if not piece:
                return
            yield piece


def _digest_text(digest: bytes) -> str:
    return f"SHA-256={base64.urlsafe_b64encode(digest).decode()}"
