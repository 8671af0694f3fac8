"""Pings of IndexNow: who may send them, which are refused, and what the store keeps of them."""

import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from anyio.from_thread import start_blocking_portal

from minicrawl.control import MOST_PAGES, ControlRequest, Reply, Verb
from minicrawl.crawl.steering.control_socket import listening
from minicrawl.dashboard.access import BEGINNING, PINGS, TOKEN_HEADER
from minicrawl.dashboard.views import Views
from minicrawl.errors import StoreError
from minicrawl.store.derived.pings import kept_pings
from minicrawl.store.reader import reading
from tests.dashboard.asking import ACCESS, asked
from tests.dashboard.servers import dashboard_of
from tests.stores import GONE, A, B, C

KEY = ACCESS.ping_key


def sent(store: Path, method: str, **request: Any) -> httpx.Response:
    """Send a ping and return the response."""
    return asked(Views(store), method, PINGS, **request)


def posted(store: Path, *urls: object, **fields: object) -> httpx.Response:
    body = json.dumps({"key": KEY, "urlList": urls, **fields})
    return sent(store, "POST", content=body)


def pinged(store: Path) -> dict[int, float]:
    with reading(store) as connection:
        return kept_pings(store, connection)


def test_a_ping_of_one_url_is_kept_with_its_time(filled: Path) -> None:
    began = time.time()
    answer = sent(filled, "GET", params={"url": A, "key": KEY})
    assert (answer.status_code, answer.json()) == (200, {"noted": 1, "unknown": 0})
    ((page, at),) = pinged(filled).items()
    assert page == 0
    assert began <= at <= time.time()


def test_known_urls_are_kept_once_with_the_latest_time_and_others_are_counted(filled: Path) -> None:
    unknown = ("http://new.example/", f"{A}never-met", f"{A}\ud800", f"{A}x\0")
    assert posted(filled, A, A[:-1], f"{A}#part", B, GONE, *unknown).json() == {
        "noted": 3,
        "unknown": 4,
    }
    first = pinged(filled)
    assert len(first) == 3
    assert posted(filled, A).json() == {"noted": 1, "unknown": 0}
    second = pinged(filled)
    assert second.keys() == first.keys()
    assert second[0] > first[0]


def test_nothing_is_kept_of_a_ping_without_the_key(filled: Path) -> None:
    for key in ("", KEY[:-1], ACCESS.token, None, 7, "\ud800"):
        assert posted(filled, A, key=key).status_code == 403
    assert sent(filled, "GET", params={"url": A}).status_code == 403
    assert sent(filled, "GET", params={"url": A, "key": "x" * 32}).status_code == 403
    token = {TOKEN_HEADER: ACCESS.token}
    assert sent(filled, "GET", params={"url": A}, headers=token).status_code == 403
    assert pinged(filled) == {}


def test_a_ping_without_urls_or_with_too_many_is_refused(filled: Path) -> None:
    for body in (b"", b"[]", b"{", b"\xff", b"[" * BEGINNING):
        assert sent(filled, "POST", content=body).status_code == 400, body[:9]
    assert sent(filled, "GET", params={"key": KEY}).status_code == 400
    assert sent(filled, "GET", params={"key": KEY, "urlList": A}).status_code == 400
    assert posted(filled).status_code == 400
    assert posted(filled, A, 7).status_code == 400
    assert posted(filled, A, host=["a.example"]).status_code == 400
    assert posted(filled, *[A] * (MOST_PAGES + 1)).status_code == 400
    assert pinged(filled) == {}
    assert posted(filled, *[A] * MOST_PAGES).json() == {"noted": 1, "unknown": 0}


def test_one_url_of_another_host_or_of_none_makes_the_whole_ping_invalid(filled: Path) -> None:
    for url in ("nonsense", "", "javascript:1", "http://[::1", B):
        answer = posted(filled, A, url, host="a.example")
        assert answer.status_code == 422
        assert repr(url) in answer.json()["error"]
    for host in ("b.example", "example", "a.example.org", " ", "[::1"):
        assert posted(filled, A, host=host).status_code == 422, host
    answer = posted(filled.with_name("none.db"), A)
    assert answer.status_code == 422
    assert "no store" in answer.json()["error"]
    assert pinged(filled) == {}


def test_hosts_are_compared_without_case_and_port(filled: Path) -> None:
    for host in ("a.example", "A.example", "a.example:443"):
        assert posted(filled, A, host=host).status_code == 200, host


@pytest.mark.parametrize("code", [200, 503])
def test_a_running_crawl_is_told_of_the_known_pages_which_are_kept_in_any_case(
    filled: Path, code: int
) -> None:
    told: list[ControlRequest] = []

    async def answer(request: ControlRequest) -> Reply:
        told.append(request)
        if code == 503:
            raise StoreError("the crawl does not answer")
        return {}

    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(listening(filled, answer, print)),
    ):
        assert posted(filled, A, C, "http://new.example/").status_code == code
    (request,) = told
    assert request.verb is Verb.CHANGED
    assert len(request.pages) == 2
    assert set(request.pages) == pinged(filled).keys()


@pytest.mark.slow
def test_the_key_is_kept_beside_the_store_and_stays_the_same(filled: Path) -> None:
    note, keys = filled.with_name("crawl.db-dashboard"), set[str]()
    for _ in range(2):
        with dashboard_of(filled) as running:
            key = json.loads(note.read_text(encoding="utf-8"))["indexnow_key"]
            keys.add(key)
            ping = {"url": A, "key": key}
            answer = httpx.get(f"{running.base}indexnow", params=ping, trust_env=False, timeout=60)
            assert answer.json() == {"noted": 1, "unknown": 0}
    assert len(keys) == 1
