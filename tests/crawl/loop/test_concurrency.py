"""Requests at once: in the whole crawl, to a host, and to an address."""

import asyncio
from itertools import pairwise
from pathlib import Path

from minicrawl.model import FetchResult, Request
from minicrawl.states import State
from tests.crawl.fakes import FakeWeb, crawl, failed, html, web_of
from tests.crawl.loop.webs import FORBIDDING, A, star, stars


def test_concurrency_limits_the_requests_at_once(path: Path) -> None:
    web = FakeWeb(web_of({f"http://h{n}.example/": [] for n in range(12)}), takes_s=1)
    crawl(web, path, *web.answers, concurrency=5, silent_share=1)
    assert web.most_at_once == 5


def test_per_host_allows_several_requests_to_a_host(path: Path) -> None:
    web = FakeWeb(star(A, 12), takes_s=1)
    crawl(web, path, f"{A}/", per_host=3)
    assert web.most_at_once == 3


def test_hosts_at_one_address_share_its_limit_and_all_get_their_turn(path: Path) -> None:
    origins = [f"http://h{n}.example" for n in range(9)]
    answers = stars(9, 2)
    for origin in origins[::2]:
        answers[f"{origin}/robots.txt"] = FORBIDDING
    web = FakeWeb(answers, takes_s=1, places=dict.fromkeys(origins, "192.0.2.1"))
    run = crawl(web, path, *(f"{origin}/" for origin in origins), per_address=2)
    assert State.UNREAD not in run.states.values()
    asked = len(web.asked)
    crawl(web, path, refresh=1, per_address=2)
    assert len(web.asked) > asked
    assert web.most_at_once == 2


def test_silent_hosts_do_not_keep_new_ones_from_their_first_request(path: Path) -> None:
    """Ten silent hosts share one slot, and none keeps it for longer than a second."""

    async def silence(_: Request) -> FetchResult:
        await asyncio.sleep(30)
        return failed(State.TIMEOUT)

    silent = [f"http://s{number}.example" for number in range(10)]
    web = FakeWeb(web_of({f"{A}/": []}) | {f"{one}/robots.txt": silence for one in silent})
    seeds = [f"{one}/{page}" for one in silent for page in range(9)]
    crawl(web, path, *seeds, f"{A}/", concurrency=2)
    first = {visit.url: visit.began for visit in reversed(web.visits)}
    assert first[f"{A}/"] <= first[f"{silent[0]}/robots.txt"] + len(silent)


def test_slow_hosts_that_hold_too_many_slots_give_way_and_lose_no_page(path: Path) -> None:
    """Slow hosts serve robots.txt at once, and take 20 seconds for each page."""
    slow = [f"http://h{n}.example/" for n in range(4)]
    most = [0]

    async def dawdle(request: Request) -> FetchResult:
        most[0] = max(most[0], sum(url in slow for url in web.under_way))
        await asyncio.sleep(20)
        return html(title=request.url)

    web = FakeWeb(star(A, 30) | dict.fromkeys(slow, dawdle))
    run = crawl(web, path, *slow, f"{A}/", concurrency=4, delay=1)
    assert set(run.states.values()) == {State.FETCHED}
    first = sorted(visit.began for visit in web.visits_of(A))
    assert max(later - sooner for sooner, later in pairwise(first)) <= 3
    assert most == [4]
