"""The surface: everything that programs which call minicrawl rely on. Prose is no part of it.

options     names and values of the options of each command
exit codes  of commands that succeed, fail or find something, and of commands without a store
keys        paths to the values that `--json` prints; [] is any element of a list
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from minicrawl.config.table import TABLE
from tests.cli.inert.walk import command_of, leaves
from tests.golden.logs import FOLDER, WARC
from tests.golden.running import run
from tests.proofs.crash.memory import folder_in_memory

SURFACE = FOLDER / "surface.json"
Surface = dict[str, dict[str, Any]]
"""An exit code or a list, by part of the surface and by command."""

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
    "seed-set --count 3",
    *(
        "graph",
        "refine",
        "report site.html",
        "plot crawl.svg",
        "index",
        "export pages.csv",
        "move moved.db",
    ),
]
"""Commands with `--json` that read a store, in order. The last one moves the store away."""
OTHERS = [
    *("import demo.warc.zst", "import web.tsv --store graph.db", "config", "about"),
    *("lab order --nodes 100 --quick --draws 1", "lab windows --nodes 100 --quick"),
    "lab convergence --nodes 100 --quick",
    "crawl --demo --demo-pages 100 --pages 5 --concurrency 1 -q",
]
"""Commands with `--json` that read no store."""
WITHOUT_JSON = {
    **dict.fromkeys(
        (f"cluster {name}" for name in ("gather", "reshard", "status")), "needs a cluster"
    ),
    **dict.fromkeys(("lab freshness", "lab graphs"), "takes seconds; has own tests"),
    "control": "needs a running crawl",
    "update": "needs the server of the crawl; has own tests",
}
"""Commands with `--json` that are not run here, and why."""
CODES = [
    *("top --nonsense", "top --n x", "rank nonsense", f"explain {HOME}nowhere", "search nowhere"),
    *("errors --csv --json", "export pages.nonsense", "broken --host nowhere.example --exit-code"),
    *("broken --exit-code", "audit nonsense", "changes --since 2100-01-01 --exit-code"),
]
"""Commands on an existing store whose exit codes are recorded."""
CODES_WITHOUT_STORE = [
    *("--version", "", "nonsense", "crawl", "crawl --resume", "crawl --strategy x", *READERS),
    *("import absent.warc", f"crawl {NOBODY} --max-tries 1 -q"),
]


def surface() -> Surface:
    """Return the current surface."""
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
    """Write a recorded crawl, a graph, and seeds for ranks."""
    shutil.copy(WARC, folder)
    (folder / "seeds.txt").write_text(f"{HOME}\n")
    (folder / "web.tsv").write_text("0\t1\n1\t2\n2\t0\n0\t2\n")


def _keys_of(line: str, folder: Path) -> list[str]:
    ran = run(f"{line} --json", folder)
    assert ran.code == 0, (line, ran)
    return keys(json.loads(ran.out))


def parameters(path: str) -> list[str]:
    """Return a line for each argument and option of a command, with its names and its values."""
    return [_described(parameter) for parameter in command_of(path).params]


def _described(parameter: click.Parameter) -> str:
    is_flag = isinstance(parameter, click.Option) and (parameter.is_flag or parameter.count)
    names = [parameter.name or ""] if isinstance(parameter, click.Argument) else [*parameter.opts]
    words = [" ".join([*names, *parameter.secondary_opts]), "flag" if is_flag else _kind(parameter)]
    words += ["repeatable"] * (parameter.multiple or parameter.nargs < 0) + [
        "required"
    ] * parameter.required
    return ", ".join(words)


def _kind(parameter: click.Parameter) -> str:
    kind, choices = parameter.type, _SETTINGS.get(parameter.name or "", ())
    if isinstance(kind, click.Choice):
        choices = tuple(map(str, kind.choices))
    if choices:
        return "|".join(choices)
    if isinstance(kind, click.IntRange | click.FloatRange):
        ends = ("" if end is None else f"{end:g}" for end in (kind.min, kind.max))
        return f"{kind.name.partition(' ')[0]} {'..'.join(ends)}"
    return kind.name


_SETTINGS = {row.argument: row.kind.names for row in TABLE}
"""Choices of settings, which click does not know."""


def keys(value: object, path: str = "") -> list[str]:
    """Return the paths to all values that are neither objects nor filled lists."""
    if isinstance(value, Mapping):
        found = [key for name, one in value.items() for key in keys(one, f"{path}.{name}")]
    elif isinstance(value, list):
        found = [key for one in value for key in keys(one, f"{path}[]")]
    else:
        return [path.removeprefix(".")]
    return sorted(set(found)) or [path.removeprefix(".")]


def kept() -> Surface:
    """Return the golden surface."""
    found: Surface = json.loads(SURFACE.read_text())
    return found


def write(found: Surface) -> None:
    """Write the golden surface with a line per value, so that a commit shows what changed."""
    SURFACE.write_text(json.dumps(found, indent=1) + "\n")


def differences(before: Surface, after: Surface) -> Iterator[str]:
    """Yield a line for each difference."""
    for part, old in before.items():
        new = after[part]
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
