"""All settings of a crawl. Where several sources give one, the strongest source decides.

Laws: no value of `Settings` is out of bounds. The origin of every setting is known. discovery and
refresh share one budget and sum to 1. A stranger may have written a minicrawl.toml in the current
folder, a store, or the terms of a cluster: none of their values counts that weakens the user's own.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from minicrawl.config import sources
from minicrawl.config.parts import (
    Access,
    Budget,
    Cluster,
    Limits,
    Network,
    Order,
    Politeness,
    Rendering,
    Scope,
    Storing,
    Traps,
)
from minicrawl.config.setting import SECTIONS, Setting
from minicrawl.config.sources import Given, Source
from minicrawl.config.table import BY_NAME, KEPT, TABLE
from minicrawl.errors import UsageError

if TYPE_CHECKING:
    from minicrawl.config.arguments import SettingArguments

DEFAULT = "default"
STORE = "store"
SHARES = ("discovery", "refresh")
HALF = 0.5
_DIGITS = 9  # the precision to which two shares must sum to 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings of a crawl, part by part."""

    budget: Budget = field(default_factory=Budget)
    order: Order = field(default_factory=Order)
    scope: Scope = field(default_factory=Scope)
    politeness: Politeness = field(default_factory=Politeness)
    network: Network = field(default_factory=Network)
    access: Access = field(default_factory=Access)
    rendering: Rendering = field(default_factory=Rendering)
    limits: Limits = field(default_factory=Limits)
    traps: Traps = field(default_factory=Traps)
    storing: Storing = field(default_factory=Storing)
    cluster: Cluster = field(default_factory=Cluster)

    def __post_init__(self) -> None:
        for setting in TABLE:
            given = self._given(setting)
            if (read := given.read_as(setting)) != given.value:
                given, read = given.masked(setting), setting.kind.masked(read)
                raise UsageError(f"{given.place}={given.value!r}: must be {read!r}")
        _refuse_unless_sum_is_1(*(self._given(BY_NAME[share]) for share in SHARES))

    @staticmethod
    def of(**values: Unpack["SettingArguments"]) -> "Settings":
        """Settings from arguments of the table: `Settings.of(pages=100, delay=0, scope="host")`."""
        return _settled([sources.from_arguments(values)]).settings

    def value(self, setting: Setting) -> Any:
        """The value of a row of the table."""
        return getattr(getattr(self, setting.section.part), setting.field)

    def with_values(self, values: Mapping[str, object]) -> "Settings":
        """A copy with other values, by the names of the settings."""
        fields: dict[str, dict[str, Any]] = {section.part: {} for section in SECTIONS.values()}
        for name, value in values.items():
            fields[BY_NAME[name].section.part][BY_NAME[name].field] = value
        parts = {part: replace(getattr(self, part), **of) for part, of in fields.items()}
        return Settings(**parts)

    def _given(self, setting: Setting) -> Given:
        return Given(self.value(setting), f"{setting.section.part}.{setting.field}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Settings, and the origin of each by its name."""

    settings: Settings
    origins: Mapping[str, str]
    ignored: Mapping[str, str] = field(default_factory=dict)
    """The places of values that do not count, as a stranger may have written them, by name."""

    @staticmethod
    def of(settings: Settings) -> "Loaded":
        """For settings made in Python: a value equal to its default counts as not given."""
        origins = {
            setting.name: DEFAULT
            if settings.value(setting) == setting.default
            else setting.argument
            for setting in TABLE
        }
        return Loaded(settings=settings, origins=origins)

    def is_given(self, setting: Setting) -> bool:
        """Whether the setting has another origin than its default."""
        return self.origins[setting.name] != DEFAULT

    def resumed(self, kept: Source) -> "Loaded":
        """A copy that takes the settings that are not given from a store."""
        wanted = {
            setting.name: kept[setting.name]
            for setting in KEPT
            if setting.name in kept and not self.is_given(setting)
        }
        admitted, ignored = harmless(wanted, self.settings)
        taken = {name: given.read_as(BY_NAME[name]) for name, given in admitted.items()}
        origins = {**self.origins, **dict.fromkeys(taken, STORE)}
        return Loaded(
            settings=self.settings.with_values(taken),
            origins=origins,
            ignored={**self.ignored, **ignored},
        )


def load(
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    file: Path | None,
    *,
    is_file_named: bool = True,
) -> Loaded:
    """Flags override the environment, which overrides the file, which overrides the defaults.

    Flags are named by the arguments of the settings and may be text or values. A file that the
    user has not named may be a stranger's.
    """
    own = [sources.from_flags(flags), sources.from_environment(environ)]
    if file is None:
        return _settled(own)
    in_file = sources.from_file(file)
    if is_file_named:
        return _settled([*own, in_file])
    named = _settled(own)
    wanted = {name: one for name, one in in_file.items() if not named.is_given(BY_NAME[name])}
    admitted, ignored = harmless(wanted, named.settings)
    return replace(_settled([*own, admitted]), ignored=ignored)


def harmless(source: Source, own: Settings) -> tuple[Source, Mapping[str, str]]:
    """What counts of a source that a stranger may have written; and the places of the rest."""
    rows = {name: BY_NAME[name] for name in source}
    ignored = {
        name: source[name].place
        for name, row in rows.items()
        if row.weakens is not None and row.weakens(source[name].read_as(row), own.value(row))
    }
    return {name: one for name, one in source.items() if name not in ignored}, ignored


def told_ignored(places: Iterable[str]) -> str:
    """The line about values that do not count, which all have one source; empty for none."""
    parted = [place.rpartition(":") for place in places]
    if not parted:
        return ""
    names = ", ".join(sorted(name for _, _, name in parted))
    return (
        f"{parted[0][0]}: ignored {names}: what touches this machine or weakens a promise counts "
        "as an option, as a variable, or in a file that --config names"
    )


def _settled(strongest_first: Sequence[Source]) -> Loaded:
    given: dict[str, Given] = {}
    for source in reversed(strongest_first):
        given |= source
    given |= _shares(strongest_first, given.get("continuous"))
    values: dict[str, dict[str, Any]] = {section.part: {} for section in SECTIONS.values()}
    for name, raw in given.items():
        setting = BY_NAME[name]
        values[setting.section.part][setting.field] = raw.read_as(setting)
    parts = {section.part: section.make(**values[section.part]) for section in SECTIONS.values()}
    return Loaded(
        settings=Settings(**parts),
        origins={name: given[name].place if name in given else DEFAULT for name in BY_NAME},
    )


def _shares(strongest_first: Sequence[Source], continuous: Given | None) -> dict[str, Given]:
    """Both shares. The strongest source that gives one of them decides both."""
    for source in strongest_first:
        given = {share: source[share] for share in SHARES if share in source}
        if len(given) == 1:
            return _with_complement(*given.items())
        if given:
            _refuse_unless_sum_is_1(*given.values())
            return given
    if continuous and continuous.read_as(BY_NAME["continuous"]):
        return dict.fromkeys(SHARES, Given(HALF, continuous.place))
    return {}


def _with_complement(one: tuple[str, Given]) -> dict[str, Given]:
    share, given = one
    (other,) = set(SHARES) - {share}
    rest = round(1 - _share(given, share), _DIGITS)
    return {share: given, other: Given(rest, given.place)}


def _refuse_unless_sum_is_1(discovery: Given, refresh: Given) -> None:
    total = _share(discovery, "discovery") + _share(refresh, "refresh")
    if not math.isclose(total, 1, abs_tol=10**-_DIGITS):
        raise UsageError(f"{discovery} and {refresh}: must sum to 1")


def _share(given: Given, name: str) -> float:
    share = given.read_as(BY_NAME[name])
    assert isinstance(share, float)
    return share
