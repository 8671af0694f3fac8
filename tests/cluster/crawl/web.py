"""Small webs over several shards, the same for every visitor."""

from collections.abc import Mapping
from itertools import count
from random import Random

from minicrawl.demo.pages import DemoResponse, moved, refused
from minicrawl.opic.ledger.channels import shard_of

_MISSING = refused(404, "There is no such page.")


def hosts(shards: int, of_each: int) -> list[str]:
    """Return so many hosts of each shard, by turns."""
    names = (f"site{number}.example" for number in count())
    found: dict[int, list[str]] = {shard: [] for shard in range(shards)}
    while min(map(len, found.values())) < of_each:
        name = next(names)
        found[shard_of(name, shards)].append(name)
    return [found[shard][place] for place in range(of_each) for shard in range(shards)]


class LittleWeb:
    """Pages with random links to all hosts; some redirect or have another canonical URL."""

    def __init__(self, shards: int, of_each: int, pages: int) -> None:
        self.hosts, self.pages = hosts(shards, of_each), pages

    def url(self, place: int) -> str:
        return f"http://{self.hosts[place % len(self.hosts)]}/{place // len(self.hosts)}"

    @property
    def seeds(self) -> tuple[str, ...]:
        return tuple(self.url(place) for place in range(4))

    def answer(
        self, host: str, target: str, _headers: Mapping[str, str], _visits: int
    ) -> DemoResponse:
        name = target[1:]
        if not name.isdigit() or int(name) >= self.pages:
            return _MISSING
        chance = Random(f"{host}{target}")
        places = [chance.randrange(len(self.hosts) * self.pages) for _ in range(5)]
        links = [self.url(place) for place in places]
        kind = chance.random() if name != "0" else 1
        if kind < 0.1:
            return moved(302, links[0])
        head = f'<link rel="canonical" href="{links[0]}">' if kind < 0.2 else ""
        body = "".join(f'<a href="{link}">{link}</a> ' for link in links)
        said = f"<title>{host}{target}</title>{head}<p>This is {target} of {host}.</p>{body}"
        return DemoResponse(200, {"Content-Type": "text/html"}, said.encode())


class CircleWeb:
    """Pages that redirect in a circle, each to one of the next host."""

    def __init__(self, shards: int) -> None:
        self.hosts = hosts(shards, 1)
        self.seeds = (f"http://{self.hosts[0]}/",)

    def answer(
        self, host: str, target: str, _headers: Mapping[str, str], _visits: int
    ) -> DemoResponse:
        if target == "/robots.txt":
            return _MISSING
        following = self.hosts[(self.hosts.index(host) + 1) % len(self.hosts)]
        if target == "/":
            links = f'<a href="http://{host}/circle">in</a><a href="http://{following}/">on</a>'
            return DemoResponse(200, {"Content-Type": "text/html"}, links.encode())
        return moved(301, f"http://{following}/circle")
