"""Contracts of the code: imports, connections, requests, side effects, and ARCHITECTURE.md.

Each check is itself tested on code that breaks it.
"""

import ast
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from minicrawl import ext
from tests import readme
from tests.processes import run_python
from tests.questions import changes_in_questions

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
MOST_TERMS = 30
MOST_WORDS = 1800
LINT_IMPORTS = (
    "from importlinter.cli import lint_imports_command as command; command(['--no-cache'])"
)


def check_contracts(root: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter, and strip the colours that some of its lines have in any case."""
    done = run_python("-c", LINT_IMPORTS, folder=root, variables={"COLUMNS": "120"})
    done.stdout = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    return done


INTRUDERS = {
    ("opic/intruder.py", "import minicrawl.cli"): "The house",
    ("opic/another.py", "import minicrawl.web"): "The house",
    ("cli/another.py", "import minicrawl.search"): "The house",
    ("graph/intruder.py", "import minicrawl.opic"): "The house",
    ("stranger.py", ""): "The house",
    ("opic/clockwork.py", "import time"): "The algorithm is pure",
    ("lab/intruder.py", "import rich.console"): "Only cli and the rooms",
    ("cli/intruder.py", "import sqlite3"): "Only store speaks SQL",
    ("lab/another.py", "import httpx"): "Only fetch opens connections",
    ("crawl/intruder.py", "import socket"): "Only fetch opens connections",
    ("demo/intruder.py", "import ssl"): "Only fetch opens connections",
}
"""Modules that break a contract: file and line, and the start of the contract's name."""


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Report of each broken contract by name, for a copy of the code with all intruders."""
    copy = tmp_path_factory.mktemp("house")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "minicrawl", copy / "minicrawl", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", copy)
    for module, line in INTRUDERS:
        (copy / "minicrawl" / module).write_text(f"{line}\n", encoding="utf-8")
    checked = check_contracts(copy)
    assert checked.returncode == 1, checked.stdout + checked.stderr
    _, _, told = checked.stdout.partition("Broken contracts\n")
    _, *parts = re.split(r"\n(.+)\n-+\n", told)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def contracts_of(root: Path) -> list[dict[str, Any]]:
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = settings["tool"]["importlinter"]["contracts"]
    return found


def test_every_contract_is_kept() -> None:
    contracts = contracts_of(ROOT)
    checked = check_contracts(ROOT)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"Contracts: {len(contracts)} kept, 0 broken." in checked.stdout
    for contract in contracts:
        assert re.search(rf"{re.escape(contract['name'])}\s+KEPT", checked.stdout)


@pytest.mark.parametrize(("module", "line"), INTRUDERS)
def test_an_intruder_breaks_a_contract(complaints: dict[str, str], module: str, line: str) -> None:
    (told,) = [
        told for name, told in complaints.items() if name.startswith(INTRUDERS[module, line])
    ]
    name = f"minicrawl.{module.removesuffix('.py').replace('/', '.')}"
    imported = line.removeprefix("import ").partition(".")
    # import-linter reports an external module by its top-level package.
    wrong = "".join(imported) if imported[0] == "minicrawl" else imported[0]
    assert (f"{name} -> {wrong}" if wrong else name) in told


def section(heading: str) -> str:
    _, _, found = TEXT.partition(f"\n## {heading}\n")
    return found.partition("\n## ")[0]


def rows(heading: str) -> list[list[str]]:
    """Return the cells of a section's table, without its head."""
    lines = [line for line in section(heading).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def layers_drawn() -> list[set[str]]:
    drawing = next(readme.blocks(section("The layers"))).body
    lines = [re.split(r" {3,}", line)[0] for line in drawing.splitlines()]
    return [set(line.split(" | ")) for line in lines]


def test_the_drawing_has_the_layers_of_the_contract() -> None:
    layers = next(one["layers"] for one in contracts_of(ROOT) if one["type"] == "layers")
    assert layers_drawn() == [{name.strip("()") for name in layer.split(" | ")} for layer in layers]


NAMES = sorted(
    {name for row in rows("Where to add what") for cell in row for name in readme.spans(cell)}
)


@pytest.mark.parametrize("name", NAMES)
def test_what_the_table_names_exists(name: str) -> None:
    if "/" in name:
        assert (ROOT / name).exists()
    elif name.startswith("minicrawl."):
        assert name in vars(ext).values()  # a group of entry points
    elif name.startswith("python -m "):
        assert find_spec(name.split()[2])
    elif name.startswith("minicrawl "):
        assert [readme.mistakes(words) for words in readme.mentions(name)] == [[]]
    else:
        assert resolved(name) is not None


FILES = sorted(set(re.findall(r"[\w/]+/(?:\w+\.py|(?=[\s`]))", TEXT)))


@pytest.mark.parametrize("file", FILES)
def test_a_file_or_folder_that_is_named_exists(file: str) -> None:
    assert any((folder / file).exists() for folder in (ROOT, ROOT / "minicrawl"))


def resolved(name: str) -> object:
    """Return the object of a dotted name below minicrawl."""
    found: Any = import_module("minicrawl")
    for part in name.split("."):
        if not hasattr(found, part):
            import_module(f"{found.__name__}.{part}")
        found = getattr(found, part)
    return found


def test_the_page_is_read_in_ten_minutes() -> None:
    assert len(TEXT.split()) <= MOST_WORDS


def test_the_glossary_is_short_and_has_each_word_once() -> None:
    words = [word for word, _ in rows("Glossary")]
    assert len(words) == len(set(words)) <= MOST_TERMS


OPENS_CONNECTIONS = {
    "connect_accepted_socket",
    "create_connection",
    "create_datagram_endpoint",
    "create_server",
    "create_unix_connection",
    "create_unix_server",
    "open_connection",
    "open_unix_connection",
    "start_server",
    "start_unix_server",
    "sock_connect",
}
"""Functions and methods of asyncio and socket that open connections."""
HOLDS_CONNECTIONS = {
    *("asyncio.streams", "ftplib", "http.client", "http.server", "smtplib", "socketserver"),
    *("urllib.request", "xmlrpc.client"),
}
"""Modules of the standard library that open connections."""
ALLOWED = {
    ("crawl/workers/channel.py", "create_unix_connection"),  # a socket pair with a child process
    ("demo/server.py", "create_server"),  # the demo web, on loopback
    ("demo/server.py", "start_server"),
    ("crawl/steering/control_socket.py", "start_unix_server"),  # the socket beside a store
    ("dashboard/http_server.py", "create_server"),  # the servers of the rooms
    ("dashboard/http_server.py", "connect_accepted_socket"),
}


@cache
def nodes_of(source: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(source)))


def ways_to_connect(source: str) -> set[str]:
    """Return the names of both sets that a module imports, calls or passes on."""
    found = set[str]()
    for node in nodes_of(source):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {alias.name for alias in node.names}
            found |= {node.module} | names | {f"{node.module}.{name}" for name in names}
    return found & (OPENS_CONNECTIONS | HOLDS_CONNECTIONS)


def found_outside(
    folders: tuple[str, ...], find: Callable[[str], set[str]]
) -> set[tuple[str, str]]:
    """Return what `find` finds in modules outside of some folders, each with its module."""
    package = ROOT / "minicrawl"
    modules = {path: path.relative_to(package).as_posix() for path in package.rglob("*.py")}
    return {
        (name, way)
        for path, name in modules.items()
        if not name.startswith(folders)
        for way in find(path.read_text(encoding="utf-8"))
    }


@pytest.mark.slow
def test_only_fetch_opens_connections_by_asyncio_or_the_standard_library() -> None:
    assert found_outside(("fetch/",), ways_to_connect) == ALLOWED


def test_each_way_to_connect_is_found() -> None:
    for source, way in (
        ("await loop.create_connection(P, 'a', 80)", "create_connection"),
        ("listen = socket.create_server", "create_server"),
        ("from asyncio import start_server", "start_server"),
        ("from asyncio import streams", "asyncio.streams"),
        ("import urllib.request", "urllib.request"),
    ):
        assert way in ways_to_connect(source)


SENDS = {"fetch", "visit"}
"""Methods of `ports.WebAccess` that send a request."""
MAKES_SENDERS = {
    *("HttpFetcher", "Visitor", "visiting", "WorkerPool", "open_web_access"),
    *("open_transport", "HttpxTransport"),
}
"""Names whose objects send requests."""
SENDERS = {
    ("crawl/hosts/side_requests.py", "fetch"),  # the gate, for all that is no page
    ("crawl/hosts/side_requests.py", "visit"),
    ("crawl/turns/page_turns.py", "visit"),  # pages that `Dispatcher` let through the gate
    ("crawl/start/cookies.py", "fetch"),  # these are web access, and choose no request
    ("crawl/start/cookies.py", "visit"),
    ("crawl/workers/pool.py", "fetch"),
    ("crawl/workers/pool.py", "visit"),
    ("crawl/workers/visitor.py", "fetch"),
    ("crawl/workers/worker.py", "fetch"),
    ("crawl/workers/worker.py", "visit"),
    ("cli/crawl/notices.py", "fetch"),  # asks the user's own hook, no site
}
MAKERS = {
    ("app.py", "open_web_access"),  # for the `Crawler`, which hands it to the gate
    ("app.py", "WorkerPool"),
    ("checking/cloaking.py", "open_web_access"),  # for the `Crawler` there, and for its gate
    ("checking/cloaking.py", "HttpFetcher"),
    ("cli/crawl/notices.py", "HttpFetcher"),  # for the user's hook
    ("crawl/imports/warc_import.py", "Visitor"),  # reads WARC files and sends nothing
    ("crawl/steering/steering.py", "WorkerPool"),  # resizes it
    ("crawl/imports/warc_import.py", "visiting"),
    ("crawl/workers/pool.py", "visiting"),
    ("crawl/workers/visitor.py", "HttpFetcher"),
    ("crawl/workers/worker.py", "Visitor"),
    ("crawl/workers/worker.py", "visiting"),
}
NO_WEB = ("fetch/", "opic/", "lab/")
"""The transport itself, and folders whose methods of these names send nothing."""


def senders(source: str) -> set[str]:
    """Return the sending methods that a source calls or passes on."""
    return {one.attr for one in nodes_of(source) if isinstance(one, ast.Attribute)} & SENDS


def makers(source: str) -> set[str]:
    """Return the imports of a source that make senders of requests."""
    imports = [one for one in nodes_of(source) if isinstance(one, ast.ImportFrom)]
    return {alias.name for one in imports for alias in one.names} & MAKES_SENDERS


@pytest.mark.slow
@pytest.mark.parametrize(("find", "allowed"), [(senders, SENDERS), (makers, MAKERS)])
def test_every_request_passes_the_gate_of_the_crawl(
    find: Callable[[str], set[str]], allowed: set[tuple[str, str]]
) -> None:
    """New code calls `HostOnboarding.ask` instead of being listed here."""
    assert found_outside(NO_WEB, find) == allowed


def test_a_request_past_the_gate_is_found() -> None:
    assert senders("async def icon(web): await web.fetch(URL)") == {"fetch"}
    assert senders("ask = self._web.visit") == {"visit"}
    assert makers("from minicrawl.fetch.fetcher import HttpFetcher as Quick") == {"HttpFetcher"}


@pytest.mark.slow
def test_no_question_changes_anything() -> None:
    """Functions named is_, has_, may_, are_ or can_ have no side effects."""
    found = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in sorted((ROOT / "minicrawl").rglob("*.py"))
        for name, line in changes_in_questions(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_a_question_that_changes_something_is_found() -> None:
    for name, body in (
        ("is_known", "self.asked = True"),
        ("_has_rules", "clock.recalled, other = True, 1"),
        ("may_be_asked", "self.counts[host] += 1"),
        ("are_known", "del self.waiting[host]"),
        ("can_wait", "heapq.heappush(self.queue, host)"),
        ("has_room", "self.queues.setdefault(host, deque()).append(now)"),
        ("is_done", "self.share: float = 0.0"),
        ("is_any", "return any(map(self.seen.discard, pages))"),
    ):
        source = f"class Planted:\n    def {name}(self, host):\n        {body}\n"
        assert set(changes_in_questions(source)) == {(name, 3)}


DOCUMENTED = {"_replace", "_asdict", "_make", "_fields", "_field_defaults", "_exit", "_repr_html_"}
"""Names of attributes that are public in spite of their underscore."""


def unexplained(source: str) -> set[str]:
    """Return the private attributes whose first use has no reason in the lines above it."""
    lines, first = source.splitlines(), dict[str, int]()
    for node in nodes_of(source):
        match node:
            case ast.Attribute(
                value=ast.Name(id="self" | "cls") | ast.Call(func=ast.Name(id="super"))
            ):
                pass
            case ast.Attribute(attr=name) if re.match("_[a-z]", name):
                first[name] = min(node.lineno, first.get(name, node.lineno))
    above = {name: "".join(lines[max(line - 6, 0) : line]) for name, line in first.items()}
    return {name for name, text in above.items() if not re.search('#|"""', text)} - DOCUMENTED


@pytest.mark.slow
def test_a_test_that_touches_a_private_attribute_says_why() -> None:
    files = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")}
    assert {path: names for path, text in files.items() if (names := unexplained(text))} == {}


def test_an_unexplained_private_attribute_is_found() -> None:
    source = "self._own = row._replace(a=1)\n# The lock shows no cost.\nlock._costs\n"
    assert unexplained(source + 9 * "\n" + "late._costs + late._rest") == {"_rest"}


BANNER = re.compile(r"^ *# ?[-=]{3}", re.MULTILINE)


def test_a_concept_has_a_file_and_no_banner() -> None:
    files = (path for folder in ("minicrawl", "tests") for path in (ROOT / folder).rglob("*.py"))
    assert [path for path in files if BANNER.search(path.read_text(encoding="utf-8"))] == []
    assert BANNER.search("import os\n\n    # ---------------- files\n")


LISTED = re.compile(r"^ {0,4}([a-z][a-z0-9_]+)(/?) {2,}\S", re.MULTILINE)


@pytest.mark.parametrize("package", sorted((ROOT / "minicrawl").rglob("__init__.py")), ids=str)
def test_what_a_package_lists_exists(package: Path) -> None:
    docstring = ast.get_docstring(ast.parse(package.read_text(encoding="utf-8"))) or ""
    for name, is_folder in LISTED.findall(docstring):
        there = package.parent / name
        assert there.is_dir() if is_folder else there.with_suffix(".py").exists() or there.is_dir()
