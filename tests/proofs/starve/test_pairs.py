"""Healthy hosts keep their requests, whatever hosts do that strangers lead to."""

from random import Random

import pytest

from tests.proofs.starve.behaviours import BEHAVIOURS, QUICK_S
from tests.proofs.starve.pairs import LEAST, Case, cases
from tests.proofs.starve.simulated import Neighbours, healthy_requests

DRIPS = "heads that drip"


@pytest.mark.slow
@pytest.mark.large
@pytest.mark.parametrize("healthy_s", [QUICK_S, 0.5])
@pytest.mark.parametrize("behaviours", [(DRIPS,), (DRIPS, "cookies")])
def test_one_seed_with_2000_hosts_leaves_healthy_hosts_their_requests(
    behaviours: tuple[str, ...], healthy_s: float
) -> None:
    alone = healthy_requests(Neighbours(healthy_s=healthy_s))
    beside = healthy_requests(Neighbours(behaviours, 1, 2000, 40, healthy_s=healthy_s))
    assert beside >= LEAST * alone


@pytest.mark.large
def test_hosts_that_a_healthy_seed_leads_to_keep_their_requests() -> None:
    alone = healthy_requests(Neighbours(are_new=True))
    beside = healthy_requests(Neighbours((DRIPS,), 1, 2000, 40, are_new=True))
    assert beside >= LEAST * alone


@pytest.mark.proof
@pytest.mark.parametrize("case", Random(71).sample([*cases(len(BEHAVIOURS), Random(71))], 12))
def test_pairs_of_behaviours_leave_healthy_hosts_their_requests(case: Case) -> None:
    alone = healthy_requests(Neighbours(random_seed=71))
    assert healthy_requests(case.neighbours(71)) >= LEAST * alone
