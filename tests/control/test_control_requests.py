"""Lines of JSON become requests, or are refused with a reason."""

import json
from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from minicrawl.control import (
    CHANGEABLE,
    LONGEST_LINE,
    MOST_HOSTS,
    MOST_PAGES,
    MOST_URLS,
    ControlRequest,
    Verb,
    request_of,
)
from minicrawl.errors import UsageError


@pytest.mark.parametrize(
    "request_made",
    [
        ControlRequest(verb=Verb.SHOW),
        ControlRequest(verb=Verb.SET, values={"workers": "3", "delay": 0.5, "pages": "none"}),
        ControlRequest(verb=Verb.ADD, urls=("http://a.example/", "b.example")),
        ControlRequest(verb=Verb.HOSTS, hosts=(0, 7)),
        ControlRequest(verb=Verb.CHANGED, pages=(0, 7)),
    ],
)
def test_a_request_is_read_back_from_its_line(request_made: ControlRequest) -> None:
    assert request_of(request_made.as_line()) == request_made


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ({"verb": "dance"}, "unknown verb"),
        ({}, "unknown verb"),
        ({"verb": "set", "values": {"workers": "many"}}, "workers many"),
        ({"verb": "set", "values": {"workers": -1}}, "workers -1"),
        ({"verb": "set", "values": {"delay": "-1"}}, "delay -1"),
        ({"verb": "set", "values": {"store": "x"}}, "store cannot change"),
        ({"verb": "set", "values": {"robots": False}}, "robots cannot change"),
        ({"verb": "set", "values": ["workers"]}, "values must be an object"),
        ({"verb": "add", "urls": "http://a.example/"}, "urls a list"),
        ({"verb": "add", "urls": ["ftp://a.example/"]}, "is not a URL"),
        ({"verb": "add", "urls": ["a.example"] * (MOST_URLS + 1)}, "at most 1,000 URLs"),
        ({"verb": "hosts", "hosts": [*range(MOST_HOSTS + 1)]}, "at most 1,000 hosts"),
        ({"verb": "hosts", "hosts": ["a.example"]}, "a list of numbers"),
        ({"verb": "changed", "pages": [*range(MOST_PAGES + 1)]}, "at most 10,000 pages"),
        ({"verb": "changed", "pages": [-1]}, "a list of numbers"),
        ({"verb": "changed", "pages": 7}, "a list of numbers"),
        (["show"], "not a JSON object"),
    ],
)
def test_an_invalid_request_is_refused_with_a_reason(message: object, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        request_of(json.dumps(message).encode())


def test_as_many_pages_as_a_ping_may_name_fit_into_a_line() -> None:
    pages = tuple(range(2**32 - MOST_PAGES, 2**32))
    assert len(ControlRequest(verb=Verb.CHANGED, pages=pages).as_line()) < LONGEST_LINE


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(("", "x", "1")),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(CHANGEABLE), inner),
    max_leaves=4,
)
_FIELDS = st.sampled_from(("values", "urls", "hosts", "pages"))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_request_or_refused(line: bytes) -> None:
    with suppress(UsageError):
        request_of(line)


@given(st.sampled_from(Verb), _FIELDS, _VALUES)
def test_any_value_of_a_field_is_accepted_or_refused(verb: Verb, name: str, value: object) -> None:
    with suppress(UsageError):
        request_of(json.dumps({"verb": verb, name: value}).encode())


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(UsageError, match="not a line of JSON"):
        request_of(b"[" * 100_000)
