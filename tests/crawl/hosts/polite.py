"""Tables of hosts for tests, which pass the time to each call."""

from typing import Any

from minicrawl.config import Politeness
from minicrawl.crawl.hosts.politeness import HostTable
from minicrawl.model import FailureKind

HOST, OTHER, THIRD = 0, 1, 2
ADDRESS = "192.0.2.1"


class Polite:
    """A table of hosts, and a list of the hosts that it resumed."""

    def __init__(self, **settings: Any) -> None:
        self.resumed_hosts: list[int] = []
        self.settings = Politeness(**settings)
        self.hosts = HostTable(self.settings, self.resumed_hosts.append)

    def resumed(self, now: float) -> list[int]:
        """Wake hosts, and return those that were resumed since the last call."""
        self.hosts.wake(now)
        resumed, self.resumed_hosts[:] = list(self.resumed_hosts), []
        return resumed

    def request(self, host: int, began: float, ended: float) -> None:
        self.hosts.begin(host, began)
        self.hosts.end(host, ended)

    def strike(self, host: int, now: float, kind: FailureKind, wait_s: float | None = None) -> None:
        self.hosts[host].strike(now, kind, wait_s, self.settings)

    def has_room_or_waits(self, host: int, now: float) -> bool:
        """Return whether the host's address has room. If not, the host waits for it."""
        if self.hosts.has_room(host, now):
            return True
        self.hosts.wait_for_room(host, now)
        return False


def at_one_address(*hosts: int, per_address: int = 1, per_host: int = 1) -> Polite:
    return paced(*hosts, address_delay_s=0, per_address=per_address, per_host=per_host)


def paced(*hosts: int, **settings: Any) -> Polite:
    polite = Polite(**{"delay_s": 0, "per_address": 8, "address_delay_s": 0.5, **settings})
    for host in hosts:
        polite.hosts[host].move_to(ADDRESS)
    return polite
