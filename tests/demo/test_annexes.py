import pytest

from minicrawl.demo.sites import Quirk, Site
from minicrawl.demo.web import annex, attic
from minicrawl.demo.words import TOPICS

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
