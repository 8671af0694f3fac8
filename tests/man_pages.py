"""Manual pages and shell completions, made from the commands: `python -m tests.man_pages FOLDER`.

For packages of Linux distributions: FOLDER gets `man1/` with a page for each command, and
`completions/` with files for bash, zsh and fish, which click writes.
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from minicrawl import __version__
from minicrawl.cli import COMPLETION_VARIABLE, PROGRAM, root
from tests.readme import command_tree, context_of

SHELLS = {"bash": "minicrawl.bash", "zsh": "_minicrawl", "fish": "minicrawl.fish"}
_SPANS = re.compile(r"`([^`]+)`")


def man_page(path: str, command: click.Command) -> str:
    """Return the page of a command in the man macros of roff."""
    name, context = path.replace(" ", "-"), context_of(command, path)
    usage = _roff(" ".join(command.collect_usage_pieces(context)))
    summary, *paragraphs = _paragraphs(command.help or command.short_help or "")
    lines = [
        f'.TH "{name.upper()}" "1" "" "{PROGRAM} {__version__}" "{PROGRAM}"',
        *(".SH NAME", f"{_roff(name)} \\- {_roff(summary.rstrip('.'))}"),
        *(".SH SYNOPSIS", f".B {_roff(path)}", usage),
        *(".SH DESCRIPTION", *_text([summary, *paragraphs])),
        *_options(command, context),
        *_commands(path, command),
    ]  # fmt: skip
    if path != PROGRAM:
        lines += [".SH SEE ALSO", f".BR {PROGRAM} (1)"]
    return "\n".join(lines) + "\n"


def _paragraphs(text: str) -> list[str]:
    parts = re.split(r"\n\s*\n", inspect.cleandoc(text.partition("\f")[0]))
    return [" ".join(part.replace("\b", "").split()) for part in parts]


def _text(paragraphs: list[str]) -> Iterator[str]:
    for paragraph in paragraphs:
        yield from (".PP", _SPANS.sub(r"\\fB\1\\fR", _roff(paragraph)))


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    records = [one.get_help_record(context) for one in command.get_params(context)]
    found = [record for record in records if record]
    if found:
        yield ".SH OPTIONS"
    for names, means in found:
        yield from (".TP", f".B {_roff(names)}", _SPANS.sub(r"\\fB\1\\fR", _roff(means)))


def _commands(path: str, command: click.Command) -> Iterator[str]:
    tree = {name: one for name, one in command_tree(command, path).items() if name != path}
    if tree:
        yield ".SH COMMANDS"
    for name, one in tree.items():
        summary = _paragraphs(one.help or one.short_help or "")[0]
        yield from (".TP", f".BR {_roff(name.replace(' ', '-'))} (1)", _roff(summary))


def _roff(text: str) -> str:
    """Return a line of text as roff shows it: no character is a command."""
    quoted = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{quoted}" if quoted[:1] in (".", "'") else quoted


def completion(shell: str) -> str:
    """Return the completion file of a shell."""
    kind = get_completion_class(shell)
    assert kind is not None
    return kind(root, {}, PROGRAM, COMPLETION_VARIABLE).source()


def write(folder: Path) -> None:
    """Write all files below a folder."""
    for part in ("man1", "completions"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    for path, command in command_tree().items():
        page = man_page(path, command)
        (folder / "man1" / f"{path.replace(' ', '-')}.1").write_text(page, encoding="utf-8")
    for shell, name in SHELLS.items():
        (folder / "completions" / name).write_text(completion(shell), encoding="utf-8")


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def main(folder: Path) -> None:
    """Write manual pages and shell completions below FOLDER."""
    write(folder)


if __name__ == "__main__":
    main()
