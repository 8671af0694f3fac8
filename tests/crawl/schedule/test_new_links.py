"""Pages that bring new pages are read again more often, and limits hold."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minicrawl.crawl.schedule.watched_pages import WatchedPages
from minicrawl.crawl.schedule.worth import worth_of
from minicrawl.model import Request, Response
from tests.crawl.fakes import FakeWeb, crawl, html, web_of
from tests.crawl.schedule.read_pages import DAY_S, TODAY, Pages, document

A = "http://a.example"


def test_each_expected_new_link_is_worth_the_average_cash() -> None:
    watched = WatchedPages(worth_of("greedy"), lambda pages: np.zeros(len(pages)), began_at=TODAY)
    for page in range(2):
        watched.add(document(page), 0, waits=True)
    watched.update(document(0)._replace(last_at=TODAY + 14 * DAY_S, checks=9))
    watched.update(document(1)._replace(last_at=TODAY + 14 * DAY_S, checks=9))
    watched.found(0, 20)
    watched.found(0, 10)
    best = {page: -worth for worth, page in watched.best_of(0, TODAY + 15 * DAY_S)}
    # 30 in two weeks and a week before them, for a day. The other page found none.
    assert best[0] == 30 / 21
    assert best[1] == 0


def test_links_found_by_earlier_runs_do_not_count_against_a_page() -> None:
    """The time watched begins with the run, as the number of links does."""
    watched = WatchedPages(worth_of("greedy"), lambda pages: np.zeros(len(pages)), began_at=TODAY)
    watched.add(document(0, first=700, last=1), 0, waits=True)
    watched.update(document(0, first=700))
    watched.found(0, 7)
    [(negative, _)] = watched.best_of(0, TODAY + DAY_S)
    assert -negative == 1


def test_a_page_that_found_new_links_comes_before_others_of_equal_cash() -> None:
    pages = Pages([document(page, first=3, last=2) for page in range(5)], endless=True)
    taken = pages.take()
    assert taken is not None
    pages.refresh.saw(document(taken, first=3, last=1))
    pages.refresh.watched.found(taken, 5)
    pages.refresh.release(taken)
    pages.free(taken)
    pages.pay(taken, 1.0)
    assert pages.take() == taken


def readings_of(path: Path, hubs: int = 3, pages: int = 30, **settings: Any) -> tuple[float, float]:
    """Crawl pages that change at each reading, of which the hubs also gain a link to a new page.

    Return the mean numbers of readings of a hub and of another page.
    """
    readings = Counter[str]()

    def page(request: Request) -> Response:
        readings[request.url] += 1
        name, count = request.url.rpartition("/")[2], readings[request.url]
        new = [f"/new-{name}-{n}" for n in range(count)] if int(name) < hubs else []
        return html("/", *new, title=f"{name} {count}")

    answers = web_of({f"{A}/": [f"{A}/{n}" for n in range(pages)]})
    answers |= {f"{A}/{n}": page for n in range(pages)}
    web = FakeWeb(answers, elsewhere=lambda request: html("/", title=request.url))
    crawl(web, path, f"{A}/", continuous=True, pages=250, delay=1, **settings)
    counts = [readings[f"{A}/{n}"] for n in range(pages)]
    assert min(counts) >= 1
    return float(np.mean(counts[:hubs])), float(np.mean(counts[hubs:]))


@pytest.mark.slow
def test_hubs_are_read_again_more_often_if_their_new_links_are_in_scope(path: Path) -> None:
    hubs, others = readings_of(path)
    assert hubs > 1.2 * others
    denied_hubs, denied_others = readings_of(path.with_name("denied.db"), deny=("/new-",))
    assert hubs / others > 1.15 * denied_hubs / denied_others
