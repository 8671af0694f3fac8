"""The policy of rendering learns which hosts and templates gain from it."""

import pytest

from minicrawl.crawl.rendering.renderer import HOST_TRIES, TRIES, RenderPolicy, has_gained
from minicrawl.model import ParsedPage, Scripting, ScriptKind

HOST, OTHER = "a.example", "b.example"
SHELL = Scripting(ScriptKind.SHELL, 1)
SOME = Scripting(ScriptKind.SOME, 2)


def renderings(known: RenderPolicy, scripting: Scripting, gains: list[bool]) -> int:
    """Return how many pages are rendered in a row of pages with these gains."""
    done = 0
    for gained in gains:
        if known.is_worth(HOST, scripting):
            known.learn(HOST, scripting, has_gained=gained)
            done += 1
    return done


@pytest.mark.parametrize(
    ("scripting", "gains", "rendered"),
    [
        *((one, [False] * 100, TRIES[one.kind]) for one in (SHELL, SOME)),
        *((one, [True] * 100, 100) for one in (SHELL, SOME)),
        (SHELL, [True, False, False, False] * 25, 100),
        (SHELL, [True] + [False] * 99, 6),
    ],
)
def test_a_template_is_rendered_while_it_gains_enough(
    scripting: Scripting, gains: list[bool], rendered: int
) -> None:
    assert renderings(RenderPolicy(), scripting, gains) == rendered


@pytest.mark.parametrize(
    ("scripting", "fetches", "rendered"),
    [
        (Scripting(ScriptKind.NONE, 3), [False] * 100, 1),
        (SOME, [False] * 100, 2),
        (SHELL, [True] + [False] * 99, 100),
        (Scripting(ScriptKind.NONE), [True] * 100, 0),
    ],
)
def test_for_an_archive_a_template_is_rendered_unless_it_fetches_nothing(
    scripting: Scripting, fetches: list[bool], rendered: int
) -> None:
    assert renderings(RenderPolicy(is_for_replay=True), scripting, fetches) == rendered


def test_gains_of_a_template_of_one_host_do_not_count_for_others() -> None:
    known = RenderPolicy()
    renderings(known, SHELL, [False] * 10)
    assert known.is_worth(OTHER, SHELL)
    assert known.is_worth(HOST, SOME)


def test_a_host_that_never_gains_is_no_longer_rendered_whatever_its_templates() -> None:
    known = RenderPolicy()
    templates = [Scripting(ScriptKind.SOME, 100 + number) for number in range(100)]
    assert sum(renderings(known, one, [False]) for one in templates) == HOST_TRIES
    assert not known.is_worth(HOST, Scripting(ScriptKind.SHELL, 1000))


def test_the_number_of_known_templates_is_bounded() -> None:
    known = RenderPolicy()
    renderings(known, SHELL, [False] * HOST_TRIES)
    for number in range(9_000):
        known.learn(f"{number}.example", SHELL, has_gained=True)
    assert not known.is_worth(HOST, SHELL)
    for number in range(9_000, 11_000):
        known.learn(f"{number}.example", SHELL, has_gained=True)
    assert known.is_worth(HOST, SHELL)


@pytest.mark.parametrize(
    ("after", "gains"),
    [
        (ParsedPage(links=("a", "b")), True),
        (ParsedPage(links=("a",)), False),
        (ParsedPage(), False),
        (ParsedPage(refresh="c"), True),
    ],
)
def test_a_gain_is_a_link_or_a_redirect(after: ParsedPage, gains: bool) -> None:
    assert has_gained(ParsedPage(links=("a",)), after) is gains
