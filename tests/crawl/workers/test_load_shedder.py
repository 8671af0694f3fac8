"""Pages of a busy worker that the own process does, with loads that the tests set."""

import pytest

from minicrawl.crawl.workers.pool import (
    BUSY,
    FEWEST_LEFT,
    LOOK_EVERY_S,
    OWN_AT_ONCE,
    SPARE,
    LoadShedder,
)


class Two:
    """The own process and a worker, each busy for a part of the time."""

    def __init__(self) -> None:
        self.now, self.here_s, self.there_s = 1000.0, 7.0, 5.0
        self.shedder = LoadShedder(lambda: self.here_s)
        self.are_shed(0, 0)

    def are_shed(self, here: float, there: float) -> bool:
        """Let both be busy for these parts of an interval. Return whether the next page is shed."""
        self.now += LOOK_EVERY_S
        self.here_s += here * LOOK_EVERY_S
        self.there_s += there * LOOK_EVERY_S
        return self.is_shed()

    def is_shed(self, *, left: int = FEWEST_LEFT, own: int = 0) -> bool:
        return self.shedder.sheds(self.now, self.there_s, left=left, own=own)


@pytest.mark.parametrize("busy", [0, 0.1, BUSY - 0.01])
def test_a_worker_that_waits_for_the_web_sheds_nothing_to_an_idle_own_process(busy: float) -> None:
    assert not Two().are_shed(0, busy)


@pytest.mark.parametrize(
    ("here", "there", "are_shed"),
    [
        (0.3, 0.95, True),
        (SPARE - 0.01, 0.6, True),
        (0.95, 0.6, False),
        (0.95, 0.99, True),
        (0.99, 0.98, False),
    ],
)
def test_a_busy_worker_sheds_pages_while_the_own_process_has_more_time(
    here: float, there: float, are_shed: bool
) -> None:
    assert Two().are_shed(here, there) == are_shed


def test_few_pages_are_shed_at_once_and_the_worker_keeps_enough() -> None:
    two = Two()
    assert two.are_shed(0.3, 0.95)
    assert two.is_shed(own=OWN_AT_ONCE - 1)
    assert not two.is_shed(own=OWN_AT_ONCE)
    assert not two.is_shed(left=FEWEST_LEFT - 1)


def test_the_decision_holds_until_loads_are_measured_again() -> None:
    two = Two()
    assert two.are_shed(0.3, 0.95)
    two.now += 0.9 * LOOK_EVERY_S
    assert two.is_shed()
    two.now += 0.2 * LOOK_EVERY_S  # the worker has been idle since
    assert not two.is_shed()
