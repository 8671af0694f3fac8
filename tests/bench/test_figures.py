import csv
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from matplotlib.image import imread

from minicrawl.lab.webs import Model, synthetic_web
from minicrawl.report.files.figures import Figure, PlotLine, draw as draw_figure, pyplot
from tests.bench.figure_files import write
from tests.bench.figures import ExperimentSize, FigureWebs, draw_all

pytestmark = pytest.mark.slow

TINY = ExperimentSize(laps=1, draws=1, seed=1, endowment=0, rates=(0.1, 0.2), warm_ups=(0, 1))


class Drawn(NamedTuple):
    """Figures of two draws, and the progress that was reported."""

    folder: Path
    paths: list[Path]
    told: list[float]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    folder, told = tmp_path_factory.mktemp("drawn"), list[float]()
    paths = draw_all(folder, tiny_webs(), replace(TINY, draws=2), told.append)
    return Drawn(folder, paths, told)


def tiny_webs() -> FigureWebs:
    web = synthetic_web(Model.COPYING, 60, seed=1)
    return FigureWebs(known=web.graph, watched=[web.graph, web.graph], crawled=web)


def test_points_have_no_line_between_them(tmp_path: Path) -> None:
    line = PlotLine(label="a line", x=[1, 2], y=[3, 4])
    inked = []
    for name, points in (("line", False), ("points", True)):
        figure = Figure(name=name, title="T", x_label="x", y_label="y", lines=[line], points=points)
        numbers, picture, _ = write(tmp_path, figure)
        assert numbers.read_text() == "line,x,y\na line,1,3\na line,2,4\n"
        inked.append((imread(picture)[..., :3].min(axis=2) < 0.5).sum())
    assert inked[1] < inked[0]


def test_numbers_of_several_draws_have_standard_errors(drawn: Drawn) -> None:
    for name, has_errors in (
        ("figure-7-order", True),
        ("figure-6-window-types", True),
        ("figure-2-convergence-all-pages", False),
    ):
        heading, *rows = csv.reader((drawn.folder / f"{name}.csv").read_text().splitlines())
        assert (heading[-1] == "standard error") == has_errors
        assert {len(row) for row in rows} == {len(heading)}
        assert all(float(row[-1]) >= 0 for row in rows)


def test_lines_differ_without_colours(tmp_path: Path) -> None:
    lines = [PlotLine(label=str(number), x=range(30), y=range(30)) for number in range(12)]
    figure = Figure(name="lines", title="T", x_label="x", y_label="y", lines=lines)
    _, picture, drawing = write(tmp_path, figure)
    axes = pyplot().figure().subplots()
    draw_figure(pyplot(), axes, figure)
    # matplotlib names no dash pattern in public.
    styles = [(line.get_marker(), line._unscaled_dash_pattern) for line in axes.get_lines()]
    assert len({marker for marker, _ in styles}) == len(lines)
    assert len({dash for _, dash in styles}) > 3
    pyplot().close("all")
    assert imread(picture).size
    again = write(tmp_path, figure)[2].read_bytes()
    assert drawing.read_bytes() == again
