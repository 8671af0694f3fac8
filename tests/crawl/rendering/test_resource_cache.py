"""A cache of responses to requests of rendered pages."""

import math

import pytest

from minicrawl.crawl.rendering.page_resources import MOST, ResourceCache, fresh_for_s
from minicrawl.crawl.rendering.render_messages import Resource

A, B = "http://a.example/a.js", "http://a.example/b.js"
FOUND = Resource(0, 200, "text/javascript", b"0123456789")


def test_a_response_is_cached_until_it_is_stale() -> None:
    cache = ResourceCache()
    cache.put(A, FOUND, 10.0)
    assert cache.get(A, 9.0) == FOUND
    assert cache.get(A, 10.0) is None
    assert cache.get(B, 0.0) is None


def test_the_least_recently_used_response_is_evicted_first() -> None:
    cache = ResourceCache(most_bytes=20)
    for name in "ab":
        cache.put(name, FOUND, math.inf)
    cache.get("a", 0.0)
    cache.put("c", FOUND, math.inf)
    assert [name for name in "abc" if cache.get(name, 0.0)] == ["a", "c"]


def test_a_response_that_is_put_again_counts_once() -> None:
    cache = ResourceCache(most_bytes=20)
    for _ in range(10):
        cache.put(A, FOUND, math.inf)
    cache.put(B, FOUND, math.inf)
    assert cache.get(A, 0.0)
    assert cache.get(B, 0.0)


def test_a_response_larger_than_the_cache_is_not_cached() -> None:
    cache = ResourceCache(most_bytes=5)
    cache.put(A, FOUND, math.inf)
    assert cache.get(A, 0.0) is None


def test_the_number_of_empty_responses_is_bounded() -> None:
    cache = ResourceCache()
    for number in range(MOST + 5):
        cache.put(number, Resource(0, 200), math.inf)
    assert [cache.get(number, 0.0) is None for number in range(6)] == [True] * 5 + [False]


@pytest.mark.parametrize(
    ("headers", "is_script", "fresh_s"),
    [
        ({}, True, math.inf),
        ({}, False, 0.0),
        ({"cache-control": "max-age=60"}, False, 60.0),
        ({"cache-control": "public, max-age=60"}, True, 60.0),
        ({"cache-control": "no-store"}, True, 0.0),
        ({"cache-control": "no-cache"}, True, 0.0),
        ({"cache-control": "private, max-age=60"}, True, 0.0),
        ({"vary": "*"}, True, 0.0),
        ({"set-cookie": "a=b"}, True, 0.0),
    ],
)
def test_headers_limit_the_time_in_the_cache(
    headers: dict[str, str], is_script: bool, fresh_s: float
) -> None:
    assert fresh_for_s(headers, is_script=is_script) == fresh_s
