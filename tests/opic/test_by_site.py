"""The best page of the most important site, against a search through all pages."""

from array import array
from itertools import accumulate
from random import Random

import numpy as np
import pytest

from minicrawl.opic.queues import BySite, EligiblePages


class Sites:
    """Hosts with importance set by the test, a schedule, and a plain search as the oracle."""

    def __init__(self, importance: list[float]) -> None:
        self.importance = np.array(importance)
        self.asked = 0
        self.keys, self.flags, self.host_of = array("q"), bytearray(), array("I")
        self.schedule = BySite(
            EligiblePages(self.keys, self.flags, self.host_of), self.importance_now
        )
        self.busy: set[int] = set()
        self.taken: set[int] = set()

    def importance_now(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        self.asked += 1
        return self.importance.copy()

    def birth(self, host: int, *keys: int) -> None:
        pages = range(len(self.keys), len(self.keys) + len(keys))
        self.keys.extend(keys)
        self.flags.extend(bytes(len(keys)))
        self.host_of.extend([host] * len(keys))
        self.schedule.enqueue(pages)

    def grow(self, page: int, by: int) -> None:
        self.keys[page] += by
        self.schedule.offer((page,))

    def take(self) -> int | None:
        page = self.schedule.take()
        if page is not None:
            self.busy.add(self.host_of[page])
            self.taken.add(page)
        return page

    def end(self, page: int) -> None:
        self.flags[page] = 1
        self.schedule.release(page)

    def resume(self, host: int) -> None:
        self.busy.discard(host)
        self.schedule.resume(host)

    def truth(self, importance: np.ndarray[tuple[int], np.dtype[np.float64]]) -> int | None:
        pages = [
            page
            for page, host in enumerate(self.host_of)
            if host not in self.busy and page not in self.taken
        ]
        return max(
            pages,
            key=lambda page: (importance[self.host_of[page]], self.keys[page], -page),
            default=None,
        )


def test_a_page_of_the_most_important_site_comes_before_a_richer_one_of_another() -> None:
    sites = Sites([1.0, 5.0])
    sites.birth(0, 100, 90)
    sites.birth(1, 3, 7)
    assert [sites.take(), sites.take(), sites.take()] == [3, 0, None]
    sites.resume(0)
    sites.resume(1)
    assert [sites.take(), sites.take()] == [2, 1]


def test_a_page_that_was_read_is_passed_over() -> None:
    sites = Sites([1.0, 2.0])
    sites.birth(0, 5)
    sites.birth(1, 7, 9)
    sites.flags[2] = 1
    assert [sites.take(), sites.take(), sites.take()] == [1, 0, None]


def test_of_equal_sites_the_richest_page_comes_first() -> None:
    sites = Sites([1.0, 1.0, 1.0])
    for host in range(3):
        sites.birth(host, 10 * host)
    assert [sites.take() for _ in range(3)] == [2, 1, 0]


def test_new_hosts_come_last_until_importance_is_looked_up_again() -> None:
    sites = Sites([1.0])
    sites.birth(0, 1, 2, 3)
    assert sites.take() == 2
    sites.resume(0)
    assert sites.take() == 1  # importance was just looked up, and is again two pages later
    sites.importance = np.array([1.0, 9.0])
    sites.birth(1, 50, 60)
    sites.resume(0)
    assert [sites.take(), sites.take()] == [0, 4]


def test_importance_is_looked_up_after_1_2_4_and_at_most_64_pages() -> None:
    sites = Sites([2.0, 1.0])
    sites.birth(0, *range(300))
    sites.birth(1, *range(300))
    hosts = []
    for _ in range(300):
        page = sites.take()
        assert page is not None
        hosts.append(sites.host_of[page])
        sites.end(page)
        sites.resume(sites.host_of[page])
        if len(hosts) == 130:
            sites.importance[1] = 3.0
    looks = [*accumulate((1, 2, 4, 8, 16, 32, 64, 64, 64, 64), initial=0)]
    after = min(look for look in looks if look >= 130)
    assert hosts == [0] * after + [1] * (300 - after)
    assert sites.asked == sum(look < 300 for look in looks)


def test_hosts_have_the_precedence_of_their_sites() -> None:
    sites = Sites([1.0, 3.0, 2.0])
    for host in range(3):
        sites.birth(host, 10)
    sites.take()
    sites.birth(3, 99)  # the importance of its site is not known yet
    assert sorted(range(4), key=sites.schedule.precedence) == [1, 2, 0, 3]


@pytest.mark.parametrize("seed", range(20))
def test_any_history_takes_the_pages_that_a_search_finds(seed: int) -> None:
    rng = Random(seed)
    sites = Sites([float(rng.randrange(4)) for _ in range(8)])
    under_way: list[int] = []
    for _ in range(400):
        match rng.randrange(4):
            case 0:
                sites.birth(rng.randrange(8), *(rng.randrange(50) for _ in range(3)))
            case 1 if sites.keys:
                waiting = [page for page in range(len(sites.keys)) if page not in sites.taken]
                if waiting:
                    sites.grow(rng.choice(waiting), rng.randrange(40))
            case 2 if under_way:
                page = under_way.pop(rng.randrange(len(under_way)))
                sites.end(page)
                sites.resume(sites.host_of[page])
            case _:
                expected = sites.truth(sites.importance)
                taken = sites.take()
                assert taken == expected
                under_way += [] if taken is None else [taken]
    assert len(sites.schedule) < 2 * 8 + 300
