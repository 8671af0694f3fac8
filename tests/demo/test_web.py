import pytest
from hypothesis import given, strategies as st

from minicrawl.demo.sites import Quirk, Site
from minicrawl.demo.web import DemoWeb, annex, attic
from minicrawl.demo.words import TOPICS
from tests.demo.asking import WEB, ask, link_graph, links, nofollow_links
from tests.processes import run_python

GRAPH = link_graph(WEB)
DIGEST = """
import zlib
from minicrawl.demo.web import DemoWeb
from tests.demo.asking import link_graph
web = DemoWeb(200)
print(zlib.crc32(repr((web.hosts, web.seeds, link_graph(web))).encode()))
"""


@pytest.mark.slow
def test_the_web_depends_on_its_seed_and_not_on_that_of_hashes() -> None:
    assert link_graph(DemoWeb(500)) == GRAPH
    assert link_graph(DemoWeb(500, seed=1)) != GRAPH
    one, other = (
        run_python("-c", DIGEST, variables={"PYTHONHASHSEED": seed}).stdout for seed in "12"
    )
    assert one == other != ""


def test_responses_do_not_depend_on_the_order_of_requests() -> None:
    fresh = DemoWeb(500)
    assert all(ask(url, web=fresh) == ask(url) for url in reversed(GRAPH))


def test_every_page_of_an_open_host_can_be_reached_from_the_seeds() -> None:
    hubs, shut = 1 + 2 + 10, 6
    assert len(GRAPH) == 500 - shut + hubs


def test_every_link_has_a_response_or_is_broken_on_purpose() -> None:
    targets = {link for url in GRAPH for link in links(url, ask(url, visits=1))}
    statuses = {link: ask(link, visits=1).status for link in targets}
    assert all("/lost/" in link for link, status in statuses.items() if status == 404)
    assert set(statuses.values()) == {200, 301, 302, 404}
    assert any(nofollow_links(ask(url, visits=1)) for url in GRAPH)


def test_a_conditional_request_for_a_current_copy_is_304() -> None:
    url = WEB.seeds[1]
    answer = ask(url)
    etag, date = answer.headers["ETag"], answer.headers["Last-Modified"]
    for known in (
        {"if-none-match": etag},
        {"if-none-match": f'"x", W/{etag}'},
        {"if-modified-since": date},
        {"if-none-match": etag, "if-modified-since": "another day"},
    ):
        again = ask(url, headers=known)
        assert (again.status, again.body, again.headers) == (304, b"", answer.headers)

    for other in ({"if-none-match": '"x"', "if-modified-since": date}, {"if-modified-since": "x"}):
        assert ask(url, headers=other) == answer


def test_a_changed_page_is_sent_with_a_later_date() -> None:
    url = "http://news.branch-line.example/"
    first = ask(url)
    second = ask(url, visits=1, headers={"if-none-match": first.headers["ETag"]})
    assert second.status == 200
    assert first.headers["Last-Modified"] == "Tue, 20 May 2003 00:00:00 GMT"
    assert second.headers["Last-Modified"] == "Wed, 21 May 2003 00:00:00 GMT"


def test_a_page_is_at_several_urls_and_on_a_mirror() -> None:
    url = "http://www.harbour-museum.example/"
    assert ask(f"{url}index.html") == ask(f"{url}?from=elsewhere") == ask(url)
    printed = ask(f"{url}boats/?print").body
    assert f'<link rel="canonical" href="{url}boats/">'.encode() in printed
    assert b"canonical" not in ask(f"{url}boats/").body
    (mirror,) = (host for host in WEB.hosts if host.startswith("mirror."))
    (original,) = (host for host in WEB.hosts if host.endswith(f".{mirror[7:]}") and host != mirror)
    pages = [url for url in GRAPH if url.startswith(f"http://{original}/")]
    assert len(pages) > 5
    assert all(ask(url) == ask(url.replace(original, mirror)) for url in pages)


def test_only_the_slow_host_delays_its_responses() -> None:
    slow = "http://www.sleepy-ferry.example/"
    assert ask(slow).delay_s == ask(f"{slow}robots.txt").delay_s == 0.5
    assert not any(ask(url).delay_s for url in GRAPH if "sleepy" not in url)


def test_the_flaky_host_fails_at_first_and_recovers() -> None:
    urls = [url for url in GRAPH if "crackle" in url]
    assert {ask(url).status for url in urls} == {500, 503}
    assert {ask(url).headers.get("Retry-After") for url in urls} == {None, "1"}
    assert {ask(url, visits=visits).status for url in urls for visits in (1, 2, 3, 4)} == {200}
    assert ask("http://radio.crackle-fm.example/robots.txt").status != 503


@given(
    host=st.sampled_from(WEB.hosts),
    target=st.text() | st.from_regex(r"(/[a-z0-9.-]{0,9}){1,4}(\?[a-z]*)?", fullmatch=True),
    visits=st.integers(0, 10**9),
)
def test_any_request_has_a_reproducible_response(host: str, target: str, visits: int) -> None:
    answer = WEB.answer(host, target, {}, visits)
    assert answer == WEB.answer(host, target, {}, visits)
    assert answer.status in {200, 301, 302, 404, 500, 503}


CLOSED = "Disallow: /members/"
HOST = "wiki.tidepool.example"


def site(number: int, quirk: Quirk = Quirk.NONE, host: str = HOST) -> Site:
    return Site(number=number, host=host, name="Tidepool", topic=TOPICS[0], first=0, size=20,
                sections=2, quirk=quirk)  # fmt: skip


def body(site: Site, path: str) -> str:
    return annex(site, path).body.decode()


@pytest.mark.parametrize(
    ("number", "quirk", "rules"),
    [
        (0, Quirk.NONE, [CLOSED, f"Sitemap: http://{HOST}/sitemap.xml"]),
        (2, Quirk.NONE, [CLOSED]),
        (3, Quirk.PATIENT, ["Crawl-delay: 0.1"]),
    ],
)
def test_robots_txt_has_rules_delay_and_sitemap(
    number: int, quirk: Quirk, rules: list[str]
) -> None:
    assert body(site(number, quirk), "/robots.txt").splitlines() == ["User-agent: *", *rules]


def test_the_sitemap_lists_exactly_the_existing_pages_of_the_attic() -> None:
    listed = body(site(4), "/sitemap.xml")
    assert len(attic(site(4))) == 5
    for url in attic(site(4)):
        assert f"<loc>{url}</loc>" in listed
        assert annex(site(4), url.removeprefix(f"http://{HOST}")).status == 200
    assert attic(site(1)) == ()


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/download/7", "application/pdf"),
        ("/picture/7", "image/png"),
        ("/members/letter-7", "text/html; charset=utf-8"),
        ("/search", "text/html; charset=utf-8"),
    ],
)
def test_files_without_suffix_have_their_type_in_the_header(path: str, content_type: str) -> None:
    assert annex(site(1), path).headers["Content-Type"] == content_type


def test_other_paths_are_missing_and_the_shut_host_fails() -> None:
    assert annex(site(0, Quirk.SHUT), "/robots.txt").status == 503
    assert '<meta name="robots" content="noindex, follow">' in body(site(1), "/search")
    assert annex(site(1, host="www.tidepool.example"), "/search").status == 404
    for number, paths in (
        (1, ("/robots.txt", "/sitemap.xml", "/attic/1", "/lost/page-7", "/download/")),
        (1, ("/download/x", "/picture/7/8", "")),
        (4, ("/attic/0", "/attic/6")),
    ):
        assert {annex(site(number), path).status for path in paths} == {404}
