import pytest

from minicrawl.demo.small_web import TOPICS, Quirk, Site
from minicrawl.demo.web import annex, attic

CLOSED = "Disallow: /members/"


def site(number: int, quirk: Quirk = Quirk.NONE, host: str = "wiki.tidepool.example") -> Site:
    return Site(number=number, host=host, name="Tidepool", topic=TOPICS[0], first=0, size=20,
                sections=2, quirk=quirk)  # fmt: skip


def body(site: Site, path: str) -> str:
    return annex(site, path).body.decode()


@pytest.mark.parametrize(
    ("number", "quirk", "rules"),
    [
        (0, Quirk.NONE, [CLOSED, "Sitemap: http://wiki.tidepool.example/sitemap.xml"]),
        (2, Quirk.NONE, [CLOSED]),
        (3, Quirk.PATIENT, ["Crawl-delay: 0.1"]),
    ],
)
def test_robots_txt_has_rules_delay_and_sitemap(
    number: int, quirk: Quirk, rules: list[str]
) -> None:
    assert body(site(number, quirk), "/robots.txt").splitlines() == ["User-agent: *", *rules]


def test_a_host_without_rules_has_no_robots_txt() -> None:
    assert annex(site(1), "/robots.txt").status == 404


def test_the_robots_txt_of_the_shut_host_fails() -> None:
    assert annex(site(0, Quirk.SHUT), "/robots.txt").status == 503


def test_the_sitemap_lists_exactly_the_existing_pages_of_the_attic() -> None:
    listed = body(site(4), "/sitemap.xml")
    assert len(attic(site(4))) == 5
    for url in attic(site(4)):
        assert f"<loc>{url}</loc>" in listed
        assert annex(site(4), url.removeprefix("http://wiki.tidepool.example")).status == 200
    assert annex(site(4), "/attic/0").status == annex(site(4), "/attic/6").status == 404


def test_a_host_without_a_sitemap_has_no_attic() -> None:
    assert attic(site(1)) == ()
    assert annex(site(1), "/sitemap.xml").status == annex(site(1), "/attic/1").status == 404


def test_a_wiki_has_a_noindex_search_page() -> None:
    assert '<meta name="robots" content="noindex, follow">' in body(site(1), "/search")
    assert annex(site(1, host="www.tidepool.example"), "/search").status == 404


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/download/7", "application/pdf"),
        ("/picture/7", "image/png"),
        ("/members/letter-7", "text/html; charset=utf-8"),
    ],
)
def test_files_without_suffix_have_their_type_in_the_header(path: str, content_type: str) -> None:
    assert annex(site(1), path).headers["Content-Type"] == content_type


@pytest.mark.parametrize("path", ["/lost/page-7", "/download/", "/download/x", "/picture/7/8", ""])
def test_other_paths_are_missing(path: str) -> None:
    assert annex(site(1), path).status == 404
