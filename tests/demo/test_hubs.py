from minicrawl.demo.pages import COMMONS, DIRECTORY
from minicrawl.demo.special_hosts import INDEXED, PORTAL
from minicrawl.demo.web import DemoWeb
from tests.demo.asking import WEB, ask, links


def links_of(url: str, visits: int = 0, web: DemoWeb = WEB) -> set[str]:
    return set(links(url, ask(url, visits=visits, web=web)))


def test_the_directory_links_to_every_ordinary_host_and_to_two_thousand_pages() -> None:
    topics = {url for url in links_of(DIRECTORY) if url.startswith(DIRECTORY)} - {DIRECTORY}
    found = set().union(*map(links_of, topics))
    assert {f"http://{host}/" for host in WEB.hosts[:20]} <= found
    for pages in (2000, 5999):
        url = f"{DIRECTORY}everything"
        entries = links_of(url, web=DemoWeb(pages)) - links_of(DIRECTORY, web=DemoWeb(pages))
        assert INDEXED - 20 <= len(entries) <= INDEXED


def test_the_portal_has_new_headlines_at_each_visit() -> None:
    first, second = links_of(PORTAL), links_of(PORTAL, visits=1)
    assert len(first - second) > 10
    assert all(ask(url).status in {200, 301, 302} for url in first | second if "crackle" not in url)
    assert any(not url.startswith(COMMONS) for url in links_of(f"{COMMONS}licence"))
    for hub in (DIRECTORY, PORTAL, COMMONS):
        assert ask(f"{hub}else").status == 404
