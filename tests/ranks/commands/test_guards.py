"""`rank degree` with guards against collusion, on a random web and against a plain count."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.cli.calls import Captured, ranked, refusal, scores

Links = list[tuple[str, str]]

DOMAINS = ("alpha.org", "beta.com", "gamma.co.uk", "delta.github.io", "10.0.0.7")
HOSTS = ("", "www.", "shop.")
PAGES = 60
LINKS = 1292


def random_links() -> Links:
    """Links of pages on several hosts of five domains; most of them to a few pages."""
    rng = Random(22)
    pages = [
        f"http://{rng.choice(HOSTS) if domain[0].isalpha() else ''}{domain}/{number}"
        for number in range(PAGES)
        for domain in [rng.choice(DOMAINS)]
    ]
    found = dict[tuple[str, str], None]()
    while len(found) < LINKS:
        source, target = rng.choice(pages), pages[int(PAGES * rng.random() ** 1.5)]
        if source != target:
            found[source, target] = None
    return list(found)


def domain_of(url: str) -> str:
    (found,) = (domain for domain in DOMAINS if url.split("/")[2].endswith(domain))
    return found


def counted(links: Links, most: int, *, inside_only: bool) -> Counter[str]:
    """Number of links to each page under a cap that the links of the first pages fill."""
    places = dict[str, int]()
    for source, target in links:
        places.setdefault(source, len(places))
        places.setdefault(target, len(places))
    seen, counts = Counter[tuple[str, str]](), Counter[str]()
    for source, target in sorted(links, key=lambda link: places[link[0]]):
        domain = domain_of(source)
        if not inside_only or domain == domain_of(target):
            seen[domain, target] += 1
        counts[target] += seen[domain, target] <= most
    return counts


@pytest.mark.parametrize("most", [0, 1, 4, 7])
def test_a_cap_drops_exactly_the_links_above_it(
    tmp_path: Path, capsys: Captured, most: int
) -> None:
    links, file = random_links(), tmp_path / "links.csv"
    file.write_text("source,target\n" + "".join(f"{one},{other}\n" for one, other in links))
    inside, any_domain = (counted(links, most, inside_only=only) for only in (True, False))
    for option, wanted in (("--intra-cap", inside), ("--domain-cap", any_domain)):
        total = wanted.total()
        if not total:
            assert option in refusal(capsys, "rank", "degree", "--graph", file, option, "0")
            continue
        found = ranked(capsys, "degree", "--graph", file, "--n", "0", option, str(most))
        assert found["edges"] == total
        assert scores(found) == pytest.approx({one: wanted[one] / total for one in scores(found)})
    crossing = sum(domain_of(one) != domain_of(other) for one, other in links)
    assert LINKS > inside.total() >= crossing
    assert inside.total() > any_domain.total()
