"""What is done with each engine: appends by one writer and by several, keys, and a kill.

An entry has 20 to 60 kB that cannot be compressed, as the compressed log of a shard has.
"""

import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from random import Random
from threading import Event
from typing import NamedTuple

import click

from tests.bench.cluster.engines.jetstream import JetStream
from tests.bench.cluster.engines.postgres import Postgres
from tests.bench.cluster.engines.rabbit import Rabbit
from tests.bench.cluster.engines.redis import Redis
from tests.bench.cluster.engines.servers import (
    Absent,
    AppendClient,
    MeasuredEngine,
    memory_mb,
    processor_s,
)
from tests.bench.notes import head, row

WRITERS = 8
_LEAST_BYTES, _MOST_BYTES = 20_000, 60_000
_WARM = 20
_CHANGES = 200
_KILLED_AFTER_S = 2.0
_ENDLESS = 1_000_000


class EngineCost(NamedTuple):
    """What was measured of one engine."""

    name: str
    latencies_s: list[float]
    together: float
    """Entries a second that several writers have appended."""
    processor_ms: float
    """Of all servers, an entry."""
    memory_mb: float
    change_s: float | None
    acknowledged: int
    """Entries of one writer, until the servers were killed, or came back if it went on."""
    lost: int
    again_s: float
    """From the kill until the servers answer."""


def engines(folder: Path) -> list[MeasuredEngine]:
    """All of them."""
    return [
        JetStream(folder, 1),
        JetStream(folder, 3),
        Postgres(folder, has_standby=False),
        Postgres(folder, has_standby=True),
        Redis(folder),
        Rabbit(folder),
    ]


def costs(folder: Path, entries: int) -> Iterator[EngineCost]:
    """Of each engine that is on this machine."""
    for engine in engines(folder):
        try:
            with engine:
                yield _cost(engine, entries)
        except Absent as absent:
            click.echo(f"{engine.name}: {absent.message}", err=True)


def _contents(seed: int) -> Iterator[tuple[int, bytes]]:
    chance = Random(seed)
    for number in range(1, _ENDLESS):
        yield number, chance.randbytes(chance.randrange(_LEAST_BYTES, _MOST_BYTES))


def _cost(engine: MeasuredEngine, entries: int) -> EngineCost:
    client, contents = engine.client(1), _contents(1)
    _appended(client, contents, _WARM)
    before = processor_s(engine.pids)
    latencies = _appended(client, contents, entries)
    processor = processor_s(engine.pids) - before
    together = _together(engine, entries)
    change_s = _change_s(client) if engine.has_keys else None
    memory = memory_mb(engine.pids)
    client.close()
    return EngineCost(
        engine.name,
        latencies,
        together,
        1000 * processor / entries,
        memory,
        change_s,
        *_killed(engine),
    )


def _appended(
    client: AppendClient, contents: Iterator[tuple[int, bytes]], most: int
) -> list[float]:
    """How long each of them took."""
    found = []
    for _ in range(most):
        number, content = next(contents)
        began = time.perf_counter()
        client.append(number, content)
        found.append(time.perf_counter() - began)
    return found


def _together(engine: MeasuredEngine, entries: int) -> float:
    """Several writers, each with a log of its own."""
    clients = [engine.client(10 + writer) for writer in range(WRITERS)]
    for writer, client in enumerate(clients):
        _appended(client, _contents(writer), 1)
    began = time.perf_counter()
    with ThreadPoolExecutor(WRITERS) as pool:
        work = [
            pool.submit(_rest, client, writer, entries) for writer, client in enumerate(clients)
        ]
        for one in work:
            one.result()
    took_s = time.perf_counter() - began
    for client in clients:
        client.close()
    return entries // WRITERS * WRITERS / took_s


def _rest(client: AppendClient, writer: int, entries: int) -> None:
    contents = _contents(writer)
    next(contents)
    _appended(client, contents, entries // WRITERS)


def _change_s(client: AppendClient) -> float:
    found = []
    for round_ in range(1, _CHANGES + 1):
        began = time.perf_counter()
        client.compare_and_set(round_)
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def _killed(engine: MeasuredEngine) -> tuple[int, int, float]:
    """Appends until the servers are killed; what was acknowledged, what is missing, and for how
    long nobody answered.
    """
    is_killed = Event()
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(_until, is_killed, engine)
        time.sleep(_KILLED_AFTER_S)
        began = time.perf_counter()
        engine.kill()
        is_killed.set()
        again_s = time.perf_counter() - began
        acknowledged = writing.result()
    again = engine.client(99)
    lost = max(0, acknowledged - again.count())
    again.close()
    return acknowledged, lost, again_s


def _until(is_killed: Event, engine: MeasuredEngine) -> int:
    """Append until the servers were killed, or behind that; how many were acknowledged."""
    client, acknowledged = engine.client(99), 0
    with suppress(Exception):  # each client has errors of its own
        for number, content in _contents(99):
            client.append(number, content)
            acknowledged = number
            if is_killed.is_set():
                break
    with suppress(Exception):
        client.close()
    return acknowledged


def costs_table(found: list[EngineCost]) -> Iterator[str]:
    """All that was measured."""
    yield from head(
        *("engine", "entries/s, 1 writer", "p50 ms", "p99 ms", f"entries/s, {WRITERS} writers"),
        *("processor ms an entry", "memory MB", "change of a key, ms"),
        *("acknowledged around kill -9", "of them lost", "answers again after, s"),
    )
    for one in found:
        ordered = sorted(one.latencies_s)
        yield row(
            one.name,
            f"{len(ordered) / sum(ordered):,.0f}",
            f"{1000 * ordered[len(ordered) // 2]:.1f}",
            f"{1000 * ordered[int(0.99 * len(ordered))]:.1f}",
            f"{one.together:,.0f}",
            f"{one.processor_ms:.2f}",
            f"{one.memory_mb:,.0f}",
            "none" if one.change_s is None else f"{1000 * one.change_s:.1f}",
            f"{one.acknowledged:,}",
            f"{one.lost:,}",
            f"{one.again_s:.1f}",
        )
