"""Pages that are refused when a link to them is met: they never wait, and may wait again later."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from minicrawl.crawl.events import Event, Settled
from minicrawl.opic.ledger.books import StepKind
from minicrawl.states import State
from minicrawl.store.reader import reading
from minicrawl.store.step_log import steps_after
from tests.crawl.fakes import Answer, FakeWeb, Scene, crawl, html, moved, text

A, B = "http://a.example", "http://b.example"


def kinds(path: Path) -> list[tuple[StepKind, int]]:
    """Return the kind of each step, with the number of its pages."""
    with reading(path) as connection:
        return [(row.step.kind, len(row.step.spending.links)) for row in steps_after(connection, 0)]


def test_all_links_out_of_scope_are_refused_by_one_step(path: Path) -> None:
    settled: list[str] = []

    def hear(_: Scene, event: Event) -> None:
        if isinstance(event, Settled):
            settled.append(event.url)

    others = [f"{B}/{n}" for n in range(50)]
    run = crawl(FakeWeb({f"{A}/": html(*others)}), path, f"{A}/", scope="host", hear=hear)
    assert [run.states[url] for url in others] == [State.SCOPE] * 50
    assert [pages for kind, pages in kinds(path) if kind is StepKind.REFUSE] == [50]
    assert settled == [f"{A}/"]


def test_a_redirect_to_a_refused_page_is_forgotten(path: Path) -> None:
    scenes: list[Scene] = []
    web = FakeWeb({f"{A}/": html("/1", "/2")}, elsewhere=moved(f"{B}/"))
    crawl(web, path, f"{A}/", scope="host", hear=lambda scene, _: scenes.append(scene))
    assert len(scenes[0].crawler.parts.ends.suspended) == 0


def test_a_step_for_each_reason(path: Path) -> None:
    answers: dict[str, Answer] = {
        f"{A}/robots.txt": text("User-agent: *\nDisallow: /private"),
        f"{A}/": html("/private", "/image.jpg", f"{B}/", "/1"),
        f"{A}/1": html("/2"),
    }
    run = crawl(FakeWeb(answers), path, f"{A}/", scope="host", max_depth=1)
    assert run.states == {
        f"{A}/": State.FETCHED,
        f"{A}/private": State.ROBOTS,
        f"{A}/image.jpg": State.TYPE,
        f"{B}/": State.SCOPE,
        f"{A}/1": State.FETCHED,
        f"{A}/2": State.DEPTH,
    }
    assert [kind for kind, _ in kinds(path)].count(StepKind.REFUSE) == 4
    assert StepKind.DEAD_END not in dict(kinds(path))


@pytest.mark.parametrize(
    ("scope", "types"), [("any", ["html"]), ("host", ["html", "pdf"])], ids=["scope", "types"]
)
def test_a_page_of_a_refused_type_is_read_once_scope_and_types_admit_it(
    path: Path, scope: str, types: Sequence[str]
) -> None:
    """It counts as out of scope until it is read, whichever of the two is widened first."""
    web = FakeWeb({f"{A}/": html(f"{B}/1.pdf"), f"{B}/1.pdf": html()})
    crawl(web, path, f"{A}/", scope="host", types=["html"])
    assert crawl(web, path, scope=scope, types=types).states[f"{B}/1.pdf"] is State.SCOPE
    run = crawl(web, path, scope="any", types=["html", "pdf"])
    assert run.states[f"{B}/1.pdf"] is State.FETCHED


def test_pages_wait_again_when_a_seed_redirects_to_their_host(path: Path) -> None:
    answers: dict[str, Answer] = {
        f"{A}/": html(f"{B}/1", f"{B}/"),
        f"{A}/old": moved(f"{B}/"),
        f"{B}/1": html(),
    }
    seeds = f"{A}/", f"{A}/old"
    run = crawl(FakeWeb(answers | {f"{B}/": html("/2")}), path, *seeds, scope="host")
    assert {run.states[f"{B}/{name}"] for name in ("", "1")} == {State.FETCHED}


def test_a_new_seed_finds_the_pages_of_its_host(path: Path) -> None:
    answers: dict[str, Answer] = {f"{A}/": html(f"{B}/1"), f"{B}/": html("/1"), f"{B}/1": html()}
    assert crawl(FakeWeb(answers), path, f"{A}/", scope="host").states[f"{B}/1"] is State.SCOPE
    run = crawl(FakeWeb(answers), path, f"{B}/", scope="host")
    assert run.states[f"{B}/1"] is State.FETCHED
