"""On a damaged store no command ends in a traceback: one line names the store."""

from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
import trustme

from minicrawl.cli import main, root
from minicrawl.cli.store_options import READ, store_option_for
from minicrawl.demo.server import DemoServer
from minicrawl.demo.web import DemoWeb
from minicrawl.store.derived.file import beside
from tests.cli.calls import Captured, as_json, refusal
from tests.cli.damages import DAMAGES, SEED, copied, leave_unfinished_change, whole_store
from tests.cli.inert.walk import ALONE, leaves
from tests.proofs import IS_LONG

Run = Callable[[str, Path], int]
Expect = Callable[[str, set[str]], None]

STORE, MOVED = "crawl.db", "moved.db"
CODES = (0, 1, 2, 3)
MOST_CHARACTERS = 600
LINKS = "links.csv"
RECORDED = "site.warc"
SEEDS = "seeds.txt"
FRESH = " --fresh"
GRAPH = f"import {LINKS}"
REMOVE = "rank --remove pagerank"

ARGUMENTS: dict[str, tuple[str, ...]] = {
    "crawl": (SEED, "--pages", "20", "--workers", "0", "--delay", "0", "--allow-private", "-q"),
    "update": ("--new-pages", "5", "--workers", "0", "--delay", "0", "--allow-private", "-q"),
    "refine": ("--until", "0.01"),
    "move": (),
    "rank": (),
    "rank degree": (),
    "rank pagerank": (),
    "rank trust": ("--seeds", SEEDS),
    "rank hits": (),
    "rank communities": (),
    "rank harmonic": (),
    "rank sites": (),
    "seed-set": ("--count", "2"),
    "graph": (),
    "top": ("--by", "pagerank"),
    "export": ("pages.csv", "--ranks", "pagerank", "--force"),
    "lab compare": ("opic", "pagerank"),
    "lab eigenvector": (),
    "status": (),
    "check": (),
    "explain": (SEED,),
    "backlinks": (SEED,),
    "links": (SEED,),
    "page": (SEED,),
    "archive": ("--verify",),
    "forget": ("--best", "5"),
    "import": (RECORDED,),
    "plot": ("crawl.png",),
    "pages": (),
    "changes": (),
    "broken": (),
    "redirects": (),
    "audit": (),
    "duplicates": (),
    "report": ("site.html",),
    "control": ("show",),
    "search": ("tide",),
    "index": (),
    "errors": (),
    "frontier": (),
}
"""Arguments of every command that uses a store."""
WITHOUT_A_STORE = {
    "about",
    "config",
    "dashboard",  # runs until a signal; see tests/dashboard
    "mcp",  # the same; see tests/mcp
    "node",
    *(f"cluster {name}" for name in ("status", "set", "gather", "reshard")),
    *(
        f"lab {name}"
        for name in (
            "convergence",
            "windows",
            "freshness",
            "order",
            "graphs",
        )
    ),
}
REFUSED = {
    *("import", "control", "update"),
    *("page", "search", "index", "archive", "forget"),
}
"""Commands that this store refuses: no crawl runs, and no page is kept or served."""
DERIVED = ("rank pagerank", "backlinks")
"""Commands that write files beside a store."""
ALIKE = {
    *(f"rank {name}" for name in ("degree", "pagerank --inverse", "trust", "harmonic", "hits")),
    *("lab eigenvector", "lab compare", "rank communities", "graph", "plot"),
    *("broken", "redirects", "audit", "duplicates", "report", "pages", "import", GRAPH),
}
"""Commands that read the same rows as others by the same code; only a proof runs them."""
OFTEN = {"crawl", "top", "check", "errors"}
"""Commands that meet every damage: a writer, and readers of pages, of all values, of requests."""
TURNS = 6
"""Each other command meets every sixth damage, and some of the rest in a proof."""
TURNS_OF_PROOF = 3 if IS_LONG else 6
ASKS = ("crawl", "update")
USUAL = 3
"""Every third damage is tried in each run of the tests, the others in a proof."""


@pytest.fixture(autouse=True)
def place() -> None:
    """Stay in the folder of `run`."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Function that runs a command on a store, in a folder with all files that commands read."""
    with pytest.MonkeyPatch.context() as patch, DemoServer(DemoWeb(100)) as server:
        patch.chdir(tmp_path_factory.mktemp("place"))
        # Most of the time went into loading all authorities and drawing figures.
        trustme.CA().cert_pem.write_to_path("ca.pem")
        patch.setenv("SSL_CERT_FILE", str(Path("ca.pem").absolute()))
        patch.setattr("matplotlib.figure.Figure.savefig", lambda *_, **__: None)
        Path(LINKS).write_text("source,target\nhttp://a.example/,http://b.example/\n")
        Path(SEEDS).write_text(f"{SEED}\n")
        Path(RECORDED).write_bytes(
            b"WARC/1.1\r\nWARC-Type: warcinfo\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
        )

        def run(command: str, store: Path) -> int:
            where: tuple[str, ...] = ()
            where += ("--resolve", f"*={server.address}") if command.startswith(ASKS) else ()
            where += (str(store.with_name(MOVED)),) if command == "move" else ()
            words = [*command.split(), *ARGUMENTS.get(command.removesuffix(FRESH), ()), *where]
            return main([*words, "--store", str(store)])

        yield run


@pytest.fixture(scope="module")
def whole(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = whole_store(tmp_path_factory.mktemp("whole") / STORE)
    for command in DERIVED:
        assert run(command, store) == 0
    return store


def test_each_command_has_arguments_or_reads_no_store() -> None:
    assert {*leaves(), *ALONE} == ARGUMENTS.keys() | WITHOUT_A_STORE


@pytest.mark.parametrize("command", [name for name in (*ARGUMENTS, REMOVE) if name not in REFUSED])
def test_a_command_succeeds_on_an_undamaged_store(
    command: str, whole: Path, run: Run, tmp_path: Path
) -> None:
    assert run(command, copied(whole, tmp_path / "copy")) == 0


@pytest.mark.parametrize(
    "damage", [leave_unfinished_change, lambda file: file.write_bytes(b"something else")]
)
def test_a_crawl_repairs_the_ranks_that_nobody_can_open(
    damage: Callable[[Path], object], whole: Path, run: Run, tmp_path: Path
) -> None:
    store = copied(whole, tmp_path / "copy")
    damage(beside(store))
    assert run("rank", store) != 0
    assert run("crawl", store) == 0
    assert run("check", store) == 0
    assert run("rank", store) == 0


@pytest.fixture
def expect_no_traceback(whole: Path, run: Run, tmp_path: Path, capsys: Captured) -> Expect:
    """Function that runs commands, each on a copy of the store with a damage."""

    def expect(damage: str, commands: set[str]) -> None:
        for number, command in enumerate(sorted(commands)):
            expect_of(damage, command, copied(whole, tmp_path / str(number)))

    def expect_of(damage: str, command: str, store: Path) -> None:
        DAMAGES[damage](store)
        capsys.readouterr()
        code = run(command, store)  # an exception fails the test
        out, err = capsys.readouterr()
        told = [line for line in err.splitlines() if line.startswith("minicrawl: ")]
        assert code in CODES, command
        assert "Traceback" not in err, command
        assert len(err) < MOST_CHARACTERS, command
        if code == 1 and command != "check":
            assert [STORE in line or MOVED in line for line in told] == [True], command
        if code == 2:
            assert len(told) == 1, command
        if command == "check" and code == 1 and not err:
            assert out, command

    return expect


def commands_for(damage: str) -> set[str]:
    """Return the commands that meet every damage, and some others in turn.

    Damages of a kind are next to each other, so each command meets each kind.
    """
    rest = sorted({*ARGUMENTS, f"crawl{FRESH}", REMOVE} - ALIKE - OFTEN)
    return OFTEN | set(rest[[*DAMAGES].index(damage) % TURNS :: TURNS])


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(damage, marks=[pytest.mark.proof] if number % USUAL else [])
        for number, damage in enumerate(DAMAGES)
    ],
)
def test_no_command_ends_in_a_traceback(damage: str, expect_no_traceback: Expect) -> None:
    expect_no_traceback(damage, commands_for(damage))


@pytest.mark.proof
@pytest.mark.parametrize("damage", DAMAGES)
def test_no_other_command_ends_in_a_traceback(damage: str, expect_no_traceback: Expect) -> None:
    others = sorted({*ARGUMENTS, f"crawl{FRESH}", REMOVE} - commands_for(damage))
    expect_no_traceback(
        damage, set(others[[*DAMAGES].index(damage) % TURNS_OF_PROOF :: TURNS_OF_PROOF])
    )


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Command with a bug that no store causes."""

    @click.command("faulty")
    @store_option_for(READ)
    def faulty(store: Path) -> None:
        raise LookupError(f"nobody knows why {store}")

    monkeypatch.setitem(root.commands, "faulty", faulty)


@pytest.mark.usefixtures("faulty")
def test_a_bug_is_reported_as_damage_of_a_damaged_store_alone(
    whole: Path, tmp_path: Path, capsys: Captured
) -> None:
    with pytest.raises(LookupError, match="nobody knows why"):
        main(["faulty", "--store", str(whole)])
    store = copied(whole, tmp_path / "copy")
    DAMAGES["words for bytes"](store)
    line = refusal(capsys, "faulty", "--store", store, code=1)
    assert line.startswith(f"minicrawl: {store} ")
    assert "status of fetches" in line
    found = as_json(capsys, "check", "--store", store, code=1)
    assert [line.partition(" is invalid")[0] for line in found["wrong"]] == [
        "values: status of fetches",
        "values: wire_bytes of fetches",
    ]
