"""Each link target is exactly one of alive, dead, blocked, forbidden and unchecked."""

from pathlib import Path

import httpx
import pytest

from minicrawl.cli import main
from minicrawl.report.archived.page_versions import kept_pages, last_version
from minicrawl.report.links.problems import broken_links, linked_verdicts
from minicrawl.report.links.verdicts import verdict_of
from minicrawl.report.snapshot import snapshot
from minicrawl.states import LinkVerdict, State
from minicrawl.store.records import StoreTerms
from minicrawl.web.responses.challenges import BLOCKS, COOKIE_WALL
from tests.cli.calls import Captured, as_json, printed
from tests.stores import filled_store
from tests.webs import crawl_web

HOST, OTHER = "https://a.example", "https://b.example"
WALLS = {
    "/cookies": "/cookies",
    "/consent": "https://consent.c.example/ask?to=x",
    "/journal": "/action/cookieAbsent",
}
LINKS = (
    *("/there", "/gone", "/wall", f"{OTHER}/there", f"{OTHER}/gone", f"{OTHER}/wall"),
    *(f"{OTHER}/private", f"{OTHER}/login", f"{OTHER}/slow-down", f"{HOST}/paper.pdf"),
    *("/cookies", f"{OTHER}/cookies", f"{OTHER}/consent", "/consent", "/journal"),
)


@pytest.mark.parametrize(
    ("state", "status", "detail", "expected"),
    [
        (State.FETCHED, 200, "", LinkVerdict.ALIVE),
        (State.MOVED, 301, "", LinkVerdict.ALIVE),
        (State.TYPE, 200, "image/png", LinkVerdict.ALIVE),
        (State.TYPE, None, "", LinkVerdict.UNCHECKED),
        (State.NOT_FOUND, 404, "", LinkVerdict.DEAD),
        (State.DNS, None, "", LinkVerdict.DEAD),
        (State.ADDRESS, None, "", LinkVerdict.DEAD),
        (State.CLIENT_ERROR, 403, "", LinkVerdict.DEAD),
        (State.CLIENT_ERROR, 403, f"{BLOCKS}DataDome", LinkVerdict.BLOCKED),
        (State.SERVER_ERROR, 503, f"{BLOCKS}Cloudflare; tried 3 times", LinkVerdict.BLOCKED),
        (State.SERVER_ERROR, 503, "", LinkVerdict.DEAD),
        (State.THROTTLED, 429, "", LinkVerdict.BLOCKED),
        (State.CLIENT_ERROR, 401, "", LinkVerdict.UNCHECKED),
        (State.ROBOTS, None, "", LinkVerdict.FORBIDDEN),
        (State.SCOPE, None, "", LinkVerdict.UNCHECKED),
        (State.UNREAD, None, "", LinkVerdict.UNCHECKED),
        (State.BAD_REDIRECT, 302, "that is the page itself", LinkVerdict.DEAD),
        (State.BAD_REDIRECT, 302, f"/; itself; {COOKIE_WALL}", LinkVerdict.BLOCKED),
        (State.LOST, None, "", LinkVerdict.UNCHECKED),
    ],
)
def test_verdicts(state: State, status: int | None, detail: str, expected: LinkVerdict) -> None:
    assert verdict_of(state, status, detail) is expected


NONE = dict.fromkeys(("alive", "dead", "blocked", "forbidden", "unchecked"), 0)
COUNTS = {"alive": 3, "dead": 2, "blocked": 8, "forbidden": 1, "unchecked": 1}


def web(request: httpx.Request) -> httpx.Response:
    path = request.url.path
    if path == "/robots.txt":
        return httpx.Response(200, text="User-agent: *\nDisallow: /private")
    if path == "/":
        return httpx.Response(200, html="".join(f'<a href="{link}">x</a>' for link in LINKS))
    if path == "/wall":
        title = "Making sure you're not a bot!"
        status = 200 if request.url.host == "a.example" else 403
        return httpx.Response(status, html=f"<title>{title}</title>")
    if path in WALLS:
        return httpx.Response(302, headers={"location": WALLS[path], "set-cookie": "a=b"})
    statuses = {"/gone": 404, "/login": 401, "/slow-down": 429}
    return httpx.Response(statuses.get(path, 200), html="a page")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("verdicts") / "crawl.db"
    return crawl_web(path, web, [HOST], scope="host", check="external", max_tries=1)


@pytest.mark.slow
def test_blocked_links_are_distinguished_from_dead_ones(store: Path) -> None:
    with snapshot(store) as seen:
        found = {link.target: link.verdict for link in broken_links(seen)}
        counts = linked_verdicts(seen)
    assert found == {
        f"{HOST}/gone": "dead",
        f"{OTHER}/gone": "dead",
        f"{HOST}/wall": "blocked",
        f"{OTHER}/wall": "blocked",
        f"{OTHER}/slow-down": "blocked",
        **{
            f"{host}/{wall}": "blocked" for host in (HOST, OTHER) for wall in ("cookies", "consent")
        },
        f"{HOST}/journal": "blocked",
    }
    assert counts == COUNTS


def test_linked_pages_of_a_store_without_links_are_not_counted(
    tmp_path: Path, capsys: Captured
) -> None:
    path = filled_store(tmp_path / "crawl.db", StoreTerms(links=False))
    assert as_json(capsys, "status", "--store", path)["linked"] is None


def test_status_and_report_count_all_five(store: Path, tmp_path: Path, capsys: Captured) -> None:
    assert as_json(capsys, "status", "--store", store)["linked"] == COUNTS
    assert main(["report", str(tmp_path / "site.html"), "--store", str(store)]) == 0
    page = (tmp_path / "site.html").read_text(encoding="utf-8")
    assert all(f"{number:,} {name}" in page for name, number in COUNTS.items())


@pytest.mark.parametrize(
    ("verdict", "targets"), [("forbidden", {f"{OTHER}/private"}), ("unchecked", {f"{OTHER}/login"})]
)
def test_a_requested_verdict_is_listed_and_sets_the_exit_code(
    store: Path, verdict: str, targets: set[str], capsys: Captured
) -> None:
    broken = ("broken", "--verdict", verdict, "--exit-code", "--store", store)
    assert {row["target"] for row in as_json(capsys, *broken, code=1)} == targets


def test_challenges_are_neither_indexed_nor_near_duplicates(
    tmp_path: Path, capsys: Captured
) -> None:
    """Crawl an article and three challenge pages with status 200."""
    walls = [f"/wall{number}" for number in range(3)]

    def answer(request: httpx.Request) -> httpx.Response:
        title = "Making sure you're not a bot!" if request.url.path in walls else "An article"
        links = "".join(f'<a href="{wall}">w</a>' for wall in walls)
        return httpx.Response(200, html=f"<title>{title}</title><p>{'a text ' * 40}{links}")

    store = crawl_web(tmp_path / "walls.db", answer, [HOST])
    assert main(["index", "--store", str(store)]) == 0
    with snapshot(store) as seen, kept_pages(seen) as archive:
        assert not len(seen.near_duplicates.pages)
        assert all(last_version(archive, f"{HOST}{wall}") is None for wall in walls)
        assert last_version(archive, f"{HOST}/") is not None
        assert linked_verdicts(seen) == NONE | {"blocked": 3}
    assert "wall" not in printed(capsys, "search", "text", "--json", "--store", store)


def test_the_exit_code_depends_on_dead_links_alone(
    store: Path, tmp_path: Path, capsys: Captured
) -> None:
    assert printed(capsys, "broken", "--exit-code", "--store", store, code=1)

    def blocked(request: httpx.Request) -> httpx.Response:
        is_alive = request.url.path in {"/gone", "/cookies", "/consent", "/journal"}
        return httpx.Response(200, html="x") if is_alive else web(request)

    other = crawl_web(tmp_path / "blocked.db", blocked, [HOST], scope="host")
    found = as_json(capsys, "broken", "--exit-code", "--store", other)
    assert [row["target"] for row in found] == [f"{HOST}/wall"]
