"""Runner of commands in this process that finds their options without effect.

A *trial* is a command with one or more sets of arguments, with or without another option before. An
option is *inert* in a successful trial if none of its values changes the output, the exit code or a
file with any of these arguments. A refused value is not inert, since the refusal has a reason.
"""

import contextlib
import hashlib
import io
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import click

from minicrawl.cli import main, root

Values = Mapping[str, Sequence[str]]
USAGE = 2
STDIN = b"good\nbad\n" * 40
"""Answers for commands that ask for verdicts, more than they need."""
TRACES = ("-shm", "-wal", ".lock")
"""Suffixes of files that readers leave behind."""


class Effect(NamedTuple):
    """Effect of a run: exit code, output, and hashes of changed files."""

    code: int
    out: str
    err: str
    files: Mapping[str, str]


class Inert(NamedTuple):
    """Option without effect in a trial."""

    command: str
    input: str
    beside: str
    option: str


def command_of(path: str) -> click.Command:
    """Return the command with a path such as `rank hits`."""
    found: click.Command = root
    for name in path.split():
        assert isinstance(found, click.Group)
        context = click.Context(found)
        _, loaded, _ = found.resolve_command(context, [name])
        assert loaded is not None
        found = loaded
    return found


ALONE = ("rank",)
"""Groups that also run without a subcommand."""


def leaves(group: click.Group = root, path: str = "") -> Iterator[str]:
    """Yield the paths of all commands that are not groups."""
    context = click.Context(group)
    for name in group.list_commands(context):
        _, loaded, _ = group.resolve_command(context, [name])
        full = f"{path} {name}".strip()
        if isinstance(loaded, click.Group):
            yield from leaves(loaded, full)
        else:
            yield full


@cache
def options_of(path: str) -> Mapping[str, click.Option]:
    """Return the options of a command by their longest name."""
    options = (one for one in command_of(path).params if isinstance(one, click.Option))
    return {max(one.opts, key=len): one for one in options if not one.hidden}


def values_of(option: click.Option, named: Sequence[str] | None) -> list[list[str]]:
    """Return the arguments for each value of an option."""
    name = max(option.opts, key=len)
    if option.is_flag:
        return [[name], *([flag] for flag in option.secondary_opts)]
    if named is not None:
        return [[name, value] for value in named]
    if isinstance(option.type, click.Choice):
        return [[name, str(one)] for one in option.type.choices if one != option.default]
    if isinstance(option.type, click.IntRange):
        least = option.type.min or 0
        some = dict.fromkeys((least, 1, 2, 3))
        return [[name, str(one)] for one in some if one >= least and one != option.default]
    raise LookupError(f"{name} needs values in tests/cli/inert/data.py")


def run(arguments: Sequence[str], folder: Path) -> Effect:
    """Run a command in the folder, note its changes of files, and undo them."""
    before = {path: (_mark(path), path.read_bytes()) for path in _files(folder)}
    stdin, out, err = (io.TextIOWrapper(io.BytesIO(text), "utf-8") for text in (STDIN, b"", b""))
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        patch.object(sys, "stdin", stdin),
    ):
        code = main(list(arguments))
    made: dict[str, str] = {}
    for path in sorted(_files(folder)):
        mark, content = before.get(path, (None, b""))
        if mark == _mark(path):
            continue
        made[str(path.relative_to(folder))] = hashlib.sha256(path.read_bytes()).hexdigest()
        if mark is None:
            path.unlink()
        else:
            path.write_bytes(content)
    for path in folder.iterdir():
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    return Effect(code, _written(out), _written(err), made)


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith(TRACES)]


def _mark(path: Path) -> tuple[int, int]:
    """Return a mark that also changes if another file takes the place of this one."""
    status = path.stat()
    return status.st_mtime_ns, status.st_ino


def _written(stream: io.TextIOWrapper) -> str:
    """Return the written text; a file on stdout may have bytes that are no text."""
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode("utf-8", "backslashreplace")


class Walk:
    """Search for inert options of a command; an option may matter with any of its `bases`."""

    def __init__(
        self,
        path: str,
        input_name: str,
        bases: Sequence[Sequence[str]],
        values: Values,
        left_out: Collection[str] = (),
    ) -> None:
        self._path, self._input, self._bases = path, input_name, bases
        self._values = {
            name: values_of(option, values.get(f"{path} {name}", values.get(name)))
            for name, option in options_of(path).items()
            if not all(name in base for base in bases) and name not in left_out
        }
        self._run = cache(self._run_once)

    def _run_once(self, arguments: tuple[str, ...], folder: Path) -> tuple[Effect, ...]:
        return tuple(run([*self._path.split(), *base, *arguments], folder) for base in self._bases)

    def plain(self, folder: Path) -> tuple[Effect, ...]:
        """Return the effects of the command without options, for each set of arguments."""
        return self._run((), folder)

    def alone(self, folder: Path) -> Iterator[Inert]:
        """Yield the options that are inert without any other."""
        yield from self._beside((), folder)

    def in_pairs(self, folder: Path) -> Iterator[Inert]:
        """Yield the options that are inert only beside another one, with each of its values.

        Each value of a choice counts as an option of its own.
        """
        alone = {found.option for found in self.alone(folder)}
        for name, values in self._values.items():
            works = [given for given in values if _works(self._run(tuple(given), folder))]
            is_choice = isinstance(options_of(self._path)[name].type, click.Choice)
            together = [works] if works else []
            for group in [[given] for given in works] if is_choice else together:
                found = [
                    {one.option for one in self._beside(tuple(given), folder)} for given in group
                ]
                beside = " ".join(group[0]) if is_choice else name
                for option in sorted(set.intersection(*found) - alone):
                    yield Inert(self._path, self._input, beside, option)

    def _beside(self, given: tuple[str, ...], folder: Path) -> Iterator[Inert]:
        plain = self._run(given, folder)
        for name, values in self._values.items():
            if name in given or (given and given[0] in values[0]):
                continue
            worked = [
                (effect, before)
                for value in values
                for effect, before in zip(self._run((*given, *value), folder), plain, strict=True)
                if effect.code != USAGE
            ]
            if worked and all(effect == before for effect, before in worked):
                yield Inert(self._path, self._input, " ".join(given), name)


def _works(effects: Sequence[Effect]) -> bool:
    return any(effect.code != USAGE for effect in effects)
