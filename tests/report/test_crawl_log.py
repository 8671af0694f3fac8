"""The exported crawl log has a line per request, in the format of Heritrix."""

import re
from base64 import b32encode
from collections import Counter
from hashlib import sha1

import httpx
import pytest

from minicrawl.cli import main
from tests.webs import crawl_web

HOST = "http://a.example"
_LINE = re.compile(
    r"(?P<at>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) (?P<status>[ -]*\d+) (?P<size> *(?:\d+|-)) "
    r"(?P<url>\S+) (?P<path>\S+) (?P<referrer>\S+) (?P<kind>\S+) #\d+ (?P<start>\d{17})\+\d+ "
    r"(?P<digest>\S+) (?P<source>\S+) (?P<notes>\S+)"
)
BODIES = {
    "/": "<a href=/b>b</a><a href=/no>x</a><a href=/moved>x</a><a href=/gone>x</a><img src=/i.png>",
    "/b": "<a href=/deep>deep</a><a href=/down>down</a>",
    "/deep": "end",
}


class Web:
    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self.asked[str(request.url)] += 1
        if path == "/robots.txt":
            return httpx.Response(200, text="User-agent: *\nDisallow: /no")
        if path == "/moved":
            return httpx.Response(302, headers={"location": "/deep"})
        if path == "/down":
            raise httpx.ConnectError("refused")
        if path == "/i.png":
            return httpx.Response(200, content=b"png", headers={"content-type": "image/ png"})
        if path == "/gone":
            return httpx.Response(404, html="gone")
        return httpx.Response(200, html=BODIES[path])


Logged = tuple[Web, list[dict[str, str]], bool]


@pytest.fixture(scope="module", params=["pages", "none"])
def lines(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Logged:
    """Return a web, the lines of its log, and whether its pages were kept."""
    folder, web, keeps = tmp_path_factory.mktemp("log"), Web(), request.param == "pages"
    store, log = folder / "crawl.db", folder / "crawl.log"
    crawl_web(store, web, [HOST], keep=request.param, requisites=keeps, max_tries=1)
    assert main(["export", str(log), "--store", str(store)]) == 0
    found = [_LINE.fullmatch(line) for line in log.read_text().splitlines()]
    assert all(found)
    return web, [line.groupdict() for line in found if line], keeps


@pytest.mark.slow
def test_each_request_has_a_line_in_order_of_time(lines: Logged) -> None:
    web, rows, keeps = lines
    omitted = () if keeps else (f"{HOST}/robots.txt",)
    assert Counter(row["url"] for row in rows) == web.asked - Counter(omitted)
    times = [row["at"] for row in rows]
    assert times == sorted(times)


def test_a_line_has_the_response_and_the_referrer(lines: Logged) -> None:
    _, rows, keeps = lines
    found = {row["url"].removeprefix(HOST): row for row in rows}
    statuses = {path: int(row["status"]) for path, row in found.items()}
    wanted = {"/": 200, "/gone": 404, "/moved": 302, "/down": -2}
    assert wanted.items() <= statuses.items()
    ways = {path: (row["path"], row["referrer"].removeprefix(HOST)) for path, row in found.items()}
    assert ways["/"] == ("-", "-")
    assert ways["/b"] == ("L", "/")
    assert ways["/down"] == ("LL", "/b")
    assert "connect" in found["/down"]["notes"]
    of_pages = found.keys() - {"/robots.txt", "/i.png"}
    assert {found[path]["source"] for path in of_pages} == {f"{HOST}/"}
    if keeps:
        assert ways["/robots.txt"][0] == "P"
        assert ways["/i.png"][0] == "E"
        digest = b32encode(sha1(BODIES["/b"].encode()).digest()).decode()
        assert found["/b"]["digest"] == f"sha1:{digest}"
        assert found["/b"]["kind"] == "text/html"
        assert int(found["/b"]["size"]) == len(BODIES["/b"])
