"""Hosts that misbehave: of all that they answer every third is a fault of the catalogue.

Law: the faults of a host come in turn, so that each is met again and again, and good answers in
between keep the host from being given up. Their pages are few, and always the same.
"""

from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from typing import Final

from tests.fetch.wire import Answer, Wire, answer, serving
from tests.hostile.faults import CATALOGUE
from tests.hostile.thread import beside

DOMAIN: Final = "hostile.example"
PAGES: Final = 10  # of a host
FAULT_EVERY: Final = 3
_NO_ROBOTS: Final = answer(status="404 Not Found")


def faults() -> list[Answer]:
    """Those that need neither a port, nor a name, nor a certificate of their own."""
    plain = [
        fault
        for fault in CATALOGUE.values()
        if fault.scene == "wire" and not (fault.tls or fault.names)
    ]
    return [fault.answers()[0] for fault in plain]


class Host(Wire):
    """Behind good answers a fault, and then the next one."""

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
    """So many of them, by name."""
    hosts = {f"host{number}.{DOMAIN}": Host(answers) for number in range(count)}

    async def open_all(leaving: AsyncExitStack) -> None:
        for host in hosts.values():
            await leaving.enter_async_context(serving(host))

    with beside(open_all):
        yield hosts
