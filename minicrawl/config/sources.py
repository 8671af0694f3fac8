"""Where settings come from: arguments, flags, the environment, a file, a store.

A source has raw values by the names of the settings, each with its place. Names are checked when a
source is read. A value is parsed only if it takes effect, and the message about a bad value has its
place.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from minicrawl.config.setting import PREFIX, SECTIONS, Setting
from minicrawl.config.table import BY_NAME, TABLE
from minicrawl.config.values.kinds import InvalidValue
from minicrawl.errors import UsageError

_BY_ARGUMENT = {setting.argument: setting for setting in TABLE}
_BY_KEY = {setting.key: setting for setting in TABLE}
_GONE = frozenset({"newborn-history"})
"""Names that stores of 0.1 and of drafts of 0.2 keep, of settings that are no more."""
_SHOWN = 60  # characters of a bad value that a message quotes


@dataclass(frozen=True, slots=True)
class Given:
    """A raw value and its place. `between` separates the two in a message: `pages = 5`."""

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
        """The same without secrets."""
        return Given(setting.kind.masked(self.value), self.place, self.between)

    def __str__(self) -> str:
        return f"{self.place}{self.between}{_shown(self.value)}"


Source = Mapping[str, Given]
"""The raw values of one source, by the names of the settings."""


def from_arguments(values: Mapping[str, object]) -> Source:
    """Values by the arguments of the settings. None means that a setting is not given."""
    return {
        setting.name: Given(value, setting.argument)
        for setting, value in _named(values)
        if value is not None
    }


def from_flags(values: Mapping[str, object]) -> Source:
    """The values of flags, by the arguments of the settings. None and () mean: not given."""
    return {
        setting.name: _as_flag(setting, value)
        for setting, value in _named(values)
        if value is not None and value != ()
    }


def from_environment(environ: Mapping[str, str]) -> Source:
    """Environment variables. An empty one is not given; a list has one value a line."""
    return {
        setting.name: Given(text.split("\n") if setting.kind.many else text, setting.variable)
        for setting in TABLE
        if (text := environ.get(setting.variable, "").strip())
    }


def unknown_variables(environ: Mapping[str, str], others: Iterable[str] = ()) -> list[str]:
    """A line for each variable that looks like a setting and is none."""
    known = [*(setting.variable for setting in TABLE), *others]
    return [
        f"{name}: no such variable{_hint(name, known)}"
        for name in sorted(environ)
        if name.startswith(PREFIX) and name not in known
    ]


def from_file(file: Path) -> Source:
    """Keys in the sections of a TOML file."""
    given = {}
    for key, value in _flat(file, _parsed(file)):
        if key not in _BY_KEY:
            raise UsageError(f"{file}:{key}: no such setting{_hint(key, [*_BY_KEY, *SECTIONS])}")
        given[_BY_KEY[key].name] = Given(value, f"{file}:{key}", " = ")
    return given


def from_store(store: Path | str, values: Mapping[str, object]) -> Source:
    """The settings in a store, or in the terms of a cluster, by their names. Settings that older
    stores have are left out.
    """
    kept = {name: value for name, value in values.items() if name not in _GONE}
    for name in kept:
        if name not in BY_NAME:
            raise UsageError(f"{store}:{name}: no such setting{_hint(name, BY_NAME)}")
    return {name: Given(value, f"{store}:{name}", " = ") for name, value in kept.items()}


def _named(values: Mapping[str, object]) -> Iterator[tuple[Setting, object]]:
    for argument, value in values.items():
        if argument not in _BY_ARGUMENT:
            raise UsageError(f"{argument}: no such setting{_hint(argument, _BY_ARGUMENT)}")
        yield _BY_ARGUMENT[argument], value


def _as_flag(setting: Setting, value: object) -> Given:
    if value is False:
        return Given(value, setting.off, " ")
    if setting.facet:
        return Given(value, f"{setting.flag} {setting.facet}")
    return Given(value, setting.flag, " ")


def _parsed(file: Path) -> dict[str, object]:
    import tomllib  # most crawls have no such file

    try:
        # Only with a line break at the end has a mistake in the last line a line number.
        return tomllib.loads(file.read_bytes().decode() + "\n")
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{file}: not UTF-8 (at line {line})") from None
    except ValueError as error:  # a TOMLDecodeError, or a number of thousands of digits
        raise UsageError(f"{file}: {error}") from None


def _flat(file: Path, document: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for key, value in document.items():
        if key not in SECTIONS:
            yield key, value
        elif isinstance(value, dict):
            yield from ((f"{key}.{name}", inner) for name, inner in value.items())
        else:
            raise UsageError(f"{Given(value, f'{file}:{key}', ' = ')}: must be a section, [{key}]")


def _hint(word: str, known: Iterable[str]) -> str:
    """The nearest known name in any section."""
    from difflib import get_close_matches

    by_last = {_last(name): name for name in known}
    near = get_close_matches(_last(word), by_last, n=1)
    return f"; did you mean {by_last[near[0]]}?" if near else ""


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str, skipkeys=True)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
