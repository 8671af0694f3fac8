"""The streams of a crawl.

Law: an existing stream keeps its configuration, even if a later version would choose another.

log      `minicrawl-NAME-log-3`: entries of shard 3
pages    `minicrawl-NAME-pages-3`: pages that shard 3 keeps, if it keeps any; snapshots alike
keys     `KV_minicrawl-NAME`: a bucket in the format of `nats kv`
"""

import asyncio
from typing import Any

from minicrawl.cluster.access import ClusterAccess
from minicrawl.cluster.engine import EngineUnavailable
from minicrawl.cluster.nats.jetstream import (
    COPIES_NEED_CLUSTER,
    TOO_FEW_SERVERS,
    JetStreamClient,
    JetStreamRefusal,
)

_COPIES = 3
_ONE_COPY = 1
_MEET_S = 3.0
"""Time that servers that have just started may need to meet."""
_RETRY_S = 0.2


class Streams:
    """Names of a crawl's streams, and their creation. Logs are created on first use."""

    def __init__(self, jetstream: JetStreamClient, settings: ClusterAccess) -> None:
        self.jetstream, self._settings = jetstream, settings
        self.name, self.bucket = settings.name, settings.bucket
        self.keys = f"KV_{self.bucket}"
        self._made = set[str]()

    def log_subject(self, shard: int, kind: str) -> str:
        return f"{self.bucket}.{kind}.{shard}"

    def key_subject(self, key: str) -> str:
        """Return the subject of a key, or a wildcard if it ends with `>`."""
        return f"$KV.{self.bucket}.{key}"

    def broadcast_subject(self, topic: str) -> str:
        """Return the subject of a broadcast, or a wildcard if it ends with `>`.

        No stream stores this subject.
        """
        return f"{self.bucket}.broadcast.{topic}"

    async def open_common(self) -> None:
        """Create the stream that all shards share."""
        await self._make(
            self.keys,
            [self.key_subject(">")],
            allow_rollup_hdrs=True,
            max_msgs_per_subject=1,
            deny_delete=True,
        )

    async def step_down(self, stream: str) -> None:
        """Make another server lead the stream, if one has it."""
        answer = await self.jetstream.api(f"STREAM.INFO.{stream}")
        if (answer.get("cluster") or {}).get("replicas"):
            await self.jetstream.api(f"STREAM.LEADER.STEPDOWN.{stream}")

    async def log(self, shard: int, kind: str) -> str:
        """Return the stream of a log, and create it unless it exists."""
        name = f"{self.bucket}-{kind}-{shard}"
        if name not in self._made:
            await self._make(name, [self.log_subject(shard, kind)])
        return name

    async def _make(self, name: str, subjects: list[str], **config: Any) -> None:
        """Create a stream with 3 copies, or 1 on a single server, unless it exists."""
        usual = {"name": name, "subjects": subjects, "discard": "new", "storage": "file"}
        copies, now = _COPIES, asyncio.get_running_loop().time
        began, is_made = now(), await self.jetstream.api_if_found(f"STREAM.INFO.{name}") is not None
        while not is_made:
            request = usual | config | {"num_replicas": copies}
            try:
                await self.jetstream.api(f"STREAM.CREATE.{name}", request)
                is_made = True
            except JetStreamRefusal as refusal:
                if refusal.error_code == COPIES_NEED_CLUSTER:
                    copies = _ONE_COPY
                    continue
                if refusal.error_code != TOO_FEW_SERVERS:
                    raise
                # The addresses at which the server says that its cluster can be reached.
                known = len(self.jetstream.client._server_info.get("connect_urls", ())) or 1
                if now() - began > (_MEET_S if known < copies else self._settings.patience_s):
                    raise EngineUnavailable(
                        f"{self._settings.shown}: fewer than {copies} servers of this cluster can "
                        "hold a copy: start more, or name a server without a cluster"
                    ) from None
                await asyncio.sleep(_RETRY_S)
        self._made.add(name)


class NatsPart:
    """Part of the engine, with a connection and the streams of one crawl."""

    def __init__(self, streams: Streams) -> None:
        self._jetstream, self._streams = streams.jetstream, streams
