"""Commands, inputs and values of the walk, and exceptions with their reasons."""

import contextlib
import io
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import NamedTuple
from unittest.mock import patch

from minicrawl.cli import main
from minicrawl.config.table import TABLE
from tests.cli.inert.walk import Walk
from tests.cli.inert.web import LINKED, LINKING, ODD, crawl_twice

URLS = [f"http://{host}.{site}.org/{page}" for page in "01" for site in "abcd" for host in "xy"]
GRAPHS = {"ids.txt": range(16), "web.tsv": URLS}
"""Names of the nodes of each input."""


def links(count: int, seed: int) -> list[tuple[int, int]]:
    """Draw links among 16 nodes. The last three have none, and most lead to low numbers."""
    rng = Random(seed)
    drawn = {(rng.randrange(13), rng.randrange(rng.choice((4, len(URLS))))) for _ in range(count)}
    return sorted(link for link in drawn if link[0] != link[1])


def make_files(folder: Path) -> None:
    """Write the graphs and the files that options name."""
    for graph, names in GRAPHS.items():
        for prefix, pairs in (("", links(60, 1)), ("new-", links(40, 2))):
            lines = (f"{names[one]}\t{names[other]}\n" for one, other in pairs)
            (folder / f"{prefix}{graph}").write_text("".join(lines))
    for file, nodes in (("few.txt", (2, 5)), ("others.txt", (7,))):
        lines = (f"{names[node]}\n" for names in GRAPHS.values() for node in nodes)
        (folder / file).write_text("".join(lines))
    topics = (f"{topic}\t{names[node]}\n" for names in GRAPHS.values() for topic, node in TOPICS)
    (folder / "topics.tsv").write_text("".join(topics))


TOPICS = (("a", 2), ("b", 5))
NAMES = ["few.txt", "others.txt"]
VALUES = {
    "--topic": NAMES,
    "--topics": ["topics.tsv"],
    "--reset": ["trust", "degree"],
    "--mix": ["a=.2,b=.8", "a=1"],
    "--mix-by": ["org", "0"],
    "--recent": ["1", "100"],
    "--similarity": ["0.3", "1"],
    "--take": ["authority", "random:1"],
    "--memory": ["200MB", "300MB"],
    "rank harmonic --memory": ["1"],
    "--precision": ["single"],
    "rank harmonic --precision": ["4", "5", "9"],
    "--temp": ["."],
    "--as": ["other"],
    "--weight": ["internal=0", "internal=3", "transverse=0", "transverse=3"],
    "--root": NAMES,
    "--query": ["org", "x"],
    "--damping": ["0.5", "0.9"],
    "--tolerance": ["1e-2", "1e-12", "3"],
    "--random": ["0.3", "0.9"],
    "--subspace": ["2", "3"],
    "--seeds": NAMES,
    "--bad": NAMES,
    "--density": ["30", "80"],
    "--new": ["new-web.tsv", "new-ids.txt"],
    "--drop": ["10", "50"],
    "--k": ["1,3", "5"],
}
"""Values that the walk cannot choose itself, by option or by command and option."""

INPUT_OPTIONS = frozenset(("--graph", "--store", "--cluster", "--help", "--config"))
"""Options that name the input."""

WALKED = {
    "rank pagerank": [],
    "rank hits": [],
    "rank trust": ["--count", "3"],
    "rank communities": [],
    "rank harmonic": [],
    "rank sites": [],
    "rank degree": [],
    "lab eigenvector": [],
    "seed-set": [],
    "graph": [],
    "lab compare": ["pagerank", "hits-authorities"],
}
"""Other arguments of each command that reads a graph."""

STORE = "crawl.db"


class Made(NamedTuple):
    """Folder with the store, and a time between its two crawls."""

    folder: Path
    between: str


def make_store(folder: Path) -> Made:
    """Make a store by two crawls, with index and ranks, and the files that commands take."""
    between: list[str] = []
    crawl_twice(folder / STORE, lambda: between.append(datetime.now(UTC).isoformat()))
    for command in ("index", "rank pagerank", f"backlinks {LINKED}"):
        _made(command, folder)  # `backlinks` makes the index of links
    _made("audit --out known.json", folder)
    (folder / "ignored").write_text("csp-missing * 9999-12-31 the proxy will send it\n")
    (folder / "there.csv").write_text("")
    return Made(folder, *between)


def _made(command: str, folder: Path) -> None:
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        assert main([*command.split(), "--store", STORE]) == 0


STORES: dict[str, list[list[str]]] = {
    "rank": [[""]],
    "archive": [[""]],
    "audit": [["", "orphan"]],
    "backlinks": [[LINKED]],
    "broken": [[""]],
    "changes": [["", "--diff"]],
    "config": [[""]],
    "check": [[""]],
    "duplicates": [[""]],
    "errors": [[""]],
    "explain": [[ODD]],
    "export": [
        ["pages.csv", "there.csv"],
        ["pages.jsonl --force"],
        ["pages.parquet --force"],
        ["links.csv --force --edges"],
        ["graph.gexf --force"],
        ["pages.warc.gz --force"],
        ["-"],
    ],
    "frontier": [[""]],
    "links": [[LINKING]],
    "page": [[ODD, LINKING, f"{LINKING} --headers"]],
    "pages": [[""]],
    "plot": [["crawl.png"]],
    "redirects": [[""]],
    "report": [["site.html"]],
    "search": [["'the wide ink'", "ink --n 50"]],
    "status": [[""]],
    "top": [["", "-n 0"]],
}
"""Other arguments of each command that reads a store. An option must have an effect with at least
one of the arguments in each inner list.
"""
STORE_VALUES = {
    "--field": ["text=body", "first=a@href"],
    "--host": ["sea.example", "wood.example"],
    "--by": ["pagerank", "rising"],
    "--sort": ["url", "depth"],
    "--state": ["moved"],
    "--kind": ["robots", "not-found"],
    "--columns": ["url", "url,status"],
    "--since": ["2100-01-01", "2020-01-01"],
    "--score": ["linear=0.5", "linear=0"],
    "--n": ["0", "1", "2"],
    "search --n": ["1", "2", "60"],
    "--ranks": ["pagerank", "rising"],
    "--with": ["text", "links,lang_declared", "headings,data"],
    "--for": ["ai-train"],
    "--row-group": ["1", "1MB"],
    "--shard": ["20kB"],
    "--sign": ["key.pem"],
    "--static": ["folder"],
    "--base-url": ["https://x.example/"],
    "--verdict": ["forbidden"],
    "--title": ["Harbours"],
    "--logo": ["Harbour"],
    "--text": ["All harbours"],
    "--screenshot": ["page.png"],
    "--color": ["link=#800"],
    "--out": ["issues.json"],
    "--baseline": ["known.json"],
    "--ignore": ["ignored"],
    "--fail-on": ["error"],
    "audit --base": ["https://x.example/"],
}
"""Values for options of these commands."""
SETTING_VALUES = {
    "N": "7",
    "X": "9",
    "SHARE": "0.3",
    "WEIGHT": "3",
    "TIME": "7",
    "SIZE": "700000",
    "FILE": "there.csv",
    "DIR": "folder",
    "ADDRESS": "192.0.2.1",
    "URL": "http://proxy.example:8080",
    "--objects": "s3://bucket/pages",
    "HOST": "x.example",
    "HOST:NAME=VALUE": "x.example:delay=9",
    "HOST=ADDRESS": "x.example=192.0.2.1",
    "HOST=USER:PASS": "x.example=me:secret",
    "HOST=TOKEN": "x.example=secret",
    "[HOST=]FILE": "x.example=there.csv",
    "REGEX": "sea",
    "REGEX[=STRENGTH]": "sea=3",
    "WORDS[=STRENGTH]": "sea=3",
    "TYPE[=STRENGTH]": "text/plain=3",
    "TYPE,...": "text",
    "RATE": "700kB/s",
    "HOURS": "22-6",
    "NAME": "other",
    "WHERE": "https://x.example/bot",
    "TEXT": "Other/1.0",
    "TAGS": "de",
    "'NAME: VALUE'": "X-Sea: blue",
}
"""Values of settings, by flag or by the placeholder of their kind in the help."""


def setting_values() -> dict[str, list[str]]:
    """Return values of all settings, as options of `config`."""
    found: dict[str, list[str]] = {}
    for row in TABLE:
        named = [name for name in row.kind.names if name != row.kind.show(row.default)]
        of_kind = SETTING_VALUES.get(row.kind.metavar.partition("|")[0], "")
        for value in named or [SETTING_VALUES.get(row.flag, of_kind)]:
            found.setdefault(f"config {row.flag}", []).append(value)
    return found


STORE_INPUT_OPTIONS = INPUT_OPTIONS | {"--cloaking", "--remove", "--serve"}
"""Options that name the input, send requests, start a server, or remove a rank."""

_WRITES = "it makes, moves or changes a store"
_RUNS = "it starts a server, a cluster or a crawl"
EXPERIMENTS = "convergence freshness graphs order windows"
_EXPERIMENTS = "its experiments take seconds each, and its own tests look at their options"
NOT_WALKED = {
    "about": "it reads no store, and its own tests look at its options",
    **dict.fromkeys(("forget", "import", "index", "move", "refine"), _WRITES),
    **dict.fromkeys((f"cluster {name}" for name in ("gather", "reshard", "set", "status")), _RUNS),
    **dict.fromkeys(("control", "crawl", "dashboard", "mcp", "node", "update"), _RUNS),
    **dict.fromkeys((f"lab {name}" for name in EXPERIMENTS.split()), _EXPERIMENTS),
}

MAY_STAY = {
    "--wide": "only a terminal cuts lines",
    **dict.fromkeys(
        ("archive --qa", "archive --qa-pages"), "they start a browser, in their own tests"
    ),
    "audit --base": "it is the address of a built folder, which this command does not name",
    "--temp": "the files of the blocks are removed at the end",
    "rank harmonic --memory": "the registers of a small graph take less",
    "frontier --n": "one page waits in this store",
    "status --graph": "a small graph is described without it",
}
"""Options without an effect that can be seen here, with the reason."""

SHORT_WALKS = ("rank degree",)
"""Commands on graphs whose options every run of the tests walks in pairs."""
LONGER_WALKS = ("lab eigenvector", "rank harmonic")
"""Commands on graphs that a proof walks."""
SHORT_STORE_WALKS = ("errors", "links")
"""Commands on a store whose options every run of the tests walks in pairs."""
LONGER_STORE_WALKS = ("backlinks", "broken", "duplicates", "frontier", "page", "status")
"""Commands on a store that a proof walks; other lists have the options of `broken`."""

_REOPENED = "no unread page of this store was read before"
MAY_STAY_BESIDE = {
    ("export", "--unread", "--fold"): _REOPENED,
    ("export", "--raw", "--level"): "links as they are written are those between pages, as usual",
    ("export pages.warc.gz --force", "--fold", "--fetched"): "pages that are kept were read",
    ("export", "--row-group", "--format"): "--row-group is for a .parquet file, which it is",
    ("rank pagerank", "--blocks", "--memory"): "a small graph needs no more blocks for the limit",
    ("seed-set", "--core size", "--at-once"): "all pages are in the core",
    ("seed-set", "--size", "--core"): "--size chooses the rule, and other rules are refused",
    ("seed-set", "--new", "--similar"): "all seeds are in the newer graph",
    ("rank trust", "--passing maximum", "--tolerance"): "a maximum is exact after some passes",
    ("rank sites", "--rounds", "--precision"): "few rounds give the same digits",
    ("rank pagerank", "--rounds", "--precision"): "few rounds give the same digits",
}


def walk_of(command: str, graph: str) -> Walk:
    """Return the walk over a command's options on a graph."""
    base = [*WALKED[command], "--graph", graph]
    return Walk(command, graph, [base], VALUES, INPUT_OPTIONS | _stays(command))


def store_walks_of(command: str, store: Made) -> Iterator[Walk]:
    """Yield the walks over a command's options on the store."""
    values = STORE_VALUES | setting_values() | {"--at": [store.between]}
    left_out = STORE_INPUT_OPTIONS | _stays(command)
    for given in STORES[command]:
        bases = [[*shlex.split(base), "--store", STORE] for base in given]
        name = " or ".join(given) or STORE
        yield Walk(command, name, bases, values, left_out)


@contextmanager
def frozen(store: Made) -> Iterator[None]:
    """Stop the clock, so that the ages that commands show stay the same."""
    now = (store.folder / STORE).stat().st_mtime + 600
    with patch("time.time", lambda: now):
        yield


def _stays(command: str) -> set[str]:
    return {option.removeprefix(f"{command} ") for option in MAY_STAY}
