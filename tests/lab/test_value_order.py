"""The order by value: files of values, and a web in which few hosts have value."""

from array import array
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from minicrawl.errors import UsageError
from minicrawl.graphfiles import read
from minicrawl.lab.importance_curves import Crawls, Curve, order
from minicrawl.lab.page_values import PageValues, read_values
from minicrawl.lab.reading_orders import BY_VALUE
from minicrawl.lab.webs import Model, synthetic_web
from minicrawl.ports import unreported


def test_values_are_those_of_named_pages(tmp_path: Path) -> None:
    (tmp_path / "graph.tsv").write_text("a/x-1\ta/y%20z\na/x-1\tb/x\n", encoding="utf-8")
    (tmp_path / "values").write_text("a/x-1\t0.5\nb/x\n\nunknown\t1\n", encoding="utf-8")
    named = read(tmp_path / "graph.tsv")
    found = read_values(tmp_path / "values", named.names)
    ids = {name: page for page, name in enumerate(named.names.of(range(3)))}
    assert [found.value[ids[name]] for name in ("a/x-1", "a/y%20z", "b/x")] == [0.5, 0, 1]
    one, other, far = (found.traits[ids[name]] for name in ("a/x-1", "a/y%20z", "b/x"))
    assert one & 0xFFFF == other & 0xFFFF != far & 0xFFFF
    assert one >> 16 == far >> 16 != other >> 16


@pytest.mark.parametrize(
    ("line", "named"), [("a\t2", ":1"), ("b\nc\tx", ":2"), ("a\tnan", ":1"), ("z", "no page")]
)
def test_a_file_without_values_is_refused(line: str, named: str, tmp_path: Path) -> None:
    (tmp_path / "graph.tsv").write_text("a\tb\nb\tc\n", encoding="utf-8")
    (tmp_path / "values").write_text(line, encoding="utf-8")
    with pytest.raises(UsageError, match=named):
        read_values(tmp_path / "values", read(tmp_path / "graph.tsv").names)


WEB = synthetic_web(Model.COPYING, 800, 1)


def of_hosts() -> PageValues:
    """Give value to the pages of a fourth of the hosts."""
    return of((WEB.host % 4 == 1).astype(np.float64))


def of(value: NDArray[np.float64]) -> PageValues:
    """Make values of pages that have no traits."""
    return PageValues(value, array("I", bytes(4 * len(value))))


def curves(values: PageValues, draws: int) -> dict[str, Curve]:
    crawls = Crawls(draws=draws, seed=1, endowment=0, fractions=(0.1, 0.3))
    found = order(
        WEB, orders=["siblings", BY_VALUE], crawls=crawls, values=values, progress=unreported
    )
    return {curve.order: curve for curve in found}


@pytest.mark.slow
def test_the_order_learns_which_hosts_have_value() -> None:
    found = curves(of_hosts(), draws=12)
    siblings, by_value = (found[name].value for name in ("siblings", BY_VALUE))
    assert siblings is not None
    assert by_value is not None
    assert all(np.array(by_value.mean) > 1.5 * np.array(siblings.mean))


def test_random_values_cost_little_importance() -> None:
    value = (np.random.default_rng(2).random(WEB.graph.nodes) < 0.2).astype(np.float64)
    found = curves(of(value), draws=3)
    assert found[BY_VALUE].mass == pytest.approx(found["siblings"].mass, rel=0.05)
