"""Spam farms that are planted into a web, and what they cost an order."""

import numpy as np
import pytest

from minicrawl.graph.csr import Csr
from minicrawl.lab.importance_curves import Crawls
from minicrawl.lab.webs import Links, Model, Web, synthetic_web, without_hosts
from tests.bench.spam_farms import ENTRANCES, Farm, FarmKind, planted, spam_of

HONEST = 40


def a_ring() -> Web:
    pages = np.arange(HONEST)
    return without_hosts(Csr.from_edges(HONEST, pages, (pages + 1) % HONEST))


def with_farm(farm: Farm, seed: int = 1) -> tuple[Web, Links]:
    web = a_ring()
    return planted(web, list(web.graph.adjacency()), farm, np.random.default_rng(seed))


def test_all_pages_of_a_host_farm_link_to_all() -> None:
    _, links = with_farm(Farm(kind=FarmKind.HOST, pages=3))
    assert [list(found) for found in links[HONEST:]] == [[40, 41, 42]] * 3


def test_random_links_stay_in_the_farm() -> None:
    _, links = with_farm(Farm(kind=FarmKind.RANDOM, pages=500))
    own = links[HONEST:]
    assert len(own) == 500
    assert all(HONEST <= page < HONEST + 500 for found in own for page in found)
    assert all(15 < len(set(found)) == len(found) <= 20 for found in own)
    assert len({page for found in own for page in found}) == 500


def test_each_page_of_a_trap_links_to_five_pages_of_its_own() -> None:
    _, links = with_farm(Farm(kind=FarmKind.TRAP))
    assert [list(found) for found in links[HONEST : HONEST + 2]] == [
        [41, 42, 43, 44, 45],
        [46, 47, 48, 49, 50],
    ]
    told = [page for found in links[HONEST:] for page in found]
    assert sorted(told) == list(range(HONEST + 1, len(links)))
    assert sum(map(bool, links[HONEST:])) == HONEST, "no crawl of as many pages reaches the end"


@pytest.mark.parametrize("kind", FarmKind)
def test_ten_honest_pages_link_to_a_farm_and_keep_their_links(kind: FarmKind) -> None:
    _, links = with_farm(Farm(kind=kind, pages=7))
    own = [found[0] for found in links[:HONEST]]
    assert own == [(page + 1) % HONEST for page in range(HONEST)]
    entrances = [found[1] for found in links[:HONEST] if len(found) > 1]
    assert len(entrances) == ENTRANCES
    assert all(page >= HONEST for page in entrances)
    assert len(set(entrances)) == 1 if kind is FarmKind.TRAP else len(set(entrances)) > 1


def test_a_farm_has_hosts_of_one_site_or_of_many() -> None:
    one, _ = with_farm(Farm(kind=FarmKind.RANDOM, pages=5, hosts=2))
    many, _ = with_farm(Farm(kind=FarmKind.RANDOM, pages=5, hosts=2, is_one_site=False))
    assert one.host[HONEST:].tolist() == many.host[HONEST:].tolist() == [1, 2, 1, 2, 1]
    assert one.site[HONEST:].tolist() == [1, 1, 1, 1, 1]
    assert many.site[HONEST:].tolist() == [1, 2, 1, 2, 1]
    assert not one.host[:HONEST].any()


def test_a_second_farm_has_pages_and_hosts_of_its_own() -> None:
    web, links = with_farm(Farm(kind=FarmKind.HOST, pages=2))
    both, more = planted(web, links, Farm(kind=FarmKind.HOST, pages=2), np.random.default_rng(2))
    assert [list(found) for found in more[HONEST:]] == [[40, 41], [40, 41], [42, 43], [42, 43]]
    assert both.host[HONEST:].tolist() == both.site[HONEST:].tolist() == [1, 1, 2, 2]
    assert both.graph is web.graph


def test_each_order_has_its_share_of_spam_and_its_loss() -> None:
    """A random order reads much of a farm as large as the honest web, and loses importance."""
    web = synthetic_web(Model.COPYING, 2000, seed=1)
    farm = Farm(kind=FarmKind.RANDOM, pages=2000)
    crawls = Crawls(draws=2, seed=1, endowment=1000, fractions=(0.25, 0.5))
    by_cash, by_chance = spam_of(web, ["opic", "random"], [farm], crawls)
    assert 0.1 < by_chance.share[:, -1].mean() < 0.9
    assert by_cash.share.max() < by_chance.share[:, -1].mean() / 2
    assert by_chance.lost[:, -1].mean() > 0.05
