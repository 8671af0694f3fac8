from minicrawl.frontier.url_table import UrlTable
from minicrawl.store.records import HostRow, UrlRow
from tests.stores import DEEP, A, B


def test_each_unknown_url_gets_the_next_id_and_its_host_too() -> None:
    meeting = UrlTable().meet([A, B, DEEP, A], depth=2)
    assert meeting.pages == [0, 1, 2, 0]
    assert meeting.urls == [UrlRow(0, 0, "/", 2), UrlRow(1, 1, "/", 2), UrlRow(2, 0, "/deep", 2)]
    assert meeting.hosts == [HostRow(0, "http://a.example"), HostRow(1, "http://b.example")]


def test_a_page_that_is_known_keeps_its_id_and_depth() -> None:
    urls = UrlTable()
    urls.meet([A], depth=1)
    again = urls.meet([A], depth=0)
    assert (again.pages, again.urls, again.hosts) == ([0], [], [])
    assert list(urls.depth) == [1]


def test_the_row_of_a_url_has_a_depth_above_255() -> None:
    urls = UrlTable()
    assert urls.meet([A], depth=1000).urls[0].depth == 1000
    assert list(urls.depth) == [255]


def test_a_url_that_was_never_met_is_not_found() -> None:
    assert UrlTable().find(A) is None
