"""Rules of robots.txt stay valid for a day, and long ones are read from the store again."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from minicrawl.crawl.hosts.robots import MOST_PATTERNS
from minicrawl.crawl.workers.parser import PageParser
from minicrawl.model import Failed
from minicrawl.ports import Timed
from minicrawl.states import State
from minicrawl.web.robots.rules import Rules
from tests.crawl.fakes import Answer, FakeWeb, Scene, crawl, failed, html, in_turn, text, web_of
from tests.crawl.hosts.test_onboarding import ROBOTS, A, row_of


@pytest.mark.slow
@pytest.mark.parametrize("field", ["Disallow: /{}/", "Disallow: /7/\nSitemap: /{}.xml"])
def test_long_rules_of_many_hosts_are_obeyed_though_not_all_are_in_memory(
    path: Path, field: str
) -> None:
    """The others are read from the store: none is requested twice, and no page too soon."""
    most = 10
    hosts = [f"http://{name}.example" for name in "abcdefghijkl"]
    patterns = "\n".join(field.format(number) for number in range(MOST_PATTERNS // most))
    robots_txt = text(f"User-agent: *\nCrawl-delay: 5\n{patterns}")
    web = FakeWeb({f"{host}/robots.txt": robots_txt for host in hosts})
    web.elsewhere = lambda request: html("/x", "/7/", title=request.url)
    most_in_memory: list[int] = []

    def hear(scene: Scene, _: object) -> None:
        kept = [scene.crawler.parts.hosts[number].rules for number in range(len(hosts))]
        most_in_memory.append(sum(rules is not None for rules in kept))

    crawl(web, path, *(f"{host}/" for host in hosts), hear=hear, concurrency=1)
    assert max(most_in_memory) <= most + 1
    assert sorted(web.asked) == sorted(f"{host}/{page}" for host in hosts for page in ("", "x"))
    assert len(web.visits) == 3 * len(hosts)
    for host in hosts:
        for before, after in pairwise(web.visits_of(host)):
            assert after.began >= before.ended + 5


LONG = "User-agent: *\n" + "".join(f"Disallow: /{n}/\n" for n in range(5000))


def web_with_long_rules() -> FakeWeb:
    pages = web_of({f"{A}/": ["/1/x", "/a", "/b"], f"{A}/a": [], f"{A}/b": []})
    return FakeWeb(pages | {ROBOTS: text(LONG)})


def test_long_stored_rules_are_parsed_outside_the_loop(path: Path) -> None:
    crawl(web_with_long_rules(), path, f"{A}/", pages=1)
    recalled: list[str] = []
    again = web_with_long_rules()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Rules, "from_text", staticmethod(recalled.append))
        run = crawl(again, path, f"{A}/")
    assert recalled == []
    assert run.states[f"{A}/1/x"] is State.ROBOTS
    assert run.states[f"{A}/a"] is State.FETCHED
    assert ROBOTS not in [visit.url for visit in again.visits]


def test_long_rules_are_still_stored_after_a_strike(path: Path) -> None:
    web = web_with_long_rules()
    web.answers[f"{A}/a"] = in_turn(failed(State.THROTTLED, retry_after="60"), html())
    crawl(web, path, f"{A}/")
    assert row_of(path).robots == Rules.from_text(LONG).text()


def test_stored_rules_that_cannot_be_parsed_are_requested_again(path: Path) -> None:
    crawl(web_with_long_rules(), path, f"{A}/", pages=1)
    again = web_with_long_rules()

    parse, too_much = PageParser.parse_rules, [Timed(Failed(kind=State.TOO_LARGE))]

    async def too_much_at_first(parser: PageParser, *given: Any) -> Timed[Any]:
        return too_much.pop() if too_much else await parse(parser, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PageParser, "parse_rules", too_much_at_first)
        run = crawl(again, path, f"{A}/")
    assert run.states[f"{A}/a"] is State.FETCHED
    assert ROBOTS in [visit.url for visit in again.visits]


def robots_asked(path: Path, robots_txt: Answer, later_s: float, pages: int = 1) -> int:
    """Crawl later, until so many pages are read. Return how often robots.txt was requested."""
    links = ("/1", "/2", "/3", "/private")
    web = FakeWeb({ROBOTS: robots_txt}, lambda request: html(*links, title=request.url))
    crawl(web, path, f"{A}/", f"{A}/{later_s}", later_s=later_s, pages=pages)
    return [visit.url for visit in web.visits].count(ROBOTS)


def test_robots_txt_is_valid_for_a_day_and_its_failure_for_an_hour(path: Path) -> None:
    moments = enumerate((0, 86_300, 86_500), 1)
    assert [robots_asked(path, text(""), s, pages) for pages, s in moments] == [1, 0, 1]
    fails, other = failed(State.SERVER_ERROR), path.with_name("other.db")
    assert [robots_asked(other, fails, s) for s in (0, 3500, 3700)] == [3, 0, 3]


def test_earlier_rules_stay_valid_while_robots_txt_fails(path: Path) -> None:
    assert robots_asked(path, text("User-agent: *\nDisallow: /private"), 0) == 1
    web = FakeWeb({ROBOTS: failed(State.SERVER_ERROR)})
    run = crawl(web, path, later_s=90_000)
    assert [visit.url for visit in web.visits].count(ROBOTS) == 3
    assert [url for url, state in run.states.items() if state is State.ROBOTS] == [f"{A}/private"]
