"""Sources of settings: arguments, flags, the environment, a file, a store.

A source maps names of settings to raw values with their places. Names are checked when a source
is read. A value is parsed only if it takes effect; the error for a bad value names its place.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from minicrawl.config.declaration import PREFIX, Setting, variable_of
from minicrawl.config.host_settings import values_of_tables
from minicrawl.config.removed import FORMER, GONE, renewed
from minicrawl.config.table import BY_NAME, SECTIONS, TABLE
from minicrawl.config.values.kinds import InvalidValue
from minicrawl.errors import UsageError

_BY_ARGUMENT = {setting.argument: setting for setting in TABLE}
_BY_KEY = {setting.key: setting for setting in TABLE}
_SILENTLY_IGNORED = frozenset(("newborn-history", "width", "measures"))
"""Removed settings in stores that are ignored silently: drafts of 0.2 stored the first one, and the
terms of a store have the others.
"""
FOLDER_FILE, PROJECT_FILE = "minicrawl.toml", "pyproject.toml"
_SHOWN = 60  # characters of a bad value that a message quotes


@dataclass(frozen=True, slots=True)
class Given:
    """Raw value and its place. `between` separates the two in a message: `pages = 5`."""

    value: object
    place: str
    between: str = "="

    def read_as(self, setting: Setting) -> object:
        try:
            return setting.kind.read(self.value)
        except InvalidValue as unfit:
            refused = Given(unfit.value, self.place, self.between)
            raise UsageError(f"{refused}: {unfit.wanted}") from None

    def masked(self, setting: Setting) -> "Given":
        """Return a copy without secrets."""
        return Given(setting.kind.masked(self.value), self.place, self.between)

    def __str__(self) -> str:
        value = self.value
        text = value if isinstance(value, str) else json.dumps(value, default=str, skipkeys=True)
        shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
        return f"{self.place}{self.between}{shown}"


Source = Mapping[str, Given]
"""Raw values of one source, by name of setting."""


def from_arguments(values: Mapping[str, object]) -> Source:
    """Return values named by Python argument. None means not given."""
    return {
        setting.name: Given(value, setting.argument)
        for setting, value in _named(renewed(values, "_"))
        if value is not None
    }


def from_flags(values: Mapping[str, object]) -> Source:
    """Return values of flags, named by Python argument. None and () mean not given."""
    return {
        setting.name: Given(value, setting.off if value is False else setting.flag, " ")
        for setting, value in _named(renewed(values, "_"))
        if value is not None and value != ()
    }


def from_environment(environ: Mapping[str, str]) -> Source:
    """Return values of environment variables. Empty means not given; lists have one per line."""
    for name in GONE:
        if environ.get(variable := variable_of(name)):
            raise removed_error(variable, name)
    names = (*BY_NAME, *FORMER)
    given = {
        name: text.split("\n") if name in FORMER or BY_NAME[name].kind.many else text
        for name in names
        if (text := environ.get(variable_of(name), "").strip())
    }
    return {name: Given(value, variable_of(name)) for name, value in renewed(given).items()}


def unknown_variables(environ: Mapping[str, str], more: Iterable[str] = ()) -> list[str]:
    """Return a line for each variable that looks like a setting but never was one."""
    known = [*map(variable_of, (*BY_NAME, *GONE, *FORMER)), *more]
    return [
        f"{name}: no such variable{_hint(name, known)}"
        for name in sorted(environ)
        if name.startswith(PREFIX) and name not in known
    ]


def from_file(file: Path) -> Source:
    """Return the values in a TOML file; of pyproject.toml, those in [tool.minicrawl]."""
    given = {}
    document, place = _parsed(file), f"{file}:"
    if file.name == PROJECT_FILE:
        tools = document.get("tool")
        own = tools.get("minicrawl") if isinstance(tools, dict) else None
        document = dict(own) if isinstance(own, dict) else {}
        place = f"{file}:tool.minicrawl."
    if former := {name: document.pop(name) for name in FORMER if name in document}:
        order = document.setdefault("order", {})
        if isinstance(order, dict):
            document["order"] = renewed(order | former)
    hosts = document.pop("hosts", {})
    for key, value in _flat(place, document):
        if (name := _last(key)) in GONE:
            raise removed_error(f"{place}{key}", name)
        if key not in _BY_KEY:
            raise UsageError(f"{place}{key}: no such setting{_hint(key, [*_BY_KEY, *SECTIONS])}")
        given[_BY_KEY[key].name] = Given(value, f"{place}{key}", " = ")
    try:
        of_hosts = values_of_tables(hosts)
    except InvalidValue as unfit:
        raise UsageError(f"{place}hosts.{unfit.value}: {unfit.wanted}") from None
    for name, texts in of_hosts.items():
        if (of_all := given.get(name)) is not None:
            own = of_all.value if isinstance(of_all.value, list) else [of_all.value]
            given[name] = Given([*own, *texts], of_all.place, " = ")
        else:
            given[name] = Given(texts, f"{place}hosts", " = ")
    return given


def unnamed_files(environ: Mapping[str, str]) -> list[Path]:
    """Return the files with settings that no option names, strongest first.

    They are that of the folder or else that of its Python project, and the user's own. A broken
    symbolic link counts as existing, and fails when it is read.
    """
    of_folder, of_project = Path(FOLDER_FILE), Path(PROJECT_FILE)
    files = [of_folder] if os.path.lexists(of_folder) else []
    # Cheap for the projects without settings of ours, whose files are left alone, damaged or not.
    if not files and of_project.is_file() and b"tool.minicrawl" in of_project.read_bytes():
        files = [of_project]
    home = environ.get("XDG_CONFIG_HOME", "")
    folder = Path(home) if Path(home).is_absolute() else Path(environ.get("HOME", ""), ".config")
    of_user = folder / "minicrawl" / "config.toml"
    return [*files, of_user] if of_user.is_absolute() and os.path.lexists(of_user) else files


def from_store(store: Path | str, values: Mapping[str, object]) -> Source:
    """Return the settings in a store, or in the terms of a cluster, by name.

    A removed setting is included only if its value differs from what the code does now.
    """
    holds = {
        name: value
        for name, value in values.items()
        if name not in _SILENTLY_IGNORED and not (name in GONE and value == GONE[name].usual)
    }
    if holds.get("strategy", "siblings") != "siblings":  # other orders have no use for values
        holds = {name: value for name, value in holds.items() if name not in FORMER}
    current = renewed(holds)
    for name in current:
        if name not in BY_NAME and name not in GONE:
            raise UsageError(f"{store}:{name}: no such setting{_hint(name, BY_NAME)}")
    return {name: Given(value, f"{store}:{name}", " = ") for name, value in current.items()}


def removed_error(place: str, name: str) -> UsageError:
    return UsageError(f"{place} is gone: {GONE[name].why}")


def _named(values: Mapping[str, object]) -> Iterator[tuple[Setting, object]]:
    for argument, value in values.items():
        if (name := argument.replace("_", "-")) in GONE:
            raise removed_error(argument, name)
        if argument not in _BY_ARGUMENT:
            raise UsageError(f"{argument}: no such setting{_hint(argument, _BY_ARGUMENT)}")
        yield _BY_ARGUMENT[argument], value


def _parsed(file: Path) -> dict[str, object]:
    import tomllib  # most crawls have no such file

    try:
        # Without a final line break, an error in the last line has no line number.
        return tomllib.loads(file.read_bytes().decode() + "\n")
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{file}: not UTF-8 (at line {line})") from None
    except ValueError as error:  # a TOMLDecodeError, or a number of thousands of digits
        raise UsageError(f"{file}: {error}") from None


def _flat(place: str, document: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for key, value in document.items():
        if key not in SECTIONS:
            yield key, value
        elif isinstance(value, dict):
            yield from ((f"{key}.{name}", inner) for name, inner in value.items())
        else:
            raise UsageError(f"{Given(value, f'{place}{key}', ' = ')}: must be a section, [{key}]")


def _hint(word: str, known: Iterable[str]) -> str:
    """Return a hint with the closest known name in any section."""
    from difflib import get_close_matches

    by_last = {_last(name): name for name in known}
    near = get_close_matches(_last(word), by_last, n=1)
    return f"; did you mean {by_last[near[0]]}?" if near else ""


def _last(name: str) -> str:
    return name.rpartition(".")[2]
