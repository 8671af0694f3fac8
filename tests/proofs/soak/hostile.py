"""Hostile hosts: every third response is a fault of the catalogue.

Law: a host sends the faults in turn, so that the crawl meets each again and again. The good
responses between them keep the crawl from giving up the host. A host has few pages, which never
change.
"""

from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from typing import Final

from tests.fetch.wire import Answer, Wire, answer, serving
from tests.proofs.hostile.faults import CATALOGUE
from tests.proofs.hostile.thread import beside

DOMAIN: Final = "hostile.example"
PAGES: Final = 10  # of a host
FAULT_EVERY: Final = 3
_NO_ROBOTS: Final = answer(status="404 Not Found")


def faults() -> list[Answer]:
    """Return a response for each fault that needs no port, name or certificate of its own."""
    return [
        fault.answers()[0]
        for fault in CATALOGUE.values()
        if fault.scene == "wire" and not (fault.tls or fault.names)
    ]


class Host(Wire):
    """Host whose faults come in turn, each after two good responses."""

    def next(self) -> Answer:
        turn, place = divmod(len(self.asked) - 1, FAULT_EVERY)
        if place == FAULT_EVERY - 1:
            return self.answers[turn % len(self.answers)]
        return _good_answer(self.asked[-1].split(b" ", 2)[1])


def _good_answer(path: bytes) -> Answer:
    if path == b"/robots.txt":
        return _NO_ROBOTS
    links = b"".join(b'<a href="/%d">%d</a>' % (number, number) for number in range(PAGES))
    return answer(b"<title>" + path + b"</title>" + links)


@contextmanager
def hostile(count: int, answers: Sequence[Answer]) -> Iterator[dict[str, Host]]:
    """Run `count` hostile hosts; yield them by name."""
    hosts = {f"host{number}.{DOMAIN}": Host(answers) for number in range(count)}

    async def open_all(leaving: AsyncExitStack) -> None:
        for host in hosts.values():
            await leaving.enter_async_context(serving(host))

    with beside(open_all):
        yield hosts
