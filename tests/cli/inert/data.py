"""The commands, inputs and values of the walk, and what may stay as it is, with the reason."""

from pathlib import Path
from random import Random

from tests.cli.inert.walk import Walk

URLS = [f"http://{host}.{site}.org/{page}" for page in "01" for site in "abcd" for host in "xy"]
GRAPHS = {"ids.txt": range(16), "web.tsv": URLS}
"""The inputs, and the names of their nodes."""


def links(count: int, seed: int) -> list[tuple[int, int]]:
    """Links among 16 nodes, of which the last three have none. Low numbers are linked to most."""
    rng = Random(seed)
    drawn = {(rng.randrange(13), rng.randrange(rng.choice((4, len(URLS))))) for _ in range(count)}
    return sorted(link for link in drawn if link[0] != link[1])


def make_files(folder: Path) -> None:
    """Write the graphs, and the files that options name."""
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
    "--figures": ["figures"],
    "--drop": ["10", "50"],
    "--k": ["1,3", "5"],
}
"""The values of options that the walk cannot choose itself, by option or by command and option."""

INPUT_OPTIONS = frozenset(("--graph", "--store", "--cluster", "--help", "--config"))
"""They name the input."""

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
    "compare": ["pagerank", "hits-authorities"],
    "lab stability": ["pagerank"],
}
"""The commands that read a graph, and what each is given besides it."""

PAGE = "http://radio.crackle-fm.example/"
"""A page with bytes that are not shown as they are."""
STORES: dict[str, list[list[str]]] = {
    "backlinks": [["http://www.open-commons.example/licence"]],
    "broken": [[]],
    "changes": [[]],
    "check": [[]],
    "duplicates": [[]],
    "errors": [[]],
    "explain": [[PAGE]],
    "frontier": [[]],
    "lab judge": [["the wide ink", "--json"], ["the", "--json"]],
    "links": [["http://www.harbour-museum.example/"]],
    "orphans": [[]],
    "page": [[PAGE], ["http://www.harbour-museum.example/"]],
    "pages": [[]],
    "rank list": [[]],
    "archive info": [[]],
    "redirects": [[]],
    "search": [["the wide ink"], ["the"]],
    "status": [[]],
    "top": [[]],
}
"""The commands that read a store, and what each is given besides it in each trial."""
STORE_VALUES = {
    "--host": ["www.open-commons.example", "x.example"],
    "--by": ["pagerank", "importance"],
    "--sort": ["url", "depth"],
    "--state": ["moved"],
    "--kind": ["robots"],
    "--columns": ["url", "url,status"],
    "--since": ["2100-01-01", "2020-01-01"],
    "--at": ["2020-01-01"],
    "--score": ["linear=0.5", "linear=0"],
    "--weight": ["title=0", "in-title=90", "importance=0", "written=90", "phrase=90"],
    "--n": ["0", "1", "2"],
}
"""The values of their options."""
STORE_INPUT_OPTIONS = INPUT_OPTIONS | {
    "--cloaking",
    "--remove",
    "--verdict",
    "--verdicts",
    "--serve",
    "--port",
}
"""They name the input, ask a server, change the store or keep verdicts beside it."""

_STORE = "it reads a store, and its options choose columns and rows that its own tests look at"
_WRITES = "it makes, moves or changes a store"
_RUNS = "it starts a server, a cluster or a crawl"
NOT_WALKED = {
    **dict.fromkeys(
        (
            "archive verify",
            "config",
            "export",
            "plot",
            "report",
        ),
        _STORE,
    ),
    **dict.fromkeys(("archive prune", "import", "index", "move", "refine"), _WRITES),
    **dict.fromkeys(
        (
            "cluster gather",
            "cluster set",
            "cluster status",
            "control",
            "crawl",
            "dashboard",
            "node",
        ),
        _RUNS,
    ),
    **dict.fromkeys(
        (
            "lab cluster",
            "lab agree",
            "lab convergence",
            "lab figures",
            "lab graphs",
            "lab order",
            "lab searches",
            "lab windows",
        ),
        "its experiments take seconds each, and its own tests look at their options",
    ),
}

MAY_STAY = {
    "--wide": "only a terminal cuts lines",
    "--temp": "the files of the blocks are removed at the end",
    "rank harmonic --memory": "the registers of a small graph take less",
    "status --graph": "a small graph is described without it",
    "broken --n": "one link is broken in the demo web",
    "errors --n": "one page fails in the demo web, and kinds are never left out",
    "lab judge --all": "the crawl may not have come to pages that are like another one",
    "lab judge --explain": "JSON has the parts of each score anyway",
    "search --all": "the crawl may not have come to pages that are like another one",
    "page --version": "one answer is kept, and it is shown without it",
}
"""Options that change nothing that can be seen here, and why."""

SHORT_WALKS = ("rank degree", "lab eigenvector", "rank harmonic", "rank communities")
"""Commands whose options are walked in pairs in every run of the tests."""

MAY_STAY_BESIDE = {
    ("rank pagerank", "--blocks", "--memory"): "a small graph needs no more blocks for the limit",
    ("seed-set", "--core size", "--at-once"): "all pages are in the core",
    ("seed-set", "--size", "--core"): "--size chooses the rule, and other rules are refused",
    ("seed-set", "--new", "--similar"): "all seeds are in the newer graph",
    ("rank trust", "--passing maximum", "--tolerance"): "a maximum is exact after some passes",
    ("rank sites", "--rounds", "--precision"): "few rounds give the same digits",
    ("rank pagerank", "--rounds", "--precision"): "few rounds give the same digits",
}


def walk_of(command: str, graph: str) -> Walk:
    """The walk over a command's options on one of the graphs."""
    base = [*WALKED[command], "--graph", graph]
    return Walk(command, graph, base, VALUES, INPUT_OPTIONS | _stays(command))


def store_walks_of(command: str, store: Path) -> list[Walk]:
    """The walks over a command's options on a store. An option may matter in any of them."""
    left_out = STORE_INPUT_OPTIONS | _stays(command)
    bases = ([*given, "--store", str(store)] for given in STORES[command])
    return [Walk(command, store.name, base, STORE_VALUES, left_out) for base in bases]


def _stays(command: str) -> set[str]:
    return {option.removeprefix(f"{command} ") for option in MAY_STAY}
