"""Names of nodes that are texts."""

import pytest

from minicrawl.graphfiles import Texts

TEXTS = Texts(
    [b"http://a.org/1", b"\xc3\x85land", b"http://A.org:80/2", b"", b"\xff", b"http://a.org/1"]
)


def test_a_node_is_called_as_it_is_written() -> None:
    assert len(TEXTS) == 6
    assert TEXTS.of([1, 0]) == ["\u00c5land", "http://a.org/1"]
    assert TEXTS.of([]) == []


def test_bytes_that_are_no_text_are_shown_by_their_numbers() -> None:
    assert TEXTS.of([4]) == [r"\xff"]


def test_a_name_is_found_exactly_and_the_first_of_two_that_share_it() -> None:
    assert TEXTS.find(["http://a.org/1", "a.org", "\u00c5land", "", "http://a.org/1"]) == [
        0,
        None,
        1,
        3,
        0,
    ]


def test_urls_are_on_their_hosts_and_other_names_are_hosts_of_their_own() -> None:
    of_node, names = TEXTS.hosts()
    assert of_node.tolist() == [0, 1, 0, 2, 3, 0]
    assert list(names) == ["a.org", "\u00c5land", "", r"\xff"]


@pytest.mark.parametrize("name", ["http://", "http:///", "http:/a/b", "https://[::1]/", "http://h"])
def test_whatever_begins_like_a_url_has_a_host(name: str) -> None:
    assert len(Texts([name.encode()]).hosts().names) == 1


def test_no_names_are_no_hosts() -> None:
    assert Texts([]).hosts().names == []
