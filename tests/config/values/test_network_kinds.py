"""Logins in URLs: removed from a URL, and hidden in any other text."""

import pytest

from minicrawl.config.values.networks import has_login, hidden_login, without_login, without_logins


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://me:secret@docs.example/a@b", "https://docs.example/a@b"),
        ("HTTPS:\\\\me:secret@docs.example", "HTTPS:\\\\docs.example"),
        ("https:me:secret@docs.example", "https:docs.example"),
        ("https://me:se cret@docs.example", "https://docs.example"),
        ("socks5h://me:secret@localhost:1080", "socks5h://localhost:1080"),
        ("--proxy=http=http://me:secret@x:1", "--proxy=http=http://x:1"),
    ],
)
def test_a_url_loses_its_login(url: str, expected: str) -> None:
    assert has_login(url)
    assert without_login(url) == expected


@pytest.mark.parametrize(
    ("servers", "expected"),
    [
        ("nats://me:secret@a:1,tls://me:secret@b:2/news", "nats://a:1,tls://b:2/news"),
        ("nats://a:1,nats://secret@b:2", "nats://a:1,nats://b:2"),
        ("nats://a:1,me:secret@b:2", "nats://b:2"),  # a server less, but no password
        ("--cluster=tls://me:se,cret@a,tls://me:secret@b", "--cluster=tls://a,tls://b"),
        ("nats://a:1,tls://b:2/news", "nats://a:1,tls://b:2/news"),
        ("demo", "demo"),
    ],
)
def test_all_urls_of_servers_lose_their_logins(servers: str, expected: str) -> None:
    assert without_logins(servers) == expected


@pytest.mark.parametrize(
    "url",
    [
        "https://docs.example/@me",
        "https://docs.example/?mail=me@docs.example",
        "https://docs.example//me:secret@x/",
        "https://archive.example/web/https://me@docs.example/",
        "you@docs.example",
        "@proxies.txt",
    ],
)
def test_a_url_without_a_login_stays_as_it_is(url: str) -> None:
    assert not has_login(url)
    assert without_login(url) == url


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://me:secret@x:1", "http://***@x:1"),
        ("http=http://me:sec/ret@x y", "http=http://***@x y"),
        ("http://me:sec@ret@", "http://***@"),
        ("me:sec//ret@x", "***@x"),
        ("you@docs.example", "you@docs.example"),
        ("no url", "no url"),
    ],
)
def test_a_message_hides_a_login_with_any_characters(text: str, expected: str) -> None:
    assert hidden_login(text) == expected
