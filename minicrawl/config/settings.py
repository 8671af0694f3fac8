"""Settings of a crawl. If several sources set one, the strongest source wins.

Laws: no value of `Settings` is out of bounds. The origin of every setting is known. A
minicrawl.toml in the current folder, a store, or the terms of a cluster may come from a stranger:
values that weaken the user's own are ignored.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from minicrawl.config.declaration import Setting
from minicrawl.config.host_settings import HOST_SETTINGS, host_setting, rules_for
from minicrawl.config.parts import selection, servers, storage
from minicrawl.config.removed import GONE
from minicrawl.config.sources import (
    Given,
    Source,
    from_arguments,
    from_environment,
    from_file,
    from_flags,
)
from minicrawl.config.table import BY_NAME, SECTIONS, STORED, TABLE
from minicrawl.errors import UsageError

if TYPE_CHECKING:
    from minicrawl.config.arguments import SettingArguments

_LONGEST_FILE = 4_000_000_000
"""Longest file in bytes: an archive has 32 bits for the length of a record."""

DEFAULT = "default"
STORE = "store"
_CONTINUOUS_REFRESH = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Settings:
    """Settings of a crawl, part by part."""

    budget: selection.Budget = field(default_factory=selection.Budget)
    order: selection.Order = field(default_factory=selection.Order)
    scope: selection.Scope = field(default_factory=selection.Scope)
    politeness: servers.Politeness = field(default_factory=servers.Politeness)
    network: servers.Network = field(default_factory=servers.Network)
    access: servers.Access = field(default_factory=servers.Access)
    rendering: storage.Rendering = field(default_factory=storage.Rendering)
    limits: selection.Limits = field(default_factory=selection.Limits)
    traps: selection.Traps = field(default_factory=selection.Traps)
    storing: storage.Storing = field(default_factory=storage.Storing)
    cluster: storage.Cluster = field(default_factory=storage.Cluster)

    def __post_init__(self) -> None:
        for setting in TABLE:
            given = Given(self.value(setting), f"{setting.section.part}.{setting.field}")
            # Parsing is idempotent, so a value that changes was never parsed: it was set in Python.
            if (read := given.read_as(setting)) != given.value:
                given, read = given.masked(setting), setting.kind.masked(read)
                raise UsageError(f"{given.place}={given.value!r}: must be {read!r}")

    def __repr__(self) -> str:
        """Return the call that makes these settings, with secrets masked."""
        changed = ((row, self.value(row)) for row in TABLE if self.value(row) != row.default)
        given = (f"{row.argument}={row.kind.masked(value)!r}" for row, value in changed)
        return f"Settings.of({', '.join(given)})"

    @staticmethod
    def of(**values: Unpack["SettingArguments"]) -> "Settings":
        """Return settings from arguments: `Settings.of(pages=100, delay=0, scope="host")`."""
        return _merged([from_arguments(values)]).settings

    @staticmethod
    def given(**values: Unpack["SettingArguments"]) -> "Loaded":
        """Return settings with these values, which count as given even if they equal a default."""
        return _merged([from_arguments(values)])

    def value(self, setting: Setting) -> Any:
        """Return the value of a setting."""
        return getattr(getattr(self, setting.section.part), setting.field)

    def with_values(self, values: Mapping[str, object]) -> "Settings":
        """Return a copy with these values replaced, given by name of setting."""
        fields: dict[str, dict[str, Any]] = {section.part: {} for section in SECTIONS.values()}
        for name, value in values.items():
            fields[BY_NAME[name].section.part][BY_NAME[name].field] = value
        parts = {part: replace(getattr(self, part), **of) for part, of in fields.items()}
        return Settings(**parts)

    @property
    def keeps_files(self) -> bool:
        """True if linked files that are not documents are kept."""
        return selection.FILES in self.scope.types and self.storing.keep == "pages"

    @property
    def file_bytes(self) -> int:
        """Size limit of a linked file; 0 if such files are not kept."""
        return self.longest_file_bytes if self.keeps_files else 0

    @property
    def longest_file_bytes(self) -> int:
        """Size limit of a file, whether a page links to it or needs it."""
        return min(self.network.max_file_bytes, _LONGEST_FILE)

    @property
    def render_values(self) -> set[str]:
        """Values of `render`, of all hosts and of single ones."""
        rules = map(host_setting, self.politeness.host_settings)
        return {self.rendering.render, *(rule.value for rule in rules if rule.name == "render")}

    @property
    def is_rendering(self) -> bool:
        """True if any pages are rendered."""
        return self.render_values != {"never"}

    def render_of(self, host: str) -> str:
        """Return the value of `render` for a host."""
        rule = rules_for(self.politeness.host_settings, host).get("render")
        return self.rendering.render if rule is None else rule.value

    @property
    def asks_beside(self) -> bool:
        """True if the crawl also requests URLs that are not its pages, such as assets and files."""
        return bool(self.storing.check) or self.storing.requisites or self.keeps_files


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """Settings with their origins, by name."""

    settings: Settings
    origins: Mapping[str, str]
    ignored: Mapping[str, str] = field(default_factory=dict)
    """Places of values that are ignored because a stranger may have written them, by name."""
    unnamed: Source = field(default_factory=dict, compare=False)
    """Values from a file that the user has not named."""

    @staticmethod
    def of(settings: Settings) -> "Loaded":
        """Return settings made in Python; a value equal to its default counts as not given."""
        origins = {
            setting.name: DEFAULT
            if settings.value(setting) == setting.default
            else setting.argument
            for setting in TABLE
        }
        return Loaded(settings=settings, origins=origins)

    def is_given(self, setting: Setting) -> bool:
        """Return True if the setting has an origin other than its default."""
        return self.origins[setting.name] != DEFAULT

    def resumed(self, stored: Source) -> "Loaded":
        """Return a copy in which settings that were not given come from a store.

        A file that the user has not named may not weaken what the store has.
        """
        weaker = {
            name: given.place
            for name, given in self.unnamed.items()
            if name in stored and _is_weaker(BY_NAME[name], given, stored[name])
        }
        applicable = {
            setting.name: stored[setting.name]
            for setting in STORED
            if setting.name in stored and (not self.is_given(setting) or setting.name in weaker)
        }
        admitted, ignored = harmless(applicable, self.settings)
        gone = {name: given.place for name, given in stored.items() if name in GONE}
        taken = {name: given.read_as(BY_NAME[name]) for name, given in admitted.items()}
        origins = {**self.origins, **dict.fromkeys(taken, STORE)}
        return Loaded(
            settings=self.settings.with_values(taken),
            origins=origins,
            ignored={**self.ignored, **ignored, **gone, **weaker},
        )


def _is_weaker(row: Setting, given: Given, other: Given) -> bool:
    return row.weakens is not None and row.weakens(given.read_as(row), other.read_as(row))


def load(
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    file: Path | None,
    *weaker: Path,
    is_file_named: bool = True,
) -> Loaded:
    """Load settings: flags override the environment, then the files, then the defaults.

    Flags are named by Python argument, and may be text or values. Files that the user has not
    named may be a stranger's.
    """
    own = [from_flags(flags), from_environment(environ)]
    in_file: Source = {}
    for source in (*reversed(weaker), *filter(None, (file,))):
        in_file = {**in_file, **from_file(source)}
    if is_file_named or not in_file:
        return _merged([*own, in_file])
    named = _merged(own)
    applicable = {
        name: source for name, source in in_file.items() if not named.is_given(BY_NAME[name])
    }
    # Compared with the settings without the file, which would apply otherwise.
    admitted, ignored = harmless(applicable, named.settings)
    return replace(_merged([*own, admitted]), ignored=ignored, unnamed=admitted)


def harmless(source: Source, own: Settings) -> tuple[Source, Mapping[str, str]]:
    """Split an untrusted source: return its harmless values, and the places of the others."""
    ignored = {
        name: given.place for name, given in source.items() if _does_more(BY_NAME[name], given, own)
    }
    admitted = {name: given for name, given in source.items() if name not in ignored}
    if HOST_SETTINGS in ignored:  # the other rules may be longer delays, which are kept
        row, given = BY_NAME[HOST_SETTINGS], source[HOST_SETTINGS]
        texts: Any = given.read_as(row)
        rules = [text for text in texts if not _does_more(row, replace(given, value=text), own)]
        admitted[HOST_SETTINGS] = replace(given, value=rules)
    return admitted, ignored


def _does_more(row: Setting, given: Given, own: Settings) -> bool:
    """Return whether a stranger's value does more than the user's own."""
    value: Any = given.read_as(row)
    if row.name != HOST_SETTINGS:
        return row.weakens is not None and row.weakens(value, own.value(row))
    rules = (host_setting(text) for text in value if text not in own.politeness.host_settings)
    return any(_does_more(rule.setting, Given(rule.value, given.place), own) for rule in rules)


def told_ignored(places: Iterable[str]) -> str:
    """Return the warning about ignored values of one source; empty for none."""
    parted = [place.rpartition(":") for place in places]
    if not parted:
        return ""
    names = sorted(name for _, _, name in parted)
    weak = ", ".join(name for name in names if name not in GONE)
    why = [f"{name}: {GONE[name].why}" for name in names if name in GONE]
    if weak:
        why[:0] = [
            f"{weak}: only an option, a variable or a file named by --config may touch this "
            "machine or weaken politeness"
        ]
    return f"{parted[0][0]}: ignored {'; '.join(why)}"


def _merged(strongest_first: Sequence[Source]) -> Loaded:
    given: dict[str, Given] = {}
    for source in reversed(strongest_first):
        given |= source
    continuous = given.get("continuous")
    if "refresh" not in given and continuous and continuous.read_as(BY_NAME["continuous"]):
        given["refresh"] = Given(_CONTINUOUS_REFRESH, continuous.place)
    values: dict[str, dict[str, Any]] = {section.part: {} for section in SECTIONS.values()}
    for name, raw in given.items():
        setting = BY_NAME[name]
        values[setting.section.part][setting.field] = raw.read_as(setting)
    parts = {section.part: section.make(**values[section.part]) for section in SECTIONS.values()}
    return Loaded(
        settings=Settings(**parts),
        origins={name: given[name].place if name in given else DEFAULT for name in BY_NAME},
    )
