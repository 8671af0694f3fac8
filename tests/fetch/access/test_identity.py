"""Headers that every request carries."""

from minicrawl.config import Access, Politeness
from minicrawl.fetch.access import RequestHeaders
from minicrawl.model import Request, Want


def sent(access: Access) -> dict[bytes, bytes]:
    return dict(RequestHeaders(Politeness(), access).of(Request(url="http://a/")))


def test_a_user_agent_is_sent_as_it_is() -> None:
    assert sent(Access(user_agent="A (b) c/1"))[b"User-Agent"] == b"A (b) c/1"


def test_languages_get_falling_qualities_unless_they_have_some() -> None:
    assert sent(Access(languages="de,en,fr"))[b"Accept-Language"] == b"de,en;q=0.9,fr;q=0.8"
    assert sent(Access(languages="de,en;q=0.1"))[b"Accept-Language"] == b"de,en;q=0.1"
    many = ",".join(["a"] * 12)
    assert sent(Access(languages=many))[b"Accept-Language"].endswith(b",a;q=0.1,a;q=0.1")


def test_a_header_goes_with_every_request_unless_it_is_for_one_host() -> None:
    headers = sent(Access(headers=("X-A: b: c", "a.example=X-B: d", "Accept: text/x")))
    assert headers[b"X-A"] == b"b: c"
    assert b"X-B" not in headers
    assert headers[b"Accept"] == b"text/x"


def test_requests_share_their_headers_and_links_are_checked_whatever_their_type() -> None:
    headers = RequestHeaders(Politeness(), Access())
    page = Request(url="http://a/")
    assert headers.of(page) is headers.of(page._replace(url="http://b/"))
    assert dict(headers.of(page._replace(want=Want.HEAD)))[b"Accept"] == b"*/*"
