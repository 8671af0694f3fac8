"""Headers that every request carries."""

import pytest

from minicrawl.config import Access, Politeness
from minicrawl.fetch.access.headers import RequestHeaders
from minicrawl.model import Request, Want

HEADERS = Access(headers=("X-A: b: c", "a.example=X-B: d", "Accept: text/x"))


@pytest.mark.parametrize(
    ("access", "header", "value"),
    [
        (Access(user_agent="A (b) c/1"), b"User-Agent", b"A (b) c/1"),
        # languages get falling qualities, unless they have some
        (Access(languages="de,en,fr"), b"Accept-Language", b"de,en;q=0.9,fr;q=0.8"),
        (Access(languages="de,en;q=0.1"), b"Accept-Language", b"de,en;q=0.1"),
        (
            Access(languages=",".join("abcdefghijkl")),
            b"Accept-Language",
            b"a,b;q=0.9,c;q=0.8,d;q=0.7,e;q=0.6,f;q=0.5,g;q=0.4,h;q=0.3,i;q=0.2"
            b",j;q=0.1,k;q=0.1,l;q=0.1",
        ),
        # a header goes with every request, unless it is for one host
        (HEADERS, b"X-A", b"b: c"),
        (HEADERS, b"X-B", None),
        (HEADERS, b"Accept", b"text/x"),
    ],
)
def test_the_settings_of_access_are_headers(
    access: Access, header: bytes, value: bytes | None
) -> None:
    found = dict(RequestHeaders(Politeness(), access).of(Request(url="http://a/")))
    assert found.get(header) == value


def test_requests_share_their_headers_and_links_are_checked_whatever_their_type() -> None:
    headers = RequestHeaders(Politeness(), Access())
    page = Request(url="http://a/")
    assert headers.of(page) is headers.of(page._replace(url="http://b/"))
    assert dict(headers.of(page._replace(want=Want.HEAD)))[b"Accept"] == b"*/*"
