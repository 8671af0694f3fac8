"""The share of PageRank that the pages read so far are proven to have."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import count

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from numpy.typing import NDArray

from minicrawl.opic.importance.rank_mass import RankMass
from minicrawl.opic.ledger.books import Spending
from tests.opic.cash_flows import MANY, flow_of

MASS_EDGE = 0.25  # exact in whole parts
Rows = Sequence[Spending]


def mass_of(web: Rows, read: set[int], seeds: dict[int, int], edge: float = MASS_EDGE) -> RankMass:
    spendings = {page: web[page] for page in sorted(read)}
    return RankMass(flow_of(len(web), spendings, edge=edge), seeds, edge)


def among(pages: int, some: set[int]) -> NDArray[np.bool_]:
    return np.isin(np.arange(pages), list(some))


def proven(
    web: Rows, read: set[int], seeds: dict[int, int], refused: frozenset[int] = frozenset()
) -> float:
    mass, pages = mass_of(web, read, seeds), len(web)
    is_open = ~among(pages, read | refused)
    mass.move(is_open, lambda: True)
    return mass.share(among(pages, read), is_open)


def truth(web: Rows, read: set[int], seeds: dict[int, int], refused: frozenset[int]) -> float:
    """PageRank of the whole web with jumps to the seeds, by elimination."""
    shares = np.zeros((len(web), len(web)))
    for page, spending in enumerate(web):
        weights = spending.weights or [1] * len(spending.links)
        total = sum(weights) + spending.idle
        for link, weight in zip(spending.links, weights, strict=True):
            if total and page not in refused:
                shares[page, link] += (1 - MASS_EDGE) * weight / total
    jumps = np.zeros(len(web))
    jumps[list(seeds)] = list(seeds.values())
    flow = np.linalg.solve(np.eye(len(web)) - shares.T, jumps / jumps.sum())
    counted = flow[~among(len(web), set(refused))].sum()
    return float(flow[list(read)].sum() / counted) if read else 0.0


@st.composite
def crawls(draw: st.DrawFn) -> tuple[Rows, set[int], dict[int, int], frozenset[int]]:
    """Draw a web of which some pages are read and others refused."""
    pages = draw(st.integers(2, 10))
    some = st.lists(st.integers(0, pages - 1), max_size=5, unique=True)
    web = []
    for page in range(pages):
        links = sorted(set(draw(some)) - {page})
        weights = st.lists(st.integers(0, 3), min_size=len(links), max_size=len(links))
        given_weights = draw(st.one_of(st.just([]), weights)) if links else []
        idle = draw(st.integers(0, 2)) if given_weights else 0
        web.append(Spending(links, given_weights, idle=idle))
    seeds = draw(st.dictionaries(st.integers(0, pages - 1), st.integers(1, 9), min_size=1))
    read = set(draw(some))
    return web, read, seeds, frozenset(set(draw(some)) - read - seeds.keys())


LINKED_ALIKE = [Spending((1, 2)), Spending((0,)), Spending((1,))]


def test_the_share_is_exact_if_unread_pages_link_only_to_each_other() -> None:
    """No web behind the unread pages is worse, so no larger share could be proven."""
    web = [Spending((1, 2)), Spending((0,)), Spending((3,)), Spending((2,))]
    exact = truth(web, {0, 1}, {0: 1}, frozenset())
    assert proven(web, {0, 1}, {0: 1}) == pytest.approx(exact, abs=1e-3)


@pytest.mark.parametrize(
    ("read", "seeds", "share"),
    [
        pytest.param(set(), {0: 1}, 0.0, id="nothing was read"),
        pytest.param({0, 1, 2}, {0: 1}, 1.0, id="everything was read"),
        pytest.param({1}, {0: 1}, 0.0, id="the seed was not read"),
        pytest.param({0}, {0: 1}, MASS_EDGE, id="all links of read pages lead to unread ones"),
    ],
)
def test_the_share_in_extreme_crawls(read: set[int], seeds: dict[int, int], share: float) -> None:
    assert proven(LINKED_ALIKE, read, seeds) == pytest.approx(share, abs=1e-3)


def test_refused_pages_do_not_count() -> None:
    web = [Spending((1, 2)), Spending(()), Spending((0,))]
    refused = frozenset({2})
    assert proven(web, {0}, {0: 1}, refused) == pytest.approx(1 / (1 + 0.375 / MASS_EDGE), abs=1e-3)


@given(crawls(), st.frozensets(st.integers(0, 9)))
@example((LINKED_ALIKE, {0, 1}, {0: 1}, frozenset()), frozenset())
def test_more_rounds_prove_more_and_never_too_much(
    crawl: tuple[Rows, set[int], dict[int, int], frozenset[int]], some: frozenset[int]
) -> None:
    """Some pages wait for another turn, and count as unread."""
    web, read, seeds, refused = crawl
    again = some & set(range(len(web))) - read - refused
    is_read, is_open = among(len(web), read), ~among(len(web), read | refused)
    shares = []
    for rounds in (0, 1, 2, 3, 1 << 20):
        mass, left = mass_of(web, read | again, seeds), count(rounds, -1)
        mass.move(is_open, lambda left=left: next(left) > 0)  # type: ignore[misc]
        shares.append(mass.share(is_read, is_open))
    assert shares == sorted(shares)
    assert shares[-1] <= truth(*crawl) + 1e-9


@given(crawls(), st.sampled_from([0.01, 0.15, 0.5]))
def test_no_atom_is_created(
    crawl: tuple[Rows, set[int], dict[int, int], frozenset[int]], edge: float
) -> None:
    """Returned and waiting atoms are never more than the seeds had."""
    web, read, seeds, refused = crawl
    mass = mass_of(web, read, seeds, edge)
    mass.move(~among(len(web), read | refused), lambda: True)
    atoms = [Fraction(amount) for amount in mass.waiting.tolist()]
    assert all(amount.denominator == 1 for amount in atoms)
    assert 0 <= sum(atoms) + mass.returned <= mass.atoms < 2**52


def test_many_links_prove_the_same_share_as_few() -> None:
    """Of the flow of read pages, which begins at page 0, 1,000 / 1,100 return to them."""
    share = MASS_EDGE / (1 - (1 - MASS_EDGE) * 1000 / 1100)
    assert proven(MANY, set(range(1000)), {0: 1}) == pytest.approx(share, abs=1e-3)
