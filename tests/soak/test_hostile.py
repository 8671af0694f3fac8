"""Hostile hosts keep to their turns, and let go of everything in the end."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest

from tests.soak.hostile import FAULTS, PAGES, HostileServer, hosts


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer() as server:
        yield server


def asked(server: HostileServer, path: str = "/1", host: str = "host0") -> socket.socket:
    """A connection on which something was asked."""
    address, port = server.address.split(":")
    client = socket.create_connection((address, int(port)), timeout=10)
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    return client


def said(server: HostileServer, path: str = "/1", host: str = "host0") -> bytes:
    """The beginning of what it says."""
    with closing(asked(server, path, host)) as client:
        return client.recv(4096)


def test_a_good_answer_is_a_page_that_leads_to_all_the_others(server: HostileServer) -> None:
    answer = said(server)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.count(b"<a href=") == PAGES
    assert said(server, "/robots.txt").startswith(b"HTTP/1.1 404 ")


def test_every_third_answer_of_a_host_is_a_fault_and_other_hosts_do_not_count(
    server: HostileServer,
) -> None:
    for number in range(len(FAULTS)):
        assert b"<title>host0/1</title>" in said(server)
        assert said(server, host=f"another{number}").startswith(b"HTTP/1.1 200 OK")
        assert b"<title>host0/1</title>" in said(server)
        with closing(asked(server)) as client:
            client.shutdown(socket.SHUT_WR)
            with suppress(ConnectionResetError):
                while client.recv(1 << 20):
                    pass
        assert server.faults == number + 1


def test_no_thread_is_left_behind() -> None:
    before = threading.active_count()
    with HostileServer() as server:
        for _ in range(2):
            said(server)
        hung = asked(server)
        while not server.faults:
            pass
    with closing(hung):
        assert hung.recv(1) == b""
    assert threading.active_count() == before


def test_hosts_have_names_of_their_own() -> None:
    assert hosts(2) == ["host0.hostile.example", "host1.hostile.example"]
