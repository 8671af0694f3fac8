"""Generator of the reference: commands, settings, exit codes, files, columns, Python API.

    python -m tests.reference           say which pages are out of date
    python -m tests.reference --write   write them

Each page is a function that returns Markdown; `PAGES` lists them. Only headings, descriptions of
files and columns, and sentences before a list are written here. One page is for type checkers: the
types of the arguments of `Settings.of`.
"""

import ast
import dataclasses
import enum
import inspect
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from types import UnionType

import click

import minicrawl
from minicrawl import ExportRow, cli, ext
from minicrawl.cli.crawl.notices import NOTICES
from minicrawl.cli.options import OWN_OPTIONS, SettingOption
from minicrawl.config.declaration import Setting, differs
from minicrawl.config.table import SECTIONS, TABLE
from minicrawl.control import SUFFIX as CONTROL
from minicrawl.crawl.start.cookies import COOKIES_SUFFIX as COOKIES
from minicrawl.report.files.content_columns import CONTENTS, SHORT_CONTENTS
from minicrawl.report.files.drawings import DRAWINGS
from minicrawl.report.files.rows import WRITERS, lines_of
from minicrawl.report.links.written_links import RAW_COLUMNS
from minicrawl.report.selected_pages import PAGE_LINK_COLUMNS
from minicrawl.store.derived.file import DAMAGED, SUFFIX
from minicrawl.store.reader import ARCHIVE, DASHBOARD, EARLIER, LOCK, SEARCH
from tests.readme import command_tree, context_of

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "reference"
NOTICE = "<!-- Written by `python -m tests.reference --write`: edit the code, not this page. -->"

_CODE_SPAN = re.compile(r"(`[^`]+`)")
_SPECIAL = re.compile(r"([\\*_<>\[\]])")
_EXIT_CODE = re.compile(r"^ {4}(\d+) +(.+)$", re.MULTILINE)
_FIELD = re.compile(r"^    (\w+): ([^#=\n]+?)(?: = [^#\n]+?)?(?:  # (.+))?$", re.MULTILINE)
_MEMBER = re.compile(r"^    (\w+) = [^#\n]+?(?:  # (.+))?$", re.MULTILINE)


# ---------------------------------------------------------------- Markdown


def prose(text: str) -> str:
    """Return text of a help or docstring as Markdown, with all outside of backticks escaped."""
    pieces = _CODE_SPAN.split(" ".join(text.split()))
    return "".join(
        piece if piece.startswith("`") else _SPECIAL.sub(r"\\\1", piece) for piece in pieces
    )


def paragraphs(text: str) -> str:
    """Return a docstring as Markdown; examples, and what click must not wrap (\\b), become code."""
    found = [part for part in re.split(r"\n\s*\n", inspect.cleandoc(text)) if part.strip()]
    return "\n\n".join(_paragraph(part) for part in found)


def _paragraph(part: str) -> str:
    lines = part.strip("\n").removeprefix("\b\n")
    if lines != part.strip("\n") or lines.startswith((">>>", " ")):
        return f"```text\n{inspect.cleandoc(lines)}\n```"
    return prose(lines)


def _page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", NOTICE, *parts]) + "\n"


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


# ---------------------------------------------------------------- commands


COMMON = 4
"""An option that means the same for this many commands is described once, above all commands."""


def commands_page() -> str:
    """Describe every command with its arguments and options."""
    tree = command_tree()
    options = {path: _options(command, path) for path, command in tree.items()}
    counts = Counter(line for lists in options.values() for line in lists.get(OWN_OPTIONS, ()))
    # Of two meanings of a name, the usual one; an argument has no description.
    usual = {line.partition(": ")[0]: line for line, _ in reversed(counts.most_common())}
    common = {line for name, line in usual.items() if name != line and counts[line] >= COMMON}
    return _page(
        "Commands",
        "Every command and every option. Common options, `--help` among them, come first; "
        "[Settings](settings.md) describes each setting, with its variable and its key in "
        "minicrawl.toml.",
        "\n".join(
            f"- [`{path}`](#{_anchor(path)}): {prose(_summary(command))}"
            for path, command in tree.items()
        ),
        "## Common options",
        "\n".join(line for line in counts if line in common),
        *(_command(path, command, options[path], common) for path, command in tree.items()),
    )


def _summary(command: click.Command) -> str:
    return command.get_short_help_str(limit=200)


def _command(
    path: str, command: click.Command, options: Mapping[str, Sequence[str]], common: Set[str]
) -> str:
    usage = " ".join([path, *command.collect_usage_pieces(context_of(command, path))])
    return "\n\n".join(
        [
            f"## `{path}`",
            f"```text\n{usage}\n```",
            *([paragraphs(command.help)] if command.help else []),
            *_option_lists(options, common),
        ]
    )


def _options(command: click.Command, path: str) -> dict[str, list[str]]:
    """Return a line for each option, by the section of its setting."""
    context = context_of(command, path)
    lists: dict[str, list[str]] = {}
    for option in command.get_params(context):
        record = option.get_help_record(context)
        if record is not None:
            written, does = record
            if isinstance(option, SettingOption):
                name = option.opts[0].removeprefix("--")
                lists.setdefault(option.heading, []).append(f"[`{written}`](settings.md#{name})")
            else:
                line = f"- `{written}`: {prose(does)}" if does else f"- `{written}`"
                lists.setdefault(OWN_OPTIONS, []).append(line)
    return lists


def _option_lists(options: Mapping[str, Sequence[str]], common: Set[str]) -> Iterator[str]:
    own = [line for line in options.get(OWN_OPTIONS, ()) if line not in common]
    shared = [
        line.removeprefix("- ").partition(": ")[0]
        for line in options.get(OWN_OPTIONS, ())
        if line in common and "`-h, --help`" not in line
    ]
    if own:
        yield f"**{OWN_OPTIONS}**"
        yield "\n".join(own)
    if shared:
        yield f"[Common options](#common-options): {', '.join(shared)}."
    for heading, links in options.items():
        if heading != OWN_OPTIONS:
            yield f"**{heading}**: {', '.join(links)}."


# ---------------------------------------------------------------- settings


def settings_page() -> str:
    """Describe the settings, section by section."""
    return _page(
        "Settings",
        "Flags override variables, which override minicrawl.toml, which overrides the settings in "
        "the store, which override the defaults. `minicrawl config` prints each value and "
        "where it came from. In Python, `Settings.of` takes them as arguments.",
        "The names of a setting are its flag, its variable, its key in minicrawl.toml, and its "
        "argument in Python. Those that define a crawl are stored: a resumed crawl "
        "uses them again. The others hold for one run.",
        "A minicrawl.toml that `--config` does not name, a store and the terms of a cluster may "
        "come from a stranger: [what counts of them](../explanation/settings-and-resuming.md"
        "#what-a-stranger-may-not-set).",
        *(
            part
            for name in SECTIONS
            for part in (
                f"## Section {name}",
                f"In minicrawl.toml these settings are in `[{name}]`.",
                *(_setting(row) for row in TABLE if row.section.name == name),
            )
        ),
    )


def _setting(row: Setting) -> str:
    names = [f"`{_flag(row)}`", *([f"`{row.off}`"] if row.off else [])]
    names += [f"`{row.variable}`", f"`{row.key}`", f"`{row.argument}=`"]
    facts = {
        "Names": ", ".join(names),
        "Default": f"`{_default(row)}`",
        "Stored": "yes" if row.stored else "no",
    }
    if row.weakens is not None:
        facts["From a stranger"] = "no" if row.weakens is differs else "only what does no harm"
    return "\n\n".join(
        [
            f"### {row.name}",
            prose(row.help[:1].upper() + row.help[1:]),
            "\n".join(f"- {name}: {value}" for name, value in facts.items()),
        ]
    )


STUB = '''\
# Written by `python -m tests.reference --write`: edit config/parts, not this file.
"""Arguments of `Settings.of`, one per setting. Text is parsed as on the command line."""

from collections.abc import Sequence
from os import PathLike
from typing import Literal, TypeAlias, TypedDict

Time: TypeAlias = float | str
"""Seconds, or text such as `1h30m`."""
Size: TypeAlias = int | str
"""Bytes, or text such as `10MB`."""

class SettingArguments(TypedDict, total=False):
'''


def arguments_stub() -> str:
    """Return a stub with the types of the arguments of `Settings.of`."""
    return STUB + "".join(f"    {row.argument}: {row.kind.accepts}\n" for row in TABLE)


def _flag(row: Setting) -> str:
    return f"{row.flag} {row.kind.metavar}".strip()


def _default(row: Setting) -> str:
    match row.default:
        case None | ():
            return "none"
        case bool(on):
            return "on" if on else "off"
        case int(number):
            return f"{number:,}"
        case float(number):
            return f"{number:g}"
        case tuple(words):
            return ",".join(words)
        case word:
            return str(word)


# ---------------------------------------------------------------- what commands leave behind


def exit_codes() -> dict[int, str]:
    """Return the exit codes that the docstring of `minicrawl.cli` lists, with their meanings."""
    return {int(code): text for code, text in _EXIT_CODE.findall(cli.__doc__ or "")}


def exit_codes_page() -> str:
    """Describe the exit codes."""
    return _page(
        "Exit codes", "\n".join(f"- `{code}`: {prose(text)}" for code, text in exit_codes().items())
    )


def files_page() -> str:
    """Describe the files of a store."""
    store = "crawl.db"
    files = {
        store: "the store, an SQLite database",
        f"{store}-wal": "commits that are not in the database file yet; SQLite reads it, so it "
        "belongs to the store: never copy or delete one without the other",
        f"{store}-shm": "an index of `-wal`, while a program has the store open",
        f"{store}{LOCK}": "the lock of the process that writes the store; after a kill it "
        "stays, without harm",
        f"{store}{SUFFIX}": "ranks, the converged importance among them, the index of in-links and "
        "samples of the graph, derived from the store; may be deleted at any time. It also has the "
        "pings of IndexNow, without which pages are read later",
        f"{store}{DAMAGED}": "a file of ranks that could not be opened, set aside by the next "
        "crawl; may be deleted at any time",
        f"{store}{SEARCH}": "the search index: a folder that is derived from the store and its "
        "archive; may be deleted at any time",
        f"{store}{SEARCH}.toml": "synonyms and pins of the search, which you write; keep it",
        f"{store}{ARCHIVE}": "the archive: a folder with the pages that were kept. It can be read "
        "without the store; its file `index.db` is derived and may be deleted at any time",
        f"{store}{EARLIER}": "the captures of the earlier archive that `--dedupe-with` named, to "
        "which new web archives refer; without it they are whole",
        f"{store}{NOTICES}": "what the hook of `--notify` has not taken yet; the next run posts it",
        f"{store}{COOKIES}": "the cookies of the crawl (`--cookies`), readable by its owner only; "
        "without it sites begin new sessions",
        f"{store}{CONTROL}": "the socket that controls a running crawl; a kill leaves it, and the "
        "next crawl replaces it",
        f"{store}{DASHBOARD}": "the address of the store's dashboard, its token, and its key for "
        "IndexNow",
        f"{store}.2026-11-21T09-30-00": "the old store, renamed by `minicrawl crawl --fresh` at "
        "this time",
        f"{store}.part": "a copy that `minicrawl refine --to` has not finished",
    }
    return _page(
        "Files",
        f"The option `--store` names the store. Beside a store called `{store}` there may be:",
        "\n".join(f"- `{name}`: {what}." for name, what in files.items()),
    )


_TEXTS = {
    "author": "authors, separated by commas",
    "canonical": "canonical URL",
    "data": "JSON of structured data: `json-ld`, `opengraph`, `microdata` and `rdfa`",
    "description": "description",
    "image": "URL of the image that stands for the page",
    "lang": "detected language of the main text, as in ISO 639-1",
    "licence": "URL of the licence",
    "main": "main text, without menus, notices and comments",
    "markdown": "main text as Markdown",
    "modified": "date of the last change, as in ISO 8601",
    "published": "date of publication, as in ISO 8601",
    "site_name": "name of the site",
}


def export_page() -> str:
    """Describe the formats of `minicrawl export`, and the columns of pages and links."""
    columns = _FIELD.findall(inspect.getsource(ExportRow))
    pages = [suffix for suffix in WRITERS if lines_of(suffix) is None]
    return _page(
        "Export columns",
        f"`minicrawl export` writes pages as {_listed(pages)}, and graphs as these or as "
        f"{_listed(DRAWINGS)}. Columns are the same in every format and stand in this order.",
        "## Pages",
        "\n".join(
            f"- `{name}` ({prose(kind)})" + (f": {prose(comment)}" if comment else "")
            for name, kind, comment in columns
        ),
        "Each rank of `--ranks` adds a column with its scores at the end.",
        "## Contents",
        "Columns that `--with` adds, from the last kept version of each page; for .jsonl and "
        f".parquet; {_listed(SHORT_CONTENTS)} also for .csv and .tsv. "
        "In Parquet, lists are lists of structs, and `usage` is a struct of structs.",
        "\n".join(f"- `{name}`: {column.means}" for name, column in CONTENTS.items()),
        "The package `minicrawl[text]` adds:",
        "\n".join(f"- `{name}`: {what}" for name, what in sorted(_TEXTS.items())),
        "## Links",
        f"A row for each pair of pages of which one links to the other, with `--edges`: "
        f"{_listed(PAGE_LINK_COLUMNS)}. A page may link to itself. A redirect is no link. `end` is "
        "the final target if `target` redirects, or the original if it is a duplicate; else empty. "
        "Links that a page marks `nofollow` are not followed and have no row. The weight is 1 "
        "unless the crawl weighs links by `--weight-internal`.",
        "With `--level host`, a row is a pair of hosts, and the weight is the number of links "
        "between their pages, or within one host; there is no `end`.",
        f"With `--edges --raw`, a row for each link as the page has it, even if there are several "
        f"between two pages: {_listed(RAW_COLUMNS)}.",
        "A `.graphml`, `.gexf` or `.dot` file has the same links. Its nodes have `stands_for`: "
        "the target of a redirect, or the original of a duplicate. A link to a redirect that is "
        "not among the nodes leads to the first node in the chain of redirects.",
    )


def _listed(names: Iterable[str]) -> str:
    *first, last = (f"`{name}`" for name in names)
    return f"{', '.join(first)} and {last}" if first else last


# ---------------------------------------------------------------- the Python API


def python_page() -> str:
    """Describe every public name with its signature and docstring."""
    names = [name for name in minicrawl.__all__ if not name.startswith("_")]
    return _page(
        "Python API",
        "All that `minicrawl` exports. Everything else may change without notice.",
        *(part for name in names for part in _public(name, getattr(minicrawl, name))),
        "# For packages",
        "All that `minicrawl.ext` exports, for [packages](../how-to/add-a-package.md) that add to "
        "minicrawl.",
        *(part for name in ext.__all__ for part in _for_packages(name, names)),
    )


def _for_packages(name: str, known: Iterable[str]) -> Iterator[str]:
    """Describe a name of `minicrawl.ext`; the docstring of a function type stands below it."""
    value = getattr(ext, name)
    if name in known:
        return
    if isinstance(value, type):
        yield from _public(name, value)
        return
    home = sys.modules[ext.HOMES.get(name, ext.__name__)]
    found = re.search(
        rf'^{name}(?:: TypeAlias)? = (.+)\n"""(.+?)"""', inspect.getsource(home), re.MULTILINE
    )
    yield f"## {name}"
    if found is None:
        raise TypeError(f"{name} has no docstring")
    yield f"```python\n{found[1].strip(chr(34))}\n```"
    yield prose(found[2])


def _public(name: str, value: object) -> Iterator[str]:
    yield f"## {name}"
    if isinstance(value, UnionType):
        yield f"One of {_listed(one.__name__ for one in value.__args__)}."
    elif isinstance(value, type):
        yield from _class(value)
    else:
        raise TypeError(f"{name} is neither a class nor a union: the reference cannot describe it")


def _class(one: type) -> Iterator[str]:
    if not _is_a_record(one):
        yield _signature(one.__name__, one)
    yield paragraphs(one.__doc__ or "")
    if _is_a_record(one):
        yield _record(one)
    elif "__init__" in vars(one) and (made := vars(one)["__init__"].__doc__):
        yield paragraphs(made)
        yield from _attributes(one)
    for name, member in vars(one).items():
        described = _member(name, member)
        if not name.startswith("_") and described:
            yield described


def _attributes(one: type) -> Iterator[str]:
    """List the attributes that `__init__` describes by a text below them."""
    source = textwrap.dedent(inspect.getsource(vars(one)["__init__"]))
    (made,) = ast.parse(source).body
    assert isinstance(made, ast.FunctionDef)
    for line, below in pairwise(made.body):
        match line, below:
            case (
                ast.Assign(targets=[ast.Attribute(attr=name)])
                | ast.AnnAssign(target=ast.Attribute(attr=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ) if not name.startswith("_"):
                yield f"### `{name}`\n\n{paragraphs(text)}"


def _is_a_record(one: type) -> bool:
    return dataclasses.is_dataclass(one) or issubclass(one, enum.Enum | tuple)


def _record(one: type) -> str:
    """List the fields or members of a class with the comments behind them."""
    source = inspect.getsource(one)
    if issubclass(one, enum.Enum):
        comments = dict(_MEMBER.findall(source))
        rows = [(member.name, f"{member.value}", comments[member.name]) for member in one]
    else:
        rows = _FIELD.findall(source)
    return "\n".join(
        f"- `{name}`" + (f" ({prose(kind)})" if kind else "") + (f": {prose(why)}" if why else "")
        for name, kind, why in rows
    )


def _member(name: str, member: object) -> str:
    match member:
        case property(fget=getter) | cached_property(func=getter) if getter and getter.__doc__:
            return f"### `{name}`\n\n{paragraphs(getter.__doc__)}"
        case classmethod() | staticmethod():
            member = member.__func__
    if not inspect.isfunction(member) or not member.__doc__:
        return ""
    return "\n\n".join([f"### `{name}()`", _signature(name, member), paragraphs(member.__doc__)])


def _signature(name: str, callable_: Callable[..., object]) -> str:
    try:
        written = str(inspect.signature(callable_))
    except ValueError:  # an exception without an __init__ of its own
        written = "(message)"
    written = re.sub(r"<function (\w+) at 0x\w+>", r"\1", written)
    written = re.sub(r"\((?:self|cls)(?:, )?", "(", written, count=1)
    written = re.sub(r"(: |-> )'([^']+)'", r"\1\2", written)  # annotations that are text
    # Later versions of Python write these three in other ways.
    written = re.sub(r"(?:\*|Unpack\[)ForwardRef\('(\w+)'\)\]?", r"\1", written)
    written = written.replace("pathlib._local.", "pathlib.")
    written = written.replace("collections.abc.", "")
    array = r"numpy\.ndarray\[tuple\[typing\.Any, \.\.\.\], numpy\.dtype\[([\w.]+)\]\]"
    written = re.sub(array, r"NDArray[\1]", written)
    return f"```python\n{name}{written}\n```"


# ---------------------------------------------------------------- writing

PAGES: dict[str, Callable[[], str]] = {
    "docs/reference/commands.md": commands_page,
    "docs/reference/settings.md": settings_page,
    "docs/reference/exit-codes.md": exit_codes_page,
    "docs/reference/files.md": files_page,
    "docs/reference/export-columns.md": export_page,
    "docs/reference/python-api.md": python_page,
    "minicrawl/config/arguments.pyi": arguments_stub,
}


def stale(root: Path = ROOT) -> list[str]:
    """Return the names of pages that differ from what the code gives."""
    return [
        name
        for name, page in PAGES.items()
        if not (file := root / name).exists() or file.read_text(encoding="utf-8") != page()
    ]


def write(root: Path = ROOT) -> None:
    """Write all pages."""
    for name, page in PAGES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(page(), encoding="utf-8")


def main(arguments: list[str]) -> int:
    if arguments == ["--write"]:
        write()
    for name in (found := stale()):
        sys.stdout.write(f"{name} is out of date\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
