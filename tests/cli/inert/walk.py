"""Run commands in this process, and find the options that change nothing of what they do.

A *trial* is a command on an input, with or without another option before. An option is *inert* in a
trial that works if none of its values changes anything: what is printed, the exit code, or a file.
A value that is refused is no inert one, as its reason is told.
"""

import contextlib
import hashlib
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import click

from minicrawl.cli import main, root

Values = Mapping[str, Sequence[str]]
USAGE = 2


class Effect(NamedTuple):
    """What a run did."""

    code: int
    out: str
    err: str
    files: Mapping[str, str]


class Inert(NamedTuple):
    """An option that changes nothing in a trial."""

    command: str
    input: str
    beside: str
    option: str


def command_of(path: str) -> click.Command:
    """The command with this path, such as `rank hits`."""
    found: click.Command = root
    for name in path.split():
        assert isinstance(found, click.Group)
        context = click.Context(found)
        _, loaded, _ = found.resolve_command(context, [name])
        assert loaded is not None
        found = loaded
    return found


def leaves(group: click.Group = root, path: str = "") -> Iterator[str]:
    """The paths of all commands that are not groups."""
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
    """The options of a command by their longest name."""
    options = (one for one in command_of(path).params if isinstance(one, click.Option))
    return {max(one.opts, key=len): one for one in options if not one.hidden}


def values_of(option: click.Option, named: Sequence[str] | None) -> list[list[str]]:
    """Arguments that give the option each of its values."""
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
    """Run a command in the folder; files that it made are looked at and removed."""
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(arguments))
    made: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and before.get(path) != path.stat().st_mtime_ns:
            name = str(path.relative_to(folder))
            made[name] = hashlib.sha256(path.read_bytes()).hexdigest()
            if path not in before:
                path.unlink()
    for path in folder.iterdir():
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
    out.seek(0)
    err.seek(0)
    return Effect(code, out.read(), err.read(), made)


class Walk:
    """Looks for inert options of one command on one input."""

    def __init__(
        self,
        path: str,
        input_name: str,
        base: Sequence[str],
        values: Values,
        left_out: Collection[str] = (),
    ) -> None:
        self._path, self._input, self._base = path, input_name, list(base)
        self._values = {
            name: values_of(option, values.get(f"{path} {name}", values.get(name)))
            for name, option in options_of(path).items()
            if name not in base and name not in left_out
        }
        self.runs = 0
        self._run = cache(self._run_once)

    def _run_once(self, arguments: tuple[str, ...], folder: Path) -> Effect:
        self.runs += 1
        return run([*self._path.split(), *self._base, *arguments], folder)

    def plain(self, folder: Path) -> Effect:
        """What the command does without options."""
        return self._run((), folder)

    def alone(self, folder: Path) -> Iterator[Inert]:
        """Options that are inert without any other."""
        yield from self._beside((), folder)

    def in_pairs(self, folder: Path) -> Iterator[Inert]:
        """Options that are inert beside another one, whatever its value, and not alone.

        A choice is another option with each of its values.
        """
        alone = {found.option for found in self.alone(folder)}
        for name, values in self._values.items():
            works = [given for given in values if self._run(tuple(given), folder).code != USAGE]
            is_choice = isinstance(options_of(self._path)[name].type, click.Choice)
            for group in [[given] for given in works] if is_choice else [works][: len(works)]:
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
            effects = [self._run((*given, *value), folder) for value in values]
            worked = [effect for effect in effects if effect.code != USAGE]
            if worked and all(effect == plain for effect in worked):
                yield Inert(self._path, self._input, " ".join(given), name)
