"""The control socket beside a store: who may connect, what it survives, when it is removed."""

import asyncio
import json
import os
import socket
import stat
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from minicrawl.control import LONGEST_LINE, ControlRequest, Reply, Verb, as_line, ask, socket_path
from minicrawl.crawl.steering import MOST_CONNECTIONS, listening
from minicrawl.errors import NoCrawlError, StoreError, UsageError

SHOW = ControlRequest(verb=Verb.SHOW)


async def echo(request: ControlRequest) -> Reply:
    """Return the verb of the request; refuse to add URLs."""
    if request.verb is Verb.ADD:
        raise UsageError("not now")
    return {"asked": request.verb}


def while_listening(store: Path, then: Callable[[], Awaitable[None]]) -> list[str]:
    """Await `then` while a crawl of the store listens, and return the warnings of the crawl."""
    warnings: list[str] = []

    async def listen() -> None:
        async with asyncio.timeout(60), listening(store, echo, warnings.append):
            await then()

    asyncio.run(listen())
    return warnings


async def asked(store: Path, request: ControlRequest = SHOW) -> Reply:
    return await asyncio.to_thread(ask, store, request)


@pytest.mark.parametrize(
    "folder", ["a", "x" * 150, "x" * 90 + "/" + "y" * 120], ids=["short", "long", "very long"]
)
@pytest.mark.parametrize("name", ["crawl.db", "n" * 200 + ".db"], ids=["usual", "long name"])
def test_a_request_has_its_reply_wherever_the_store_is(
    tmp_path: Path, folder: str, name: str
) -> None:
    store = tmp_path / folder / name
    store.parent.mkdir(parents=True)

    async def talk() -> None:
        assert await asked(store) == {"asked": "show"}
        mode = socket_path(store).stat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600

    assert while_listening(store, talk) == []
    assert not socket_path(store).exists()


def test_a_client_reads_why_the_crawl_refuses_its_request(tmp_path: Path) -> None:
    store = tmp_path / "crawl.db"

    async def talk() -> None:
        with pytest.raises(StoreError, match="not now"):
            await asked(store, ControlRequest(verb=Verb.ADD, urls=("a.example",)))

    while_listening(store, talk)


@pytest.mark.parametrize("name", ["crawl.db", "no folder/crawl.db"])
def test_without_a_crawl_the_error_names_the_store(tmp_path: Path, name: str) -> None:
    with pytest.raises(NoCrawlError, match=name):
        ask(tmp_path / name, SHOW)


def test_a_socket_of_a_killed_crawl_is_replaced(tmp_path: Path) -> None:
    store = tmp_path / "crawl.db"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(socket_path(store)))
    with pytest.raises(NoCrawlError):
        ask(store, SHOW)

    async def talk() -> None:
        assert await asked(store) == {"asked": "show"}

    while_listening(store, talk)


def test_a_regular_file_at_the_path_is_kept_and_the_crawl_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "crawl.db"
    socket_path(store).write_text("mine", encoding="utf-8")

    (warning,) = while_listening(store, partial(asyncio.sleep, 0))
    assert str(socket_path(store)) in warning
    assert socket_path(store).read_text(encoding="utf-8") == "mine"


def test_the_socket_of_another_crawl_is_not_removed(tmp_path: Path) -> None:
    store = tmp_path / "crawl.db"

    async def talk() -> None:
        socket_path(store).unlink()
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(socket_path(store)))

    while_listening(store, talk)
    assert socket_path(store).exists()


def test_an_endless_line_closes_its_own_connection_only(tmp_path: Path) -> None:
    store = tmp_path / "crawl.db"

    def flood() -> bytes:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(20)
            connection.connect(str(socket_path(store)))
            try:
                connection.sendall(b"x" * (4 * LONGEST_LINE))
                return connection.recv(1)
            except OSError:
                return b""

    async def talk() -> None:
        assert await asyncio.to_thread(flood) == b""
        assert await asked(store) == {"asked": "show"}

    while_listening(store, talk)


def test_a_client_refused_before_its_request_reads_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, connect = tmp_path / "crawl.db", socket.socket.connect
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(socket_path(store)))
        server.listen()

        def connect_and_be_refused(one: socket.socket, address: str) -> None:
            connect(one, address)
            connection, _ = server.accept()
            with connection:
                connection.sendall(as_line({"error": "too many connections"}))

        monkeypatch.setattr(socket.socket, "connect", connect_and_be_refused)
        with pytest.raises(StoreError, match="too many"):
            ask(store, SHOW)


def test_a_client_beyond_the_limit_of_connections_reads_why(tmp_path: Path) -> None:
    store = tmp_path / "crawl.db"

    def crowd() -> str:
        held = [socket.socket(socket.AF_UNIX) for _ in range(MOST_CONNECTIONS)]
        try:
            for number, one in enumerate(held):
                one.settimeout(20)
                one.connect(str(socket_path(store)))
                one.sendall(SHOW.as_line())  # the reply shows that the crawl has accepted it
                assert json.loads(one.makefile("rb").readline()) == {"asked": "show"}, number
            with pytest.raises(StoreError) as refused:
                ask(store, SHOW)
            return str(refused.value)
        finally:
            for one in held:
                one.close()

    async def talk() -> None:
        assert "too many" in await asyncio.to_thread(crowd)

    while_listening(store, talk)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may connect to every socket")
def test_the_error_says_that_the_socket_is_of_another_user(tmp_path: Path) -> None:
    store = tmp_path / "crawl.db"

    async def talk() -> None:
        socket_path(store).chmod(0)
        with pytest.raises(StoreError, match="another user"):
            await asked(store)

    while_listening(store, talk)
