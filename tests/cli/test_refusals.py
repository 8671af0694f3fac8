"""A mistake or an old name is one line that names it, with exit code 2, and nothing is written."""

import shlex
from collections.abc import Mapping
from pathlib import Path

import click
import pytest

from minicrawl.cli import MOVED, REMOVED, main, root
from tests.cli.calls import Captured, printed, refusal
from tests.cli.inert.walk import ALONE, leaves, options_of
from tests.stores import DEEP, A

FILES = {
    "web.txt": b"10 20\n10 30\n",
    "words.txt": b"once upon a time\n",
    "site.warc": b"WARC/1.1\r\n",
    "letter.db": b"dear reader, " * 99,
    "known.csv": b"mine",
}
READERS = (
    *("top", "top --sites", "frontier", "status", "check", f"explain {A}", "errors", "export -"),
    "plot crawl.png",
)
NONE = "http://a.example/none"
WACZ = "leave out --ranks, --edges and --level"
REFUSED: Mapping[str, str] = {
    **{f"{reader} --store other.db": "minicrawl: no store at other.db" for reader in READERS},
    "config --store letter.db": "letter.db is not a minicrawl store",
    # A file without its option.
    "top crawl.db": "--store crawl.db",
    "top nothing.db": "(nothing.db)\n",
    "top web.txt": "(web.txt)\n",
    "graph web.txt": "--graph web.txt",
    # Lists.
    "top --unread --fetched": "--fetched",
    "top --unread --sites": "--unread",
    "top --sites --host a.example": "--sites cannot be combined with --host",
    "top --all --by nothing": "only opic",
    "top --all --rising --sites": "--sites",
    "top --all --rising --by degree": "--by",
    "top --sites --by rising": "--sites",
    f"explain {NONE}": NONE,
    f"backlinks {NONE}": f"{NONE} is not in the store",
    f"links {NONE}": DEEP,
    "errors --kind bad-luck": "not-found",
    "pages --sort nothing": "nothing",
    "pages --columns url,nothing": "nothing",
    "pages --csv --json": "--csv",
    "broken --csv --json": "--csv",
    "changes --since yesterday": "'yesterday'",
    "changes --since 7": "2026-11-22",
    "changes --since 2027-13-01": "7d",
    "graph --graph web.txt --graph-of crawled": "does not say which pages were crawled: use a st",
    "plot crawl.pdf": "must end in .png or .svg",
    # Exports.
    "export pages.xlsx": "minicrawl: pages.xlsx: ",
    "export known.csv": "--force",
    "export known.csv --force --ranks nothing": "no rank nothing",
    "export - --noindex": "column noindex",
    "export pages.csv --raw": "--raw needs --edges",
    "export links.dot --edges --raw": "--raw needs --edges",
    "export links.csv --edges --level=host --raw": "--raw needs --edges",
    "export links.csv --edges --ranks opic": "--ranks is for pages",
    "export links.csv --edges --for search": "--for",
    "export graph.dot --for search": "--for",
    "export hosts.csv --level host": "--level needs --edges",
    "export - --graph-of crawled": "--graph-of needs a graph",
    "export - --edges --unread --graph-of crawled": "cannot be combined",
    "export crawl.log --n 3": "--n",
    "export site.wacz --edges": WACZ,
    "export site.wacz --ranks pagerank": WACZ,
    "export site.wacz --level host": WACZ,
    "export pages.csv --with text": "--with",
    "export pages.jsonl --with smell": "--with",
    "export pages.wacz --with text": "--with",
    "export set --shard 1GB --edges": "--shard",
    "export - --shard 1GB": "--shard",
    "export set --shard 1GB --format wacz": "--shard is for pages",
    "export set --shard 1GB --format gexf": "--shard is for pages",
    "export set --shard 0": "--shard",
    # Kept pages.
    f"page {A}": "--keep pages",
    f"page {A} --versions --text": "choose one of them",
    f"page {A} --raw --text": "choose one",
    "archive": "no pages are kept",
    "forget": "must say what to remove",
    # Imports.
    "import web.txt": "crawl.db exists",
    "import absent.txt --store new.db": "absent.txt",
    "import words.txt --store new.db": "words.txt",
    "import site.warc --store new.db --warc": "--warc",
    "import site.warc --store new.db --check": "--check",
    "import web.txt --store new.db --keep none": "--keep",
    "import web.txt --store new.db --requisites": "--requisites",
    "import web.txt --store new.db --types pdf": "WARC",
    "import site.warc web.txt --store new.db": "web.txt",
    "import web.txt web.txt --store new.db": "web.txt",
    # Others.
    "update --store other.db": "other.db",
    "refine --until nan": "nan",
    "refine --until x": "x",
    "refine --to .": "--to .: the file exists",
    "about --new-key bot.pem": "--contact with an https URL",
    "about --new-key bot.pem --sign-requests x --contact https://b.example": "give one of them",
    "about --new-key no/b.pem --contact https://b.example": "--new-key no/b.pem: No such file",
    "about --directory": "--directory needs --sign-requests or --new-key",
    "about --directory --json": "leave out --json",
}


def contents(folder: Path) -> dict[Path, bytes]:
    """Return all files, without those that readers of a store leave beside it."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in files if path.suffix not in (".db-shm", ".db-wal")}


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("line", REFUSED)
def test_a_mistake_is_one_line_and_nothing_is_written(
    line: str, place: Path, capsys: Captured
) -> None:
    for name, content in FILES.items():
        (place / name).write_bytes(content)
    before = contents(place)
    assert REFUSED[line] in refusal(capsys, *shlex.split(line))
    assert contents(place) == before


@pytest.mark.parametrize("old", MOVED)
def test_an_old_name_is_gone_and_names_the_new_one(old: str, capsys: Captured) -> None:
    line = refusal(capsys, *old.split(), "--help")
    assert f"minicrawl {old} " in line
    assert line.endswith(f" minicrawl {MOVED[old]}\n")
    assert not _exists(old)
    assert _exists(MOVED[old])


@pytest.mark.parametrize("old", REMOVED)
def test_a_removed_name_is_refused(old: str, capsys: Captured) -> None:
    assert f"minicrawl {old} was removed" in refusal(capsys, *old.split(), "--help")
    assert not _exists(old)


def _exists(name: str) -> bool:
    """Return whether there is such a command, with the option that `name` may have."""
    path, _, option = name.partition(" --")
    known = path in (*leaves(), *ALONE)
    return known and (not option or f"--{option}" in options_of(path))


def test_a_new_command_may_take_an_old_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(root.commands, "compare", click.Command("compare", callback=lambda: None))
    assert main(["compare"]) == 0


@pytest.mark.parametrize("group", ["cluster", "lab", "rank"])
def test_no_help_lists_an_old_name(group: str, capsys: Captured) -> None:
    lines = printed(capsys, group, "--help").splitlines()
    listed = [line.split()[0] for line in lines if line[:2] == "  "]
    assert [name for name in listed if f"{group} {name}" in MOVED] == []


def test_there_are_few_commands_outside_the_laboratory() -> None:
    """A new one is a decision: is it not an option, a column or a default of one that is there?"""
    assert sum(not path.startswith("lab ") for path in leaves()) <= 46
