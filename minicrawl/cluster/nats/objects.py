"""A bucket of JetStream's object store, in the format of `nats object`.

Laws: an object exists when its description does, which is written last. Reads are checked against
the digest in the description. A file is read and written in pieces, never as a whole.

description   message with name, size, digest and chunks of an object
chunk         message with a piece of the file
"""

import base64
import json
import re
from asyncio import to_thread
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from minicrawl.cluster.engine import EngineError
from minicrawl.cluster.nats.jetstream import StoredMessage
from minicrawl.cluster.nats.streams import NatsPart

_CHUNK_BYTES = 1 << 17
_UNIQUE = re.compile("[A-Za-z0-9]+")


class _Description(NamedTuple):
    """Checked description of an object; `nuid` is the last part of the subject of its chunks."""

    name: str
    nuid: str
    size: int
    chunks: int
    digest: str

    @classmethod
    def read(cls, content: bytes) -> "_Description | None":
        """Decode a description; None if the object was deleted. Raises EngineError."""
        try:
            fields = json.loads(content)
            if fields.get("deleted"):
                return None
            described = cls(*(fields[field] for field in cls._fields))
            texts, numbers = (described[0], described[1], described[4]), described[2:4]
            has_numbers = all(type(value) is int and value >= 0 for value in numbers)
            has_texts = all(isinstance(value, str) for value in texts)
            # A wildcard in place of the unique part would name the chunks of all objects.
            if has_numbers and has_texts and _UNIQUE.fullmatch(described.nuid):
                return described
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass  # refused below, as are wrong types
        raise EngineError("the description of an object is damaged, or no minicrawl made it")


class NatsObjects(NatsPart):
    async def put_object(self, name: str, file: Path) -> None:
        before = await self._description(name)
        unique = token_hex(11)
        digest, size, chunks = sha256(), 0, 0
        with file.open("rb") as source:
            while piece := await to_thread(source.read, _CHUNK_BYTES):
                number = {"Nats-Msg-Id": f"{unique}-{chunks}"}
                await self._jetstream.store(self._chunks(unique), piece, number)
                digest.update(piece)
                size, chunks = size + len(piece), chunks + 1
        description = {
            "name": name,
            "bucket": self._streams.bucket,
            "nuid": unique,
            "size": size,
            "chunks": chunks,
            "digest": _digest_text(digest.digest()),
            "options": {"max_chunk_size": _CHUNK_BYTES},
        }
        await self._describe(name, description)
        if before is not None:
            await self._purge(self._chunks(before.nuid))

    async def get_object(self, name: str, file: Path) -> None:
        described = await self._description(name)
        if described is None:
            raise EngineError(f"object {name} does not exist")
        digest, size, number = sha256(), 0, 0
        with file.open("wb") as written:
            for _ in range(described.chunks):
                chunk = await self._next(number + 1, self._chunks(described.nuid))
                if chunk is None:
                    break
                number, piece = chunk.number, chunk.content
                digest.update(piece)
                if (size := size + len(piece)) > described.size:
                    break
                await to_thread(written.write, piece)
        if size != described.size or _digest_text(digest.digest()) != described.digest:
            raise EngineError(f"the object {name} is damaged, or was replaced while it was read")

    async def delete_object(self, name: str) -> None:
        if (described := await self._description(name)) is not None:
            await self._purge(self._subject(name))
            await self._purge(self._chunks(described.nuid))

    async def objects(self) -> list[str]:
        subject, names = f"$O.{self._streams.bucket}.M.>", list[str]()
        number = 0
        while (message := await self._next(number + 1, subject)) is not None:
            number = message.number
            with suppress(EngineError):  # a damaged one, or not ours: no caller asks for it
                if (described := _Description.read(message.content)) is not None:
                    names.append(described.name)
        return sorted(names)

    async def _description(self, name: str) -> _Description | None:
        message = await self._next(1, self._subject(name))
        return None if message is None else _Description.read(message.content)

    async def _describe(self, name: str, description: dict[str, Any]) -> None:
        content = json.dumps(description).encode()
        await self._jetstream.store(self._subject(name), content, {"Nats-Rollup": "sub"})

    async def _next(self, number: int, subject: str) -> StoredMessage | None:
        query = {"seq": number, "next_by_subj": subject}
        return await self._jetstream.message(self._streams.objects, query)

    async def _purge(self, subject: str) -> None:
        await self._jetstream.api(f"STREAM.PURGE.{self._streams.objects}", {"filter": subject})

    def _subject(self, name: str) -> str:
        coded = base64.urlsafe_b64encode(name.encode()).decode()
        return f"$O.{self._streams.bucket}.M.{coded}"

    def _chunks(self, unique: str) -> str:
        return f"$O.{self._streams.bucket}.C.{unique}"


def _digest_text(digest: bytes) -> str:
    return f"SHA-256={base64.urlsafe_b64encode(digest).decode()}"
