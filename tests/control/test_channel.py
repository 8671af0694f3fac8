"""The control socket beside a store: who may connect, what it survives, when it is removed."""

import json
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from minicrawl.control import LONGEST_LINE, ControlRequest, Reply, Verb, as_line, ask, socket_path
from minicrawl.crawl.steering.control_socket import MOST_CONNECTIONS, listening
from minicrawl.errors import NoCrawlError, StoreError, UsageError
from tests.processes import PATIENCE_S

SHOW = ControlRequest(verb=Verb.SHOW)


async def echo(request: ControlRequest) -> Reply:
    """Return the verb of the request; refuse to add URLs."""
    if request.verb is Verb.ADD:
        raise UsageError("not now")
    return {"asked": request.verb}


@contextmanager
def crawl_of(store: Path) -> Iterator[list[str]]:
    """Listen beside the store, in a thread, as its crawl does; give the warnings of the crawl."""
    warnings: list[str] = []
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(listening(store, echo, warnings.append)),
    ):
        yield warnings


@pytest.fixture
def crawled(path: Path) -> Iterator[Path]:
    """Give a store whose crawl listens until the end of the test."""
    with crawl_of(path):
        yield path


@pytest.mark.parametrize(
    "folder", ["a", "x" * 150, "x" * 90 + "/" + "y" * 120], ids=["short", "long", "very long"]
)
@pytest.mark.parametrize("name", ["crawl.db", "n" * 200 + ".db"], ids=["usual", "long name"])
def test_a_request_has_its_reply_wherever_the_store_is(
    tmp_path: Path, folder: str, name: str
) -> None:
    store = tmp_path / folder / name
    store.parent.mkdir(parents=True)
    with crawl_of(store) as warnings:
        assert ask(store, SHOW) == {"asked": "show"}
        mode = socket_path(store).stat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600
    assert warnings == []
    assert not socket_path(store).exists()


def test_a_client_reads_why_the_crawl_refuses_its_request(crawled: Path) -> None:
    with pytest.raises(StoreError, match="not now"):
        ask(crawled, ControlRequest(verb=Verb.ADD, urls=("a.example",)))


@pytest.mark.parametrize("name", ["crawl.db", "no folder/crawl.db"])
def test_without_a_crawl_the_error_names_the_store(tmp_path: Path, name: str) -> None:
    with pytest.raises(NoCrawlError, match=name):
        ask(tmp_path / name, SHOW)


def test_a_socket_of_a_killed_crawl_is_replaced(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(socket_path(path)))
    with pytest.raises(NoCrawlError):
        ask(path, SHOW)
    with crawl_of(path):
        assert ask(path, SHOW) == {"asked": "show"}


def test_a_regular_file_at_the_path_is_kept_and_the_crawl_goes_on(path: Path) -> None:
    socket_path(path).write_text("mine", encoding="utf-8")
    with crawl_of(path) as warnings:
        (warning,) = warnings
        assert str(socket_path(path)) in warning
    assert socket_path(path).read_text(encoding="utf-8") == "mine"


def test_the_socket_of_another_crawl_is_not_removed(path: Path) -> None:
    with crawl_of(path):
        socket_path(path).unlink()
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(socket_path(path)))
    assert socket_path(path).exists()


def test_a_client_that_stays_connected_does_not_hold_up_the_end_of_the_crawl(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_S)
        with crawl_of(path):
            connection.connect(str(socket_path(path)))
            connection.sendall(SHOW.as_line())
            connection.recv(LONGEST_LINE)  # the reply shows that the crawl has accepted it
        assert connection.recv(1) == b""


def test_an_endless_line_closes_its_own_connection_only(crawled: Path) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_S)
        connection.connect(str(socket_path(crawled)))
        with suppress(OSError):  # the crawl may close the connection before it has read all
            connection.sendall(b"x" * (4 * LONGEST_LINE))
        with suppress(ConnectionError):
            assert connection.recv(1) == b""
    assert ask(crawled, SHOW) == {"asked": "show"}


def test_a_client_refused_before_its_request_reads_why(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = socket.socket.connect
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(socket_path(path)))
        server.listen()

        def connect_and_be_refused(one: socket.socket, address: str) -> None:
            connect(one, address)
            connection, _ = server.accept()
            with connection:
                connection.sendall(as_line({"error": "too many connections"}))

        monkeypatch.setattr(socket.socket, "connect", connect_and_be_refused)
        with pytest.raises(StoreError, match="too many"):
            ask(path, SHOW)


def test_a_client_beyond_the_limit_of_connections_reads_why(crawled: Path) -> None:
    with ExitStack() as held:
        for number in range(MOST_CONNECTIONS):
            one = held.enter_context(socket.socket(socket.AF_UNIX))
            one.settimeout(PATIENCE_S)
            one.connect(str(socket_path(crawled)))
            one.sendall(SHOW.as_line())  # the reply shows that the crawl has accepted it
            assert json.loads(one.makefile("rb").readline()) == {"asked": "show"}, number
        with pytest.raises(StoreError, match="too many"):
            ask(crawled, SHOW)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may connect to every socket")
def test_the_error_says_that_the_socket_is_of_another_user(crawled: Path) -> None:
    socket_path(crawled).chmod(0)
    with pytest.raises(StoreError, match="another user"):
        ask(crawled, SHOW)
