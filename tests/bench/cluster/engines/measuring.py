"""Measure engines: appends by one writer and by several, changes of keys, and a kill.

An entry is 20 to 60 kB of random bytes, like the compressed log of a shard.
"""

import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import repeat
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
    """Measurements of an engine."""

    name: str
    latencies_s: list[float]
    together: float
    """Entries per second of several writers."""
    processor_ms: float
    """Processor time of all servers for an entry."""
    memory_mb: float
    change_s: float | None
    acknowledged: int
    """Entries of one writer until the kill, or until the restart if the writer survives it."""
    lost: int
    restart_s: float
    """Time from the kill until the servers answer."""


def engines(folder: Path) -> list[MeasuredEngine]:
    return [
        JetStream(folder, 1),
        JetStream(folder, 3),
        Postgres(folder, has_standby=False),
        Postgres(folder, has_standby=True),
        Redis(folder),
        Rabbit(folder),
    ]


def costs(folder: Path, entries: int) -> Iterator[EngineCost]:
    """Measure each engine that is installed."""
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
    each_ms, kill = 1000 * processor / entries, _killed(engine)
    return EngineCost(engine.name, latencies, together, each_ms, memory, change_s, *kill)


def _appended(
    client: AppendClient, contents: Iterator[tuple[int, bytes]], most: int
) -> list[float]:
    """Append entries and return the seconds of each."""
    found = []
    for _ in range(most):
        number, content = next(contents)
        began = time.perf_counter()
        client.append(number, content)
        found.append(time.perf_counter() - began)
    return found


def _together(engine: MeasuredEngine, entries: int) -> float:
    """Return the entries per second of several writers, each with a log of its own."""
    clients = [engine.client(10 + writer) for writer in range(WRITERS)]
    for writer, client in enumerate(clients):
        _appended(client, _contents(writer), 1)
    began = time.perf_counter()
    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(_rest, clients, range(WRITERS), repeat(entries)))
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
    """Append entries and kill the servers.

    Return the number of acknowledged entries, the number of lost ones, and the seconds of the
    restart.
    """
    is_killed = Event()
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(_append_until, is_killed, engine)
        time.sleep(_KILLED_AFTER_S)
        began = time.perf_counter()
        engine.kill()
        is_killed.set()
        restart_s = time.perf_counter() - began
        acknowledged = writing.result()
    again = engine.client(99)
    lost = max(0, acknowledged - again.count())
    again.close()
    return acknowledged, lost, restart_s


def _append_until(is_killed: Event, engine: MeasuredEngine) -> int:
    """Append until the servers have been killed; return the number of acknowledged entries."""
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
    yield from head(
        *("engine", "entries/s, 1 writer", "p50 ms", "p99 ms", f"entries/s, {WRITERS} writers"),
        *("processor ms an entry", "memory MB", "change of a key, ms"),
        *("acknowledged around kill -9", "of them lost", "restart, s"),
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
            f"{one.restart_s:.1f}",
        )
