"""Headers that every request carries."""

from minicrawl import __version__
from minicrawl.config import Access, Politeness
from minicrawl.fetch.access import RequestHeaders
from minicrawl.model import Request, Want


def sent(access: Access, request: Request | None = None) -> dict[bytes, bytes]:
    politeness = Politeness(contact="mailto@b.example")
    return dict(RequestHeaders(politeness, access).of(request or Request(url="http://a/")))


def test_without_settings_the_agent_and_its_contact_are_named() -> None:
    headers = sent(Access())
    assert headers[b"User-Agent"] == f"minicrawl/{__version__} (+mailto@b.example)".encode()
    assert b"Accept-Language" not in headers


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


def test_validators_are_added_and_requests_without_share_their_headers() -> None:
    headers = RequestHeaders(Politeness(), Access())
    page = Request(url="http://a/")
    assert headers.of(page) is headers.of(page._replace(url="http://b/"))
    again = dict(headers.of(page._replace(etag='"e"', last_modified="then")))
    assert (again[b"If-None-Match"], again[b"If-Modified-Since"]) == (b'"e"', b"then")
    assert b"If-None-Match" not in dict(headers.of(page._replace(etag="a\nb")))
    assert dict(headers.of(page._replace(want=Want.HEAD)))[b"Accept"] == b"*/*"
