"""How much of a worker's work is done here: two processes that the test makes busy."""

from itertools import count

import pytest

from minicrawl.crawl.workers.pool import BUSY, LOOK_EVERY_S, LoadShedder

VISITS_A_LOOK = 100


class Two:
    """This process and a worker, each busy for a part of the time."""

    def __init__(self) -> None:
        self.now, self.here_s, self.there_s = 1000.0, 7.0, 5.0
        self.shedder = LoadShedder(lambda: self.here_s)
        self.share_here(0, 0)

    def share_here(self, here: float, there: float) -> float:
        """The part of the visits that are due here, after so much was seen of both."""
        self.now += LOOK_EVERY_S
        self.here_s += here * LOOK_EVERY_S
        self.there_s += there * LOOK_EVERY_S
        visits = (self.shedder.shed(self.now, self.there_s) for _ in range(100))
        return sum(visits) / VISITS_A_LOOK


@pytest.mark.parametrize("busy", [0, 0.1, BUSY - 0.01])
def test_a_worker_that_waits_for_the_web_sheds_nothing_however_idle_the_own_process_is(
    busy: float,
) -> None:
    two = Two()
    assert [two.share_here(0, busy) for _ in range(20)] == [0] * 20


def test_a_worker_that_is_busier_than_the_own_process_sheds_more_and_more_up_to_half() -> None:
    two = Two()
    shares = [two.share_here(0.3, 0.95) for _ in range(15)]
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.1
    assert shares[-1] == 0.5


def test_what_is_too_much_for_us_goes_back() -> None:
    two = Two()
    before = [two.share_here(0.3, 0.95) for _ in range(8)][-1]
    after = [two.share_here(0.99, 0.8) for _ in range(8)]
    assert after == sorted(after, reverse=True)
    assert before > after[0] > after[-1] == 0


def test_a_worker_that_has_time_again_does_all_at_once() -> None:
    two = Two()
    assert [two.share_here(0.3, 0.95) for _ in range(8)][-1] > 0.3
    assert two.share_here(0.1, 0.2) == 0


def test_both_end_up_equally_busy() -> None:
    """A page costs the worker 0.3 ms, or us; what else we do for it costs us 0.2 ms."""
    two, here = Two(), 0.0
    for _ in range(100):
        wall_ms = max(0.3 * (1 - here), 0.2 + 0.3 * here)
        share = two.share_here((0.2 + 0.3 * here) / wall_ms, 0.3 * (1 - here) / wall_ms)
        here = share
    assert here == pytest.approx(1 / 6, abs=0.06)


def test_between_two_looks_nothing_changes() -> None:
    two = Two()
    share = [two.share_here(0.3, 0.95) for _ in range(4)][-1]
    moments = (two.now + LOOK_EVERY_S * part / 101 for part in count(1))
    due = [two.shedder.shed(next(moments), two.there_s + 5) for _ in range(100)]
    assert sum(due) / 100 == pytest.approx(share, abs=0.01)
