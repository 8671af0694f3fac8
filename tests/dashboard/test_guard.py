"""The guard of the dashboard: which Host, Origin and token a request needs."""

import re

import pytest
from starlette.datastructures import Headers

from minicrawl.dashboard.access import PINGS, TOKEN_HEADER
from tests.dashboard.asking import ACCESS

HOST = "127.0.0.1:8420"
NAMED = {TOKEN_HEADER.replace("-", "_"): ACCESS.token}


def refusal(method: str, *, path: str = "/api/page", **headers: str) -> str | None:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return ACCESS.refusal(method, path, Headers(headers=named))


def test_only_addresses_and_names_given_by_the_user_are_accepted_as_host() -> None:
    for host in ("127.0.0.1", "localhost", "[::1]", "10.1.2.3", "crawler.lan"):
        assert refusal("GET", path="/", host=f"{host}:8420") is None, host
    for host in (
        *("evil.example:8420", "127.0.0.1", "127.0.0.1:80", "", ":8420"),
        *(f"{name}.evil.example:8420" for name in ("localhost", "127.0.0.1", "crawler.lan")),
    ):
        assert "address" in str(refusal("GET", path="/", host=host)), host


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", f"https://{HOST}", "http://127.0.0.1:9999", ""]
)
def test_pages_of_other_origins_are_refused(method: str, origin: str) -> None:
    assert "other pages" in str(refusal(method, host=HOST, origin=origin, **NAMED))


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE"])
def test_every_path_but_the_page_itself_needs_the_token(method: str) -> None:
    own = f"http://{HOST}"
    for path in ("/api/page", "/events", "/nothing", "//page/", "/pages"):
        assert refusal(method, path=path, host=HOST, origin=own, **NAMED) is None
        assert "token" in str(refusal(method, path=path, host=HOST, origin=own))
        for wrong in ("", "t" * 31, "t" * 33, "u" * 32, "ü"):
            wrongly = {TOKEN_HEADER.replace("-", "_"): wrong}
            assert "token" in str(refusal(method, path=path, host=HOST, origin=own, **wrongly))


def test_a_bearer_token_as_prometheus_sends_it_opens_the_metrics_only() -> None:
    for given, is_ours in (("Bearer " + ACCESS.token, True), ("Bearer x", False), ("", False)):
        refused = refusal("GET", path="/metrics", host=HOST, authorization=given)
        assert (refused is None) == is_ours
    assert refusal("GET", host=HOST, authorization="Bearer " + ACCESS.token)
    assert refusal("POST", path="/metrics", host=HOST, authorization="Bearer " + ACCESS.token)


def test_pings_have_a_key_of_their_own_that_is_not_the_token() -> None:
    # Sites publish their keys of IndexNow.
    assert ACCESS.has_ping_key(ACCESS.ping_key)
    for wrong in (ACCESS.token, ACCESS.ping_key[:-1], "", "\ud800", None, 7, [ACCESS.ping_key]):
        assert not ACCESS.has_ping_key(wrong)
    assert not ACCESS.has_token(ACCESS.ping_key)
    assert re.fullmatch("[a-zA-Z0-9-]{8,128}", ACCESS.ping_key), "not a key of IndexNow"
    for method in ("GET", "POST"):
        assert refusal(method, path=PINGS, host=HOST) is None
        assert "other pages" in str(
            refusal(method, path=PINGS, host=HOST, origin="http://x.example")
        )
        assert "address" in str(refusal(method, path=PINGS, host="evil.example:8420"))


def test_a_form_of_another_site_is_refused_even_without_an_origin() -> None:
    assert refusal("POST", host=HOST, sec_fetch_site="same-origin", **NAMED) is None
    assert "other pages" in str(refusal("POST", host=HOST, sec_fetch_site="cross-site", **NAMED))
