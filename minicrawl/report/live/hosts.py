"""The hosts of a crawl: how many of their pages were read, wait and failed."""

from typing import NamedTuple

import numpy as np

from minicrawl.model import State
from minicrawl.report.snapshot import Snapshot
from minicrawl.store import questions
from minicrawl.store.trouble import reporting_damage


class HostPages(NamedTuple):
    """A host with its pages. `until` is when a pause that it asked for ends, 0 without one."""

    id: int
    origin: str
    known: int
    read: int
    waiting: int
    failed: int
    importance: float
    until: float
    trouble: str


def busiest_hosts(snapshot: Snapshot, count: int) -> list[HostPages]:
    """The hosts with most pages that were read, then with most that are known."""
    hosts, states = snapshot.host_of, snapshot.states
    number = len(snapshot.origins)
    failures = [state for state in State if state.is_failure]
    columns = [
        np.bincount(hosts, weights=weights, minlength=number)
        for weights in (
            None,
            snapshot.was_read,
            states == State.UNREAD,
            np.isin(states, failures),
            snapshot.importance,
        )
    ]
    order = np.lexsort((-columns[0], -columns[1]))[:count].tolist()
    with reporting_damage(snapshot.path):
        pauses = questions.hosts_waiting(snapshot.connection)
    known, read, waiting, failed, importance = columns
    return [
        HostPages(
            id=host,
            origin=snapshot.origins[host],
            known=int(known[host]),
            read=int(read[host]),
            waiting=int(waiting[host]),
            failed=int(failed[host]),
            importance=float(importance[host]),
            until=pauses.get(host, (0.0, ""))[0],
            trouble=pauses.get(host, (0.0, ""))[1],
        )
        for host in order
    ]
