"""Stars of pages, and random links."""

from random import Random

from tests.crawl.fakes import Answer, text, web_of

A, B, C = "http://a.example", "http://b.example", "http://c.example"
FORBIDDING = text("User-agent: *\nDisallow: /")


def star(origin: str, leaves: int) -> dict[str, Answer]:
    """Return a page and `leaves` more pages of its host, to which it links."""
    names = [f"{origin}/{leaf}" for leaf in range(leaves)]
    return web_of({f"{origin}/": names} | {name: [] for name in names})


def stars(hosts: int, leaves: int) -> dict[str, Answer]:
    """Return the stars of several hosts, h0 and so on."""
    return {
        url: page
        for host in range(hosts)
        for url, page in star(f"http://h{host}.example", leaves).items()
    }


def tangle(pages: int, hosts: int, links: int, seed: int = 1) -> dict[str, list[str]]:
    """Return random links between pages; the first pages get more of them."""
    rng = Random(seed)
    names = [f"http://h{page % hosts}.example/{page}" for page in range(pages)]
    return {
        name: [names[int(pages * rng.random() ** 2)] for _ in range(rng.randrange(links))]
        for name in names
    }


def reach(links: dict[str, list[str]]) -> set[str]:
    """Return the pages to which links lead from the first page."""
    pages: set[str] = set()
    waiting = [next(iter(links))]
    while waiting:
        url = waiting.pop()
        if url not in pages:
            pages.add(url)
            waiting += links[url]
    return pages
