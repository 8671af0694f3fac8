"""`minicrawl plot`: pictures of a crawl, and errors of one line."""

from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from minicrawl.cli import main
from minicrawl.graph.degrees import DegreeDistribution
from minicrawl.report.files.figures import pyplot
from minicrawl.report.progress.history import remade
from minicrawl.report.site.crawl_picture import (
    MOST_HOSTS,
    crawl_picture,
    curves,
    draw_crawl,
)
from minicrawl.store.records import StoreTerms
from tests.cli.calls import Captured, refusal
from tests.stores import HandCrawl, filled_store

PAGES = [f"http://{'abc'[number % 3]}{'x' * 40}.example/{number}" for number in range(9)]


@pytest.fixture
def store(path: Path) -> Path:
    crawl = HandCrawl(path)
    crawl.seeds(PAGES[:1])
    for number in range(7):
        crawl.read(PAGES[number], [PAGES[number + 1], PAGES[0]])
    crawl.close()
    return crawl.path


@pytest.mark.parametrize("ending", ["svg", "PNG"])
@pytest.mark.proof
def test_a_crawl_is_one_picture(store: Path, tmp_path: Path, capsys: Captured, ending: str) -> None:
    picture = tmp_path / f"crawl.{ending}"
    assert main(["plot", str(picture), "--store", str(store)]) == 0
    assert capsys.readouterr().out == f"{picture}\n"
    if ending == "svg":
        assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    else:
        assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_a_crawl_of_one_page_is_plotted(tmp_path: Path) -> None:
    with closing(HandCrawl(tmp_path / "crawl.db")) as crawl:
        crawl.seeds(PAGES[:1])
        crawl.read(PAGES[0], PAGES[1:])
    assert main(["plot", str(tmp_path / "crawl.svg"), "--store", str(crawl.path)]) == 0


def test_a_store_without_links_has_no_history_to_plot(tmp_path: Path, capsys: Captured) -> None:
    path = filled_store(tmp_path / "crawl.db", StoreTerms(links=False))
    said = refusal(capsys, "plot", tmp_path / "crawl.png", "--store", path)
    assert "--no-links" in said


def test_each_curve_has_a_point_for_each_sample(store: Path) -> None:
    found = remade(store, points=4)
    figures = {figure.name: figure for figure in curves(found)}
    known, crawled = figures["pages"].lines
    assert list(known.y) == [sample.known for sample in found]
    assert list(crawled.y) == [sample.crawled for sample in found]
    assert len(figures["pace"].lines[0].y) == 3
    assert figures["links-to-a-page"].log_x
    unknown = [replace(sample, importance_gathered=None) for sample in found]
    (gathered,) = next(f for f in curves(unknown) if f.name == "importance-gathered").lines
    assert list(gathered.y) == []


@pytest.mark.slow
def test_a_plausible_power_law_is_drawn_and_no_host_is_needed(store: Path, tmp_path: Path) -> None:
    (last,) = remade(store, points=1)
    tail = DegreeDistribution(
        bins=((6, 90), (20, 9)),
        most=30,
        exponent=2.1,
        exponent_error=0.1,
        ks_distance=0.01,
        p_value=0.5,
    )
    picture, texts = tmp_path / "x.svg", []
    for p_value in (0.5, 0.0):
        degrees = replace(tail, p_value=p_value)
        sample = replace(last, outline=replace(last.outline, in_degrees=degrees))
        draw_crawl(picture, "a title", [sample], {}, {})
        texts.append(picture.read_text(encoding="utf-8"))
    assert [text.count("exponent 2.10") for text in texts] == [1, 0]


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, MOST_HOSTS])
def test_each_host_has_a_readable_name(store: Path, count: int) -> None:
    """No name overlaps another one or the bars, or leaves the picture; all names differ."""
    names = [f"host-{number}.{'long-name-of-a-site.' * 4}example" for number in range(count)]
    pages = {name: 1000 // (number + 1) for number, name in enumerate(names)}
    links = {(one, other): 1 + len(one) for one in names[:9] for other in names if one != other}
    canvas = crawl_picture("$a", remade(store, points=4), pages, links)
    canvas.set_dpi(120)
    canvas.draw_without_rendering()
    bars = canvas.subfigs[1].axes[0]
    labels = bars.get_yticklabels()
    boxes = [label.get_window_extent() for label in labels]
    assert len({label.get_text() for label in labels}) == len(boxes) == count
    assert min(box.height for box in boxes) >= 10, "pixels"
    assert all(one.y0 > other.y1 for one, other in pairwise(boxes))
    assert all(box.x0 >= 0 and box.x1 < bars.get_window_extent().x0 for box in boxes)
    pyplot().close(canvas)
