"""Nodes whose names are texts."""

import pytest

from minicrawl.graphfiles import Texts

TEXTS = Texts(
    [b"http://a.org/1", b"\xc3\x85land", b"http://A.org:80/2", b"", b"\xff", b"http://a.org/1"]
)


def test_the_name_of_a_node_is_its_text_and_bytes_that_are_not_utf_8_are_escaped() -> None:
    assert len(TEXTS) == 6
    assert TEXTS.of([1, 4, 0]) == ["\u00c5land", r"\xff", "http://a.org/1"]
    assert TEXTS.of([]) == Texts([]).hosts().names == []


def test_find_gives_the_first_node_of_exactly_that_name() -> None:
    wanted = ["http://a.org/1", "a.org", "\u00c5land", "", "http://a.org/1"]
    assert TEXTS.find(wanted) == [0, None, 1, 3, 0]


def test_urls_have_their_hosts_and_other_names_are_hosts() -> None:
    of_node, names = TEXTS.hosts()
    assert of_node.tolist() == [0, 1, 0, 2, 3, 0]
    assert list(names) == ["a.org", "\u00c5land", "", r"\xff"]


@pytest.mark.parametrize("name", ["http://", "http:///", "http:/a/b", "https://[::1]/", "http://h"])
def test_a_malformed_url_has_a_host(name: str) -> None:
    assert len(Texts([name.encode()]).hosts().names) == 1
