"""The surface: what programs that call minicrawl count on. No prose is part of it.

options     of each command: all names, and what may be given
exit codes  of runs that end well, badly or with something to show, and of commands without a store
keys        of what `--json` prints; [] is any element of a list
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from minicrawl.config.parts import TABLE
from tests.cli.inert.walk import command_of, leaves
from tests.crash.memory import folder_in_memory
from tests.golden.logs import FOLDER, WARC
from tests.golden.running import run

SURFACE = FOLDER / "surface.json"
Surface = dict[str, dict[str, Any]]
"""Of each part: of each command an exit code, or a list."""

HOME = "http://wiki.kitchen-garden.example/"
NOBODY = "http://127.0.0.1:1/"
RANKS = "pagerank hits communities harmonic sites degree"
READERS = [
    *("status", "status --mirrors --graph-of known", "check", "top", "top --sites", "frontier"),
    *("pages", "errors", "broken", "redirects", "audit", "duplicates", "rank"),
    *(f"{command} {HOME}" for command in ("explain", "links", "backlinks", "page")),
    *("search harbour", "archive", "archive --verify", "forget --keep-versions 1"),
    *(f"rank {name}" for name in RANKS.split()),
    *("rank pagerank --inverse", "lab eigenvector"),
    *("rank trust --seeds seeds.txt", "changes --since 2020-01-01", "lab compare opic pagerank"),
    *("lab agree opic grades.csv", "lab stability pagerank --times 2", "seed-set --count 3"),
    *("lab judge harbour --verdict 1=good", "lab searches"),
    *("graph", "refine", "export pages.csv", "move moved.db"),
]
"""Commands with `--json` that read a store, one after the other. The last one moves it away."""
OTHERS = [
    *("import demo.warc.zst", "import web.tsv --store graph.db", "config", "about"),
    *("lab order --nodes 100 --quick --draws 1", "lab windows --nodes 100 --quick"),
    "lab convergence --nodes 100 --quick",
    "crawl --demo --demo-pages 100 --pages 5 --concurrency 1 -q",
]
"""Commands with `--json` that do not."""
WITHOUT_JSON = {
    "cluster gather": "it needs a cluster",
    "cluster status": "it needs a cluster",
    "control": "it needs a crawl that runs",
    "lab cluster": "it takes seconds, and its own tests look at it",
    "lab freshness": "it takes seconds, and its own tests look at it",
    "lab graphs": "it takes seconds, and its own tests look at it",
    "update": "it needs a server that is there again, and its own tests look at it",
}
"""Commands with `--json` that are not run here, and why."""
CODES = [
    *("top --nonsense", "top --n x", "rank nonsense", f"explain {HOME}nowhere", "search nowhere"),
    *("errors --csv --json", "export pages.nonsense", "broken --host nowhere.example --exit-code"),
    *("broken --exit-code", "audit nonsense", "changes --since 2100-01-01 --exit-code"),
]
"""Of questions to a store that is there."""
CODES_WITHOUT_STORE = [
    *("--version", "", "nonsense", "crawl", "crawl --resume", "crawl --strategy x", *READERS),
    *("import absent.warc", f"crawl {NOBODY} --max-tries 1 -q"),
]


def surface() -> Surface:
    """The surface as it is."""
    with folder_in_memory() as folder:
        _write_files(folder)
        without = {f"{line} (no store)": run(line, folder).code for line in CODES_WITHOUT_STORE}
    with folder_in_memory() as folder:
        _write_files(folder)
        found = {line: _keys_of(line, folder) for line in OTHERS}
        assert run("index", folder).code == 0
        codes = {line: run(line, folder).code for line in CODES}
        found |= {line: _keys_of(line, folder) for line in READERS}
    return {
        "options": {path: parameters(path) for path in leaves()},
        "exit codes": without | codes,
        "keys": found,
    }


def _write_files(folder: Path) -> None:
    """A recorded crawl, a graph, and what ranks ask for."""
    shutil.copy(WARC, folder)
    (folder / "grades.csv").write_text(f"url,grade\n{HOME},4\n{HOME}search,1\n")
    (folder / "seeds.txt").write_text(f"{HOME}\n")
    (folder / "web.tsv").write_text("0\t1\n1\t2\n2\t0\n0\t2\n")


def _keys_of(line: str, folder: Path) -> list[str]:
    ran = run(f"{line} --json", folder)
    assert ran.code == 0, (line, ran)
    return keys(json.loads(ran.out))


# ---------------------------------------------------------------- options


def parameters(path: str) -> list[str]:
    """Of each argument and option a line: its names, and what it takes."""
    return [_described(one) for one in command_of(path).params]


def _described(one: click.Parameter) -> str:
    is_flag = isinstance(one, click.Option) and (one.is_flag or one.count)
    names = [one.name or ""] if isinstance(one, click.Argument) else [*one.opts]
    words = [" ".join([*names, *one.secondary_opts]), "flag" if is_flag else _kind(one)]
    words += ["repeatable"] * (one.multiple or one.nargs < 0) + ["required"] * one.required
    return ", ".join(words)


def _kind(one: click.Parameter) -> str:
    kind, choices = one.type, _SETTINGS.get(one.name or "", ())
    if isinstance(kind, click.Choice):
        choices = tuple(map(str, kind.choices))
    if choices:
        return "|".join(choices)
    if isinstance(kind, click.IntRange | click.FloatRange):
        ends = ("" if end is None else f"{end:g}" for end in (kind.min, kind.max))
        return f"{kind.name.partition(' ')[0]} {'..'.join(ends)}"
    return kind.name


_SETTINGS = {row.argument: row.kind.names for row in TABLE}
"""click knows nothing of the choices of a setting."""


# ---------------------------------------------------------------- keys of JSON


def keys(value: object, path: str = "") -> list[str]:
    """The paths to all that is neither an object nor a list."""
    if isinstance(value, Mapping):
        found = [key for name, one in value.items() for key in keys(one, f"{path}.{name}")]
    elif isinstance(value, list):
        found = [key for one in value for key in keys(one, f"{path}[]")]
    else:
        return [path.removeprefix(".")]
    return sorted(set(found)) or [path.removeprefix(".")]


# ---------------------------------------------------------------- what differs


def kept() -> Surface:
    """The surface as it was."""
    found: Surface = json.loads(SURFACE.read_text())
    return found


def write(found: Surface) -> None:
    """Keep it, a line for each part, so that a commit shows what changed."""
    SURFACE.write_text(json.dumps(found, indent=1) + "\n")


def differences(before: Surface, after: Surface) -> Iterator[str]:
    """What is not as it was, in words."""
    for part in before:
        old, new = before[part], after[part]
        yield from (f"{part}: `{name}` is gone" for name in old if name not in new)
        yield from (f"{part}: `{name}` is new" for name in new if name not in old)
        for name in (name for name in old if name in new):
            yield from _changes(f"{part} of `{name}`", old[name], new[name])


def _changes(what: str, old: int | list[str], new: int | list[str]) -> Iterator[str]:
    if isinstance(old, int) or isinstance(new, int):
        if old != new:
            yield f"{what}: {old} is {new} now"
        return
    yield from (f"{what}: `{one}` is gone" for one in old if one not in new)
    yield from (f"{what}: `{one}` is new" for one in new if one not in old)
