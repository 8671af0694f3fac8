"""The socket beside a store: who may connect, what it survives, and what is left of it."""

import asyncio
import json
import os
import socket
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from minicrawl.control import LONGEST_LINE, ControlRequest, Reply, Verb, as_line, ask, socket_path
from minicrawl.crawl.steering import MOST_CONNECTIONS, listening
from minicrawl.errors import NoCrawlError, StoreError, UsageError

SHOW = ControlRequest(verb=Verb.SHOW)


async def echo(request: ControlRequest) -> Reply:
    """Say what was asked; adding is refused."""
    if request.verb is Verb.ADD:
        raise UsageError("not now")
    return {"asked": request.verb}


def while_listening(store: Path, then: Callable[[], Awaitable[None]]) -> list[str]:
    """Do something while a crawl of the store listens; answers with its warnings."""
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


def test_what_the_crawl_refuses_is_said_to_who_asked(tmp_path: Path) -> None:
    store = tmp_path / "crawl.db"

    async def talk() -> None:
        with pytest.raises(StoreError, match="not now"):
            await asked(store, ControlRequest(verb=Verb.ADD, urls=("a.example",)))

    while_listening(store, talk)


def test_without_a_crawl_one_line_says_so(tmp_path: Path) -> None:
    with pytest.raises(NoCrawlError, match=r"no crawl of .*crawl\.db is running"):
        ask(tmp_path / "crawl.db", SHOW)
    with pytest.raises(NoCrawlError, match="is running"):
        ask(tmp_path / "no folder" / "crawl.db", SHOW)


def test_a_socket_that_a_kill_left_is_replaced(tmp_path: Path) -> None:
    store = tmp_path / "crawl.db"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(socket_path(store)))
    with pytest.raises(NoCrawlError, match="is running"):
        ask(store, SHOW)

    async def talk() -> None:
        assert await asked(store) == {"asked": "show"}

    while_listening(store, talk)


def test_a_file_that_is_no_socket_is_left_alone_and_the_crawl_goes_on(tmp_path: Path) -> None:
    store = tmp_path / "crawl.db"
    socket_path(store).write_text("mine", encoding="utf-8")

    async def talk() -> None:
        pass

    (warning,) = while_listening(store, talk)
    assert "cannot be steered" in warning
    assert socket_path(store).read_text(encoding="utf-8") == "mine"


def test_a_socket_that_another_crawl_has_made_stays(tmp_path: Path) -> None:
    store = tmp_path / "crawl.db"

    async def talk() -> None:
        socket_path(store).unlink()
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(socket_path(store)))

    while_listening(store, talk)
    assert socket_path(store).exists()


def test_a_line_without_end_ends_its_connection_and_no_other(tmp_path: Path) -> None:
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


def test_who_is_refused_before_asking_reads_why(
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


def test_many_connections_are_refused_politely(tmp_path: Path) -> None:
    store = tmp_path / "crawl.db"

    def crowd() -> str:
        held = [socket.socket(socket.AF_UNIX) for _ in range(MOST_CONNECTIONS)]
        try:
            for number, one in enumerate(held):
                one.settimeout(20)
                one.connect(str(socket_path(store)))
                one.sendall(SHOW.as_line())  # so that it is known to be open
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
def test_a_socket_of_another_user_is_named_as_such(tmp_path: Path) -> None:
    store = tmp_path / "crawl.db"

    async def talk() -> None:
        socket_path(store).chmod(0)
        with pytest.raises(StoreError, match="another user"):
            await asked(store)

    while_listening(store, talk)
