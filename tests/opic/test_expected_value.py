"""Expected values of pages, computed by hand, and their saved state."""

from array import array
from collections.abc import Callable, Sequence
from math import exp, log
from random import Random

import numpy as np
import pytest

from minicrawl.model import FULL_VALUE
from minicrawl.opic.importance.expected_value import SIGNALS, ValueEstimate
from minicrawl.opic.ledger.ledger import Ledger, Plan
from minicrawl.opic.ledger.plans import visit
from minicrawl.opic.siblings.siblings import Siblings
from minicrawl.opic.siblings.values import LEVELS_A_FACTOR, MOST_LEVEL
from tests.opic.sibling_worlds import SitesByHost


class World:
    """Pages with a host, a folder and a word each. Pages born together are siblings."""

    def __init__(self) -> None:
        self.ledger, hosts = Ledger(), array("I")
        self.siblings = Siblings(self.ledger, hosts, SitesByHost(range(99)))
        self.traits = array("I")
        self.estimate = ValueEstimate(self.siblings, self.traits)

    def born(self, *pages: tuple[int, int, int]) -> range:
        new = self.ledger.mint(len(pages))
        for host, folder, word in pages:
            self.siblings.host_of.append(host)
            self.traits.append(folder | word << 16)
        self.siblings.introduce(new)
        return new

    def read(self, page: int, value: float, links: Sequence[int] = ()) -> Plan:
        plan = visit(self.ledger, page, links)
        self.ledger.post(plan)
        self.siblings.end_turn(plan, range(0))
        self.estimate.learn(round(value * FULL_VALUE), (plan,))
        return plan

    def expected(self, page: int) -> float:
        return float(self.estimate.expected(np.array([page], dtype=np.uint32))[0])


def logit(share: float) -> float:
    return log(share / (1 - share))


@pytest.mark.parametrize(
    ("pages", "value", "mean"),
    [(1, 1.0, 1.9 / 4), (1, 0.0, 0.9 / 4), (1000, 1.0, 0.97), (1000, 0.0, 0.001)],
)
def test_the_mean_begins_with_three_pages_and_stays_away_from_0_and_1(
    pages: int, value: float, mean: float
) -> None:
    world = World()
    for page in world.born(*[(0, 0, 0)] * pages):
        world.read(page, value)
    assert world.estimate.mean == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("name", SIGNALS)
def test_each_signal_is_a_mean_with_two_pages_of_the_overall_mean(name: str) -> None:
    world = World()
    read, sibling = world.born((1, 1, 1), (1, 2, 2))
    other = world.born((1 if name == "host" else 2, 1 if name == "folder" else 3, 3))[0]
    if name == "word":
        other = world.born((2, 3, 1))[0]
    world.read(read, 1.0, [other] if name == "links" else [])
    page = sibling if name == "siblings" else other
    expected, known = world.estimate.signals_of(page)
    assert {tuple(of) for _, *of in known} == {(1.0, 1)}
    assert {row[0] for row in known} == ({name, "host"} if name == "siblings" else {name})
    mean = 1.9 / 4
    step = logit((2 * mean + 1) / 3) - logit(mean)
    # Weights begin at .3. The first page changed only the constant, since no signal knew a page.
    constant = 0.05 * 0.7 / (0.01 + 0.49) ** 0.5
    total = logit(mean) + constant + 0.3 * len(known) * step
    assert expected == pytest.approx(1 / (1 + exp(-total)))


def test_trust_grows_with_right_predictions_only() -> None:
    right, wrong = World(), World()
    for turn in range(40):
        for world, value in ((right, 1.0), (wrong, float(turn % 2))):
            good, bad = world.born((1, 0, 0))[0], world.born((2, 0, 0))[0]
            world.read(good, value)
            world.read(bad, 1 - value)
    assert right.estimate.trust == 1
    assert wrong.estimate.trust < 0.3
    better, worse = right.born((1, 0, 0))[0], right.born((2, 0, 0))[0]
    assert right.expected(better) > 0.8
    assert right.expected(worse) < 0.2


def most_trust(rng: Random, value_of: Callable[[int], float]) -> float:
    """Read 60 pages that were born in fours; return the largest trust on the way.

    `value_of` gives the value of a page in this folder.
    """
    world, waiting, trust = World(), list[int](), 0.0
    for _ in range(60):
        if not waiting:
            folder = rng.randrange(5)
            waiting += world.born(*[(folder % 3, folder, rng.randrange(9))] * 4)
        page = waiting.pop(rng.randrange(len(waiting)))
        links = rng.sample(waiting, min(2, len(waiting)))
        world.read(page, value_of(world.traits[page] & 0xFFFF), links)
        trust = max(trust, world.estimate.trust)
    return trust


def noise(rng: Random, rate: float) -> Callable[[int], float]:
    return lambda _folder: float(rng.random() < rate)


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5])
def test_noise_among_few_pages_earns_no_trust(rate: float) -> None:
    """By standard deviations alone, half of these crawls trusted it for a while."""
    trusts = [most_trust(Random(seed), noise(Random(-1 - seed), rate)) for seed in range(24)]
    assert sum(trust > 0 for trust in trusts) <= 1


@pytest.mark.parametrize("folders", [{1}, {1, 2}, {1, 2, 3}])
def test_a_value_that_follows_the_folder_is_soon_trusted(folders: set[int]) -> None:
    trusts = [
        most_trust(Random(seed), lambda folder: float(folder in folders)) for seed in range(9)
    ]
    assert np.median(trusts) == 1


def test_a_single_lucky_hit_earns_little_trust() -> None:
    """Its gain exceeds three standard deviations, as so far no page had a value."""
    world = World()
    pages = world.born(*[(0, 0, word) for word in range(9)])
    for page in pages[:6]:
        world.read(page, 0)
    world.read(world.born((1, 1, 1))[0], 1.0)
    world.read(world.born((1, 1, 1))[0], 1.0)
    assert world.estimate.trust < 0.25


def test_a_level_is_the_logarithm_of_a_power_of_the_expected_value() -> None:
    world = World()
    for turn in range(40):
        world.read(world.born((turn % 2, 0, 0))[0], turn % 2)
    page = world.born((0, 0, 0))[0]
    pages = np.array([page], dtype=np.uint32)
    wanted = -LEVELS_A_FACTOR * 1.5 * world.estimate.trust * log(world.expected(page))
    assert world.estimate.levels(pages, 1.5)[0] == round(wanted)
    assert world.estimate.levels(pages, 400)[0] == MOST_LEVEL
    assert world.estimate.levels(pages, 0)[0] == 0
    assert len(world.estimate.levels(pages[:0], 2)) == 0


def test_many_links_keep_a_small_count_and_their_mean() -> None:
    world = World()
    (page,) = world.born((0, 0, 0))
    for turn, giver in enumerate(world.born(*[(1, 1, 1)] * 600)):
        world.read(giver, (turn % 4) / 3, [page])
    ((mean, pages),) = [of for name, *of in world.estimate.signals_of(page)[1] if name == "links"]
    assert pages <= 255
    assert mean == pytest.approx(0.5, abs=0.02)


def test_a_restored_estimate_continues_like_the_original() -> None:
    whole, parted = World(), World()
    for world in (whole, parted):
        first = world.born(*[(page % 3, page % 2, 5) for page in range(9)])
        for page in first[:5]:
            world.read(page, page / 9, first[5:])
    state = parted.estimate.state()
    assert state == whole.estimate.state()
    parted.estimate = ValueEstimate(parted.siblings, parted.traits)
    parted.estimate.restore({})  # a store without values
    assert parted.estimate.mean == pytest.approx(0.3)
    earlier = state | {"value.numbers": state["value.numbers"][:40]}  # without the largest |d|
    parted.estimate.restore(earlier)
    assert parted.estimate.trust <= whole.estimate.trust
    parted.estimate.restore(state)
    for world in (whole, parted):
        world.read(6, 0.25, [7])
        world.read(world.born((7, 7, 7))[0], 1.0, [8])
    assert parted.estimate.state() == whole.estimate.state()
