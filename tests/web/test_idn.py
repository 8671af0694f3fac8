"""Internationalized hosts are shown in Unicode, unless they look like another host."""

import ada_url
import pytest
from hypothesis import given, strategies as st

from minicrawl.web.readable_hosts import readable, readable_host, readable_hosts


@pytest.mark.parametrize(
    "host",
    ["münchen.de", "www.bücher.example", "例え.jp", "日本語テスト.jp", "한국.kr", "пример.рф",
     "россия.example", "ελλάδα.gr", "موقع.example", "aアニメ.jp", "straße.de", "क्षेत्र.example"],
)  # fmt: skip
def test_a_host_of_one_script_is_shown(host: str) -> None:
    sent = ada_url.URL(f"http://{host}/").hostname
    assert readable_host(sent) == host


@pytest.mark.parametrize(
    "host",
    ["xn--80ak6aa92e.com",  # all Cyrillic, and it reads apple
     "xn--pypal-4ve.com",  # a Cyrillic letter among Latin ones
     "xn--ggle-0nda.com",  # two Greek letters among Latin ones
     "xn--a.example", "xn--.example", "xn--99999999999.example", "xn--zz.xn--zz"],
)  # fmt: skip
def test_a_host_that_looks_like_another_one_stays_in_punycode(host: str) -> None:
    assert readable_host(host) == host


def test_a_look_alike_is_shown_below_a_top_level_domain_of_its_script() -> None:
    sent = ada_url.URL("http://хор.рф/").hostname  # noqa: RUF001
    assert readable_host(sent) == "хор.рф"  # noqa: RUF001
    assert readable_host(f"{sent}.") == "хор.рф."  # noqa: RUF001


def test_readable_changes_only_the_host() -> None:
    assert readable("moved https://xn--mnchen-3ya.de/xn--mnchen-3ya?a") == (
        "moved https://münchen.de/xn--mnchen-3ya?a"
    )
    assert readable("xn--mnchen-3ya.de") == "münchen.de"
    assert readable("about xn--mnchen-3ya.de") == "about xn--mnchen-3ya.de"
    assert readable("plain") == "plain"
    assert readable_host("xn--" + "a" * 300) == "xn--" + "a" * 300


def test_readable_hosts_finds_hosts_anywhere_in_a_text() -> None:
    text = '{"url": "http://xn--mnchen-3ya.de/a", "host": "www.xn--mnchen-3ya.de", "b": "a.b"}'
    names = {"www.xn--mnchen-3ya.de": "www.münchen.de", "xn--mnchen-3ya.de": "münchen.de"}
    assert readable_hosts(text) == names
    assert readable_hosts("http://xn--80ak6aa92e.com/ a.example") == {}
    assert readable_hosts("a.example") == {}


@given(st.from_regex(r"(xn--)?[a-z0-9-]{1,20}(\.xn--[a-z0-9-]{1,20})?", fullmatch=True))
def test_a_shown_name_leads_to_the_same_host(host: str) -> None:
    shown = readable_host(host)
    if shown != host and ada_url.check_url(f"http://{host}/"):
        assert ada_url.URL(f"http://{shown}/").hostname == host
