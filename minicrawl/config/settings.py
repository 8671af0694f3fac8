"""Settings of a crawl. If several sources set one, the strongest source wins.

Laws: no value of `Settings` is out of bounds. The origin of every setting is known. A
minicrawl.toml in the current folder, a store, or the terms of a cluster may come from a stranger:
values that weaken the user's own are ignored.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from minicrawl.config.parts import (
    BY_NAME,
    FILES,
    KEPT,
    PREFIX,
    SECTIONS,
    TABLE,
    Access,
    Budget,
    Cluster,
    Limits,
    Network,
    Order,
    Politeness,
    Rendering,
    Scope,
    Setting,
    Storing,
    Traps,
    variable_of,
)
from minicrawl.config.values import NONE, InvalidValue
from minicrawl.errors import UsageError

if TYPE_CHECKING:
    from minicrawl.config.arguments import SettingArguments

_LONGEST_FILE = 4_000_000_000
"""Longest file in bytes: an archive has 32 bits for the length of a record."""

# ================================================================ gone
#
# Removed settings and their replacements. For one version, their names are refused with this
# explanation. A store with such a setting still opens.


class Gone(NamedTuple):
    """Removed setting: its replacement, and the stored value that equals what the code does now."""

    why: str
    usual: object = None


GONE = {
    "discovery": Gone("--refresh SHARE sets the share of revisits; new pages get the rest"),
    "check-external": Gone("--check external checks links that leave the scope", "external"),
    "check-assets": Gone("--check assets checks images, styles, scripts and anchors", "assets"),
    "measures": Gone("all measures of a window are kept"),
    "width": Gone("a window is always 8 wide", 8),
    "newborn": Gone("a page is born with one unit of cash", "unit"),
    "replay": Gone("`minicrawl refine` and the end of a crawl compute converged ranks", 0),
    "weight": Gone("--weight-internal W weighs the links within a site"),
    "weight-dynamic": Gone("only links within a site weigh less, by --weight-internal", 1),
    "weight-emphasis": Gone("only links within a site weigh less, by --weight-internal", 1),
    "delay-factor": Gone("--delay auto waits 5 times as long as the host takes to answer", 5),
    "min-delay": Gone("--delay auto waits at least 0.5 s", 0.5),
    "max-delay": Gone("a Crawl-delay is capped at 60 s", 60),
    "max-pause": Gone("a host pauses for at most an hour"),
    "max-strikes": Gone("a host that failed 6 times is down for an hour"),
    "silent-share": Gone("hosts that have not answered get at most half of --concurrency"),
    "max-bodies": Gone("bodies have 15 MB together, or half more than --max-body"),
    "max-head": Gone("heads are limited to 64 KiB"),
    "max-codings": Gone("bodies may have 3 content codings"),
    "no-proxy": Gone("NO_PROXY names the hosts that need no proxy"),
    "client-key": Gone("--client-cert reads the key from the file of the certificate"),
    "min-tls": Gone("TLS 1.2 is the oldest version in use"),
    "prefer-family": Gone("the system's resolver orders the addresses of a host"),
    "max-rendering": Gone("a page is rendered for at most 20 s"),
    "max-render-requests": Gone("a page that is rendered may send 50 requests"),
    "max-render-memory": Gone("a browser may take 1 GB"),
    "max-links": Gone("10,000 links of a page are read"),
    "max-redirects": Gone("10 redirects in a row are followed"),
    "max-sitemaps": Gone("100 sitemaps of a host are read"),
    "max-robots": Gone("512 KiB of a robots.txt are read"),
    "max-reading": Gone("a page is parsed for at most 30 s"),
    "max-segments": Gone("a path may have 32 segments", 32),
    "max-repeats": Gone("a path may have a segment 4 times", 4),
    "focus-only": Gone("--score fetches pages of value first; --allow and --max-depth limit pages"),
    "same-pages": Gone("--barren-pages N ignores a difference of URLs after N / 2 pages", 10),
    "host-pages": Gone("--site-pages N is the quota of a host as well", 1000),
    "cluster-ca": Gone("NATS_CA names the file, as for the nats command"),
    "cluster-creds": Gone("NATS_CREDS names the file, as for the nats command"),
    "cluster-cert": Gone("NATS_CERT names the file, as for the nats command"),
    "noindex": Gone("export writes pages that ask not to be indexed; its column noindex tells"),
    "cluster-key": Gone("NATS_KEY names the file, as for the nats command"),
}


FORMER = {"focus": "url", "focus-type": "type", "focus-words": "words", "focus-similar": "words"}
"""Removed settings that add to `score` for one version, each with the scorer that replaces it."""
_STRENGTH = re.compile(r"=[0-9.]+\Z")


def _renewed(values: Mapping[str, object], between: str = "-") -> dict[str, object]:
    """Return raw values with scorers in place of removed settings; their strengths are dropped.

    `between` separates words in the names of the values.
    """
    kept, scores = dict(values), list[object]()
    for name, scorer in FORMER.items():
        given = kept.pop(name.replace("-", between), None)
        for one in _listed(given):
            scores.append(f"{scorer}:{_STRENGTH.sub('', str(one))}")
    if scores:
        kept["score"] = [*_listed(kept.get("score")), *scores]
    return kept


def _listed(value: object) -> Iterable[object]:
    if value is None or value == NONE:
        return ()
    return value if isinstance(value, Mapping | list | tuple) else (value,)


# ================================================================ sources
#
# Sources of settings: arguments, flags, the environment, a file, a store.
#
# A source maps names of settings to raw values with their places. Names are checked when a source
# is read. A value is parsed only if it takes effect; the error for a bad value names its place.

_BY_ARGUMENT = {setting.argument: setting for setting in TABLE}
_BY_KEY = {setting.key: setting for setting in TABLE}
_SILENTLY_IGNORED = frozenset(("newborn-history", "width", "measures"))
"""Removed settings in stores that are ignored silently: drafts of 0.2 stored the first one, and the
terms of a store have the others.
"""
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
        return f"{self.place}{self.between}{_shown(self.value)}"


Source = Mapping[str, Given]
"""Raw values of one source, by name of setting."""


def from_arguments(values: Mapping[str, object]) -> Source:
    """Return values named by Python argument. None means not given."""
    return {
        setting.name: Given(value, setting.argument)
        for setting, value in _named(_renewed(values, "_"))
        if value is not None
    }


def from_flags(values: Mapping[str, object]) -> Source:
    """Return values of flags, named by Python argument. None and () mean not given."""
    return {
        setting.name: Given(value, setting.off if value is False else setting.flag, " ")
        for setting, value in _named(_renewed(values, "_"))
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
    return {name: Given(value, variable_of(name)) for name, value in _renewed(given).items()}


def unknown_variables(environ: Mapping[str, str], others: Iterable[str] = ()) -> list[str]:
    """Return a line for each variable that looks like a setting but never was one."""
    known = [*map(variable_of, (*BY_NAME, *GONE, *FORMER)), *others]
    return [
        f"{name}: no such variable{_hint(name, known)}"
        for name in sorted(environ)
        if name.startswith(PREFIX) and name not in known
    ]


def from_file(file: Path) -> Source:
    """Return the values in a TOML file."""
    given = {}
    document = _parsed(file)
    if former := {name: document.pop(name) for name in FORMER if name in document}:
        order = document.setdefault("order", {})
        if isinstance(order, dict):
            document["order"] = _renewed(order | former)
    for key, value in _flat(file, document):
        if (name := _last(key)) in GONE:
            raise removed_error(f"{file}:{key}", name)
        if key not in _BY_KEY:
            raise UsageError(f"{file}:{key}: no such setting{_hint(key, [*_BY_KEY, *SECTIONS])}")
        given[_BY_KEY[key].name] = Given(value, f"{file}:{key}", " = ")
    return given


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
    kept = _renewed(holds)
    for name in kept:
        if name not in BY_NAME and name not in GONE:
            raise UsageError(f"{store}:{name}: no such setting{_hint(name, BY_NAME)}")
    return {name: Given(value, f"{store}:{name}", " = ") for name, value in kept.items()}


def removed_error(place: str, name: str) -> UsageError:
    """Return the error about a removed setting that is given at this place."""
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


def _flat(file: Path, document: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for key, value in document.items():
        if key not in SECTIONS:
            yield key, value
        elif isinstance(value, dict):
            yield from ((f"{key}.{name}", inner) for name, inner in value.items())
        else:
            raise UsageError(f"{Given(value, f'{file}:{key}', ' = ')}: must be a section, [{key}]")


def _hint(word: str, known: Iterable[str]) -> str:
    """Return a hint with the closest known name in any section."""
    from difflib import get_close_matches

    by_last = {_last(name): name for name in known}
    near = get_close_matches(_last(word), by_last, n=1)
    return f"; did you mean {by_last[near[0]]}?" if near else ""


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str, skipkeys=True)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


# ================================================================ settings

DEFAULT = "default"
STORE = "store"
_CONTINUOUS_REFRESH = 0.5
"""Default of `refresh` in a continuous crawl."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Settings:
    """Settings of a crawl, part by part."""

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
            # Parsing is idempotent, so a value that changes was never parsed: it was set in Python.
            if (read := given.read_as(setting)) != given.value:
                given, read = given.masked(setting), setting.kind.masked(read)
                raise UsageError(f"{given.place}={given.value!r}: must be {read!r}")

    def __repr__(self) -> str:
        """Return the call that makes these settings, with secrets masked."""
        others = ((row, self.value(row)) for row in TABLE if self.value(row) != row.default)
        given = (f"{row.argument}={row.kind.masked(value)!r}" for row, value in others)
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
        return FILES in self.scope.types and self.storing.keep == "pages"

    @property
    def file_bytes(self) -> int:
        """Size limit of a linked file; 0 if such files are not kept."""
        return self.longest_file_bytes if self.keeps_files else 0

    @property
    def longest_file_bytes(self) -> int:
        """Size limit of a file, whether a page links to it or needs it."""
        return min(self.network.max_file_bytes, _LONGEST_FILE)

    @property
    def asks_beside(self) -> bool:
        """True if the crawl also requests URLs that are not its pages, such as assets and files."""
        return self.storing.checks_links or self.keeps_files

    def _given(self, setting: Setting) -> Given:
        return Given(self.value(setting), f"{setting.section.part}.{setting.field}")


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

    def resumed(self, kept: Source) -> "Loaded":
        """Return a copy in which settings that were not given come from a store.

        A file that the user has not named may not weaken what the store has.
        """
        weaker = {
            name: given.place
            for name, given in self.unnamed.items()
            if name in kept and _is_weaker(BY_NAME[name], given, kept[name])
        }
        wanted = {
            setting.name: kept[setting.name]
            for setting in KEPT
            if setting.name in kept and (not self.is_given(setting) or setting.name in weaker)
        }
        admitted, ignored = harmless(wanted, self.settings)
        gone = {name: given.place for name, given in kept.items() if name in GONE}
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
    *,
    is_file_named: bool = True,
) -> Loaded:
    """Load settings: flags override the environment, then the file, then the defaults.

    Flags are named by Python argument, and may be text or values. A file that the user has not
    named may be a stranger's.
    """
    own = [from_flags(flags), from_environment(environ)]
    if file is None:
        return _merged(own)
    in_file = from_file(file)
    if is_file_named:
        return _merged([*own, in_file])
    named = _merged(own)
    wanted = {name: one for name, one in in_file.items() if not named.is_given(BY_NAME[name])}
    # Compared with the settings without the file, which would apply otherwise.
    admitted, ignored = harmless(wanted, named.settings)
    return replace(_merged([*own, admitted]), ignored=ignored, unnamed=admitted)


def harmless(source: Source, own: Settings) -> tuple[Source, Mapping[str, str]]:
    """Split an untrusted source: return its harmless values, and the places of the others."""
    rows = {name: BY_NAME[name] for name in source}
    ignored = {
        name: source[name].place
        for name, row in rows.items()
        if row.weakens is not None and row.weakens(source[name].read_as(row), own.value(row))
    }
    return {name: one for name, one in source.items() if name not in ignored}, ignored


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
            f"{weak}: may touch this machine or weaken politeness; set it by option, by variable "
            "or in a file named by --config"
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


# ================================================================ writing
#
# Settings as TOML, as JSON and as text, with their origins; and the settings that a store keeps.
#
# Laws: the output of `as_toml` is a minicrawl.toml with these settings, except for secrets, which
# are never written. Parsing the `plain` value of a setting, directly or after a round trip through
# JSON, gives the same value.

_COMMENTS_FROM = 34  # the column


def as_toml(loaded: Loaded) -> str:
    """Return TOML with a setting per line and its origin in a comment."""
    return "\n".join(_lines(loaded)) + "\n"


def as_document(loaded: Loaded) -> dict[str, dict[str, object]]:
    """Return value (in JSON types) and origin of each setting, by its key in minicrawl.toml."""
    return {
        setting.key: {
            "value": setting.kind.masked(plain(loaded.settings, setting)),
            "from": loaded.origins[setting.name],
        }
        for setting in TABLE
    }


def as_kept(loaded: Loaded) -> dict[str, object]:
    """Return the settings that a store keeps for the next run, by name: given now or before."""
    return {
        setting.name: plain(loaded.settings, setting)
        for setting in KEPT
        if loaded.is_given(setting)
    }


def plain(settings: Settings, setting: Setting) -> object:
    """Return the value in JSON types."""
    value = settings.value(setting)
    if isinstance(value, tuple):
        return list(value)
    return _plain(value)


def as_text(value: object) -> str:
    """Format a plain value for a message."""
    match value:
        case bool(on):
            return "on" if on else "off"
        case list(texts) if texts:
            return ", ".join(map(str, texts))
        case None | []:
            return NONE
    return str(value)


def _lines(loaded: Loaded) -> Iterator[str]:
    for section in SECTIONS.values():
        yield f"\n[{section.name}]"
        for setting in TABLE:
            if setting.section is section:
                yield _line(loaded, setting)


def _line(loaded: Loaded, setting: Setting) -> str:
    shown = setting.kind.masked(plain(loaded.settings, setting))
    # Strings are printable, so JSON and TOML write them alike.
    value = json.dumps(NONE if shown is None else shown, ensure_ascii=False)
    origin = "".join(c if c.isprintable() else "?" for c in loaded.origins[setting.name])
    return f"{f'{setting.name} = {value}':{_COMMENTS_FROM}}  # {origin}"


def _plain(value: Any) -> object:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
