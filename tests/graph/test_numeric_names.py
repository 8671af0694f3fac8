"""Nodes whose names are numbers."""

import numpy as np
import pytest

from minicrawl.graph.text_formats import NumericNames

IDS = NumericNames(np.array([3, 70, 900]))


def test_the_name_of_a_node_is_its_number() -> None:
    assert len(IDS) == 3
    assert IDS.of([2, 0]) == ["900", "3"]
    assert IDS.of([]) == []


@pytest.mark.parametrize("name", ["4", "901", "0", "-3", "x", "", "²", "9" * 30, "9" * 5000])
def test_names_that_no_node_has_are_not_found(name: str) -> None:
    assert IDS.find([name, "70"]) == [None, 1]


def test_each_node_is_a_host_of_its_own() -> None:
    of_node, names = IDS.hosts()
    assert of_node.tolist() == [0, 1, 2]
    assert list(names) == ["3", "70", "900"]
