"""The streams of a crawl.

Law: a stream that is there stays as it is, whatever a later version would make.

log      `minicrawl-NAME-log-3` has what is appended for shard 3
pages    `minicrawl-NAME-pages-3` has the pages that it keeps, if it does
batches  `minicrawl-NAME-batches` has what is published and not done yet
keys     `KV_minicrawl-NAME`, a bucket as `nats kv` knows them
beats    `KV_minicrawl_beats-NAME`, another one
objects  `OBJ_minicrawl-NAME`, a bucket as `nats object` knows them
"""

import asyncio
from contextlib import suppress
from enum import StrEnum
from typing import Any, NamedTuple

from minicrawl.cluster.engine import EngineError
from minicrawl.cluster.nats.asking import (
    NOT_FOUND,
    SEVERAL_NEED_CLUSTER,
    Asking,
    JetStreamRefusal,
)
from minicrawl.cluster.nats.settings import NatsSettings

_COPIES = 3
_ONE_COPY = 1


class LogKind(StrEnum):
    """What a log has. The values are in the names of streams."""

    STORE = "log"
    PAGES = "pages"


class Bucket(NamedTuple):
    """A bucket of keys, by its name."""

    name: str

    @property
    def stream(self) -> str:
        """The stream that has it."""
        return f"KV_{self.name}"

    def subject(self, key: str) -> str:
        """The subject of a key, or of all that begin so if it ends with `>`."""
        return f"$KV.{self.name}.{key}"


class Streams:
    """Names of streams, and streams that are made when they are first used."""

    def __init__(self, asking: Asking, settings: NatsSettings) -> None:
        self.asking = asking
        self.bucket = settings.bucket
        self.keys = Bucket(self.bucket)
        self.beats = Bucket(f"minicrawl_beats-{settings.name}")
        self._settings = settings
        self._made = set[str]()

    @property
    def batches(self) -> str:
        """The stream of batches."""
        return f"{self.bucket}-batches"

    @property
    def objects(self) -> str:
        """The stream of objects."""
        return f"OBJ_{self.bucket}"

    def batch_subject(self, sender: int | str, receiver: int) -> str:
        """The subject of batches; the sender may be `*`."""
        return f"{self.bucket}.batch.{sender}.{receiver}"

    def log_subject(self, shard: int, kind: LogKind) -> str:
        """The subject of a log."""
        return f"{self.bucket}.{kind}.{shard}"

    def broadcast_subject(self, topic: str) -> str:
        """The subject of a broadcast, or of all that begin so if it ends with `>`. No stream has
        it.
        """
        return f"{self.bucket}.broadcast.{topic}"

    async def open_common(self) -> None:
        """Make those that all shards share."""
        buckets = (
            self._make(
                bucket.stream,
                [bucket.subject(">")],
                allow_rollup_hdrs=True,
                max_msgs_per_subject=1,
                deny_delete=True,
            )
            for bucket in (self.keys, self.beats)
        )
        objects = self._make(
            self.objects,
            [f"$O.{self.bucket}.{part}.>" for part in "CM"],
            allow_rollup_hdrs=True,
        )
        batches = self._make(
            self.batches,
            [self.batch_subject("*", 0).removesuffix("0") + "*"],
            retention="workqueue",
        )
        await asyncio.gather(*buckets, objects, batches)

    async def check_common(self) -> None:
        """Refuse a crawl that is not there."""
        try:
            await self.asking.api(f"STREAM.INFO.{self.batches}")
        except JetStreamRefusal as refusal:
            if refusal.code != NOT_FOUND:
                raise
            raise EngineError(
                f"there is no crawl named {self._settings.name} on this cluster: "
                "minicrawl crawl SEEDS --cluster URL"
            ) from None

    async def lead_apart(self) -> None:
        """Let one server lead the keys and another one the beats, if there are several."""
        with suppress(JetStreamRefusal):  # nobody else can lead now
            leader = await self.leader(self.keys.stream)
            if leader and leader == await self.leader(self.beats.stream):
                await self.step_down(self.beats.stream)

    async def step_down(self, stream: str) -> None:
        """Let another server lead the stream, if there is one that has it."""
        answer = await self.asking.api(f"STREAM.INFO.{stream}")
        if (answer.get("cluster") or {}).get("replicas"):
            await self.asking.api(f"STREAM.LEADER.STEPDOWN.{stream}")

    async def log(self, shard: int, kind: LogKind) -> str:
        """The stream of a log; it is there when this returns."""
        name = f"{self.bucket}-{kind}-{shard}"
        most = self._settings.log_bytes
        if name not in self._made:
            subjects = [self.log_subject(shard, kind)]
            await self._make(name, subjects, max_bytes=-1 if most is None else most)
        return name

    async def _make(self, name: str, subjects: list[str], **config: Any) -> None:
        if not await self._is_there(name):
            wanted = {
                "name": name,
                "subjects": subjects,
                "discard": "new",
                "storage": "file",
                **config,
            }
            await self._create(wanted)
        self._made.add(name)

    async def _is_there(self, name: str) -> bool:
        try:
            await self.asking.api(f"STREAM.INFO.{name}")
        except JetStreamRefusal as refusal:
            if refusal.code != NOT_FOUND:
                raise
            return False
        return True

    async def leader(self, stream: str) -> str | None:
        """The server that leads it; None if there is only one server, or nobody leads."""
        answer = await self.asking.api(f"STREAM.INFO.{stream}")
        found: str | None = (answer.get("cluster") or {}).get("leader")
        return found

    async def _create(self, config: dict[str, Any]) -> None:
        """With as many copies as there are servers for, unless the user said how many."""
        copies = self._settings.replicas or _COPIES
        try:
            await self._create_copies(config, copies)
        except JetStreamRefusal as refusal:
            if refusal.error_code != SEVERAL_NEED_CLUSTER or self._settings.replicas:
                raise
            await self._create_copies(config, _ONE_COPY)

    async def _create_copies(self, config: dict[str, Any], copies: int) -> None:
        name = config["name"]
        await self.asking.api(f"STREAM.CREATE.{name}", config | {"num_replicas": copies})
