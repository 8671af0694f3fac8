import os
import subprocess
import sys
from collections import Counter

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicrawl.demo.web import DemoWeb
from minicrawl.errors import UsageError
from tests.demo.asking import WEB, ask, link_graph, links, nofollow_links

GRAPH = link_graph(WEB)
DIGEST = """
import zlib
from minicrawl.demo.web import DemoWeb
from tests.demo.asking import link_graph
web = DemoWeb(200)
print(zlib.crc32(repr((web.hosts, web.seeds, link_graph(web))).encode()))
"""


def test_the_same_seed_makes_the_same_web_and_another_another() -> None:
    assert link_graph(DemoWeb(500)) == GRAPH
    assert link_graph(DemoWeb(500, seed=1)) != GRAPH


def test_the_web_does_not_depend_on_how_this_python_hashes() -> None:
    digests = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_answers_do_not_depend_on_the_order_of_requests() -> None:
    fresh = DemoWeb(500)
    assert all(ask(url, web=fresh) == ask(url) for url in reversed(GRAPH))


def test_the_link_graph_is_what_the_pages_say() -> None:
    for url, targets in GRAPH.items():
        answer = ask(url, visits=int("crackle" in url))
        written = dict.fromkeys(links(url, answer))
        assert answer.status == 200
        assert targets == [link for link in written if link in GRAPH and link != url]


def test_every_page_of_the_link_graph_can_be_reached_from_the_seeds() -> None:
    graph = networkx.DiGraph(GRAPH)
    assert 5 <= len(WEB.seeds) <= 10
    reached = set(WEB.seeds).union(*(networkx.descendants(graph, seed) for seed in WEB.seeds))
    assert reached == set(GRAPH)


def test_the_link_graph_has_all_pages_but_those_of_the_shut_host_and_the_hubs_besides() -> None:
    hubs = 1 + 2 + 10
    assert len(GRAPH) == 500 - 6 + hubs
    assert not any("closed-for-winter" in url for url in GRAPH)


def test_the_top_ten_are_front_pages_of_large_hosts_and_what_all_refer_to() -> None:
    graph = link_graph(DemoWeb(2000))
    ranks: dict[str, float] = networkx.pagerank(networkx.DiGraph(graph))
    top = sorted(ranks, key=lambda url: ranks[url], reverse=True)[:10]
    assert top[0] == "http://www.open-commons.example/licence"
    assert "http://www.harbour-museum.example/" in top
    assert sum(url.count("/") == 3 and url.endswith("/") for url in top) >= 8


def test_two_links_of_three_stay_inside_their_host() -> None:
    ends = [(url.split("/")[2], to.split("/")[2]) for url, to in pairs()]
    assert 0.4 < sum(source == target for source, target in ends) / len(ends) < 0.8


def pairs() -> list[tuple[str, str]]:
    return [(url, target) for url, targets in GRAPH.items() for target in targets]


def test_every_link_has_an_answer_or_is_meant_to_be_broken() -> None:
    statuses: Counter[int] = Counter()
    for url in GRAPH:
        for link in links(url, ask(url, visits=1)):
            status = ask(link, visits=1).status
            statuses[status] += 1
            assert status != 404 or "/lost/" in link
    assert set(statuses) == {200, 301, 302, 404}
    assert any(nofollow_links(ask(url, visits=1)) for url in GRAPH)


def test_a_host_that_is_not_served_is_misdirected() -> None:
    assert WEB.answer("www.else.example", "/", {}, 0).status == 421
    assert WEB.answer("", "*", {}, 0).status == 421


def test_a_page_that_the_visitor_has_is_not_sent_again() -> None:
    url = WEB.seeds[1]
    answer = ask(url)
    etag, date = answer.headers["ETag"], answer.headers["Last-Modified"]
    for known in (
        {"if-none-match": etag},
        {"if-none-match": f'"x", W/{etag}'},
        {"if-modified-since": date},
        {"if-none-match": etag, "if-modified-since": "another day"},
    ):
        again = ask(url, headers=known)
        assert (again.status, again.body, again.headers) == (304, b"", answer.headers)


def test_a_page_that_is_not_the_visitors_is_sent() -> None:
    answer = ask(WEB.seeds[1])
    date = answer.headers["Last-Modified"]
    assert ask(WEB.seeds[1], headers={"if-none-match": '"x"', "if-modified-since": date}) == answer
    assert ask(WEB.seeds[1], headers={"if-modified-since": "another day"}) == answer
    assert ask(WEB.seeds[0], headers={"if-modified-since": date}).status == 200


def test_a_page_that_changed_is_sent_and_is_younger() -> None:
    url = "http://news.branch-line.example/"
    first = ask(url)
    second = ask(url, visits=1, headers={"if-none-match": first.headers["ETag"]})
    assert second.status == 200
    assert first.headers["Last-Modified"] == "Tue, 20 May 2003 00:00:00 GMT"
    assert second.headers["Last-Modified"] == "Wed, 21 May 2003 00:00:00 GMT"


def test_the_same_page_stands_at_several_urls() -> None:
    url = "http://www.harbour-museum.example/"
    assert ask(f"{url}index.html") == ask(f"{url}?from=elsewhere") == ask(url)


def test_a_whole_host_is_there_twice_byte_by_byte() -> None:
    (mirror,) = (host for host in WEB.hosts if host.startswith("mirror."))
    (original,) = (host for host in WEB.hosts if host.endswith(f".{mirror[7:]}") and host != mirror)
    pages = [url for url in GRAPH if url.startswith(f"http://{original}/")]
    assert len(pages) > 5
    assert all(ask(url) == ask(url.replace(original, mirror)) for url in pages)


def test_a_page_for_printing_names_the_one_that_counts() -> None:
    url = "http://www.harbour-museum.example/boats/"
    answer = ask(f"{url}?print")
    assert f'<link rel="canonical" href="{url}">'.encode() in answer.body
    assert b"canonical" not in ask(url).body


def test_the_slow_host_takes_its_time_over_everything_and_others_do_not() -> None:
    slow = "http://www.sleepy-ferry.example/"
    assert ask(slow).delay_s == ask(f"{slow}robots.txt").delay_s == 0.5
    assert not any(ask(url).delay_s for url in GRAPH if "sleepy" not in url)


def test_the_flaky_host_fails_at_first_and_recovers() -> None:
    urls = [url for url in GRAPH if "crackle" in url]
    assert {ask(url).status for url in urls} == {500, 503}
    assert {ask(url).headers.get("Retry-After") for url in urls} == {None, "1"}
    assert {ask(url, visits=visits).status for url in urls for visits in (1, 2, 3, 4)} == {200}
    assert ask("http://radio.crackle-fm.example/robots.txt").status != 503


@given(
    host=st.sampled_from(WEB.hosts),
    target=st.text() | st.from_regex(r"(/[a-z0-9.-]{0,9}){1,4}(\?[a-z]*)?", fullmatch=True),
    visits=st.integers(0, 10**9),
)
def test_whatever_is_asked_there_is_an_answer(host: str, target: str, visits: int) -> None:
    answer = WEB.answer(host, target, {}, visits)
    assert answer == WEB.answer(host, target, {}, visits)
    assert answer.status in {200, 301, 302, 404, 500, 503}


def test_too_small_a_web_is_refused() -> None:
    with pytest.raises(UsageError, match="not 7"):
        DemoWeb(7)


def test_all_names_are_reserved_ones() -> None:
    assert all(host.endswith(".example") for host in WEB.hosts)
    assert len(set(WEB.hosts)) == len(WEB.hosts)
