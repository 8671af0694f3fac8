"""Kinds of values: parsing and validation of what users give.

Laws: text (from a flag or a variable) and values (from TOML or Python) with the same meaning are
parsed as the same value. A parsed value is parsed again as itself. A header that would break the
framing of requests, or a promise of politeness, is refused. A secret is never shown, neither in an
error about a bad value nor in listings of settings.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import index
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from minicrawl import ext

ON, OFF = "on", "off"
"""Values of settings that also take a file."""
AUTO = "auto"
ENVIRONMENT = "environment"
"""Value that stands for the proxies in environment variables."""
SYSTEM = "system"
"""Value that stands for the resolver of the system."""


# ================================================================ by host
#
# Values of settings that may be limited to one host. Each process that sends requests parses them
# anew.
#
# HOST   `docs.example`, `docs.example:8443` or `https://docs.example` (see `fetch.access.origins`)

_HOST = r"(?:https?://)?(?:\[[0-9A-Fa-f:.]+\]|[^\s=:/@\[\]]+)(?::[0-9]{1,5})?"
HEADER = re.compile(
    rf"(?:(?P<host>{_HOST})=)?(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*(?P<value>.*)"
)
"""A header for all hosts, or for one."""
LOGIN = re.compile(rf"(?P<host>{_HOST})=(?:@(?P<file>.+)|(?P<secret>.+))")
"""A secret for one host, or the file that holds it."""

HOST_NAME = r"(\*\.)?[^\s*:/]+|\[[0-9A-Fa-f:.]+\]"
OF_A_HOST = re.compile(rf"(?:(?P<host>{HOST_NAME})=)?(?P<file>.+)")
"""A file for all hosts, or for one, or for all below `*.NAME`."""


def host_and_file(text: str) -> tuple[str, Path]:
    """Return the host that a file is for (`*.NAME` for subdomains, empty for all), and the file."""
    found = OF_A_HOST.fullmatch(text)
    assert found is not None, "the settings have validated the text"
    return (found["host"] or "").strip("[]").lower(), Path(found["file"])


# ================================================================ quantities
#
# Numbers, times and sizes: parsed from text or numbers, and formatted as text.
#
# A parser returns None for an invalid value. True, false, infinity and nan are not numbers.

_DECIMAL = r"([0-9]+(?:\.[0-9]+)?)"

_SECONDS = {"d": 86_400, "h": 3600, "m": 60, "s": 1, "ms": 0.001}
_TIME = re.compile(r"\s*".join(rf"(?:{_DECIMAL}\s*{unit})?" for unit in _SECONDS), re.IGNORECASE)

_PERCENT = re.compile(rf"{_DECIMAL}\s*%")

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SIZE = re.compile(rf"{_DECIMAL}\s*([kmgt]?)(i?)b?", re.IGNORECASE)


def whole_number(value: object) -> int | None:
    try:
        if isinstance(value, str):
            return int(value)
        return None if isinstance(value, bool) else index(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def finite_number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        found = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def seconds(value: object) -> float | None:
    """Parse seconds, or a time with units, largest first: 1h30m, 1.5h, 250ms."""
    if (plain := finite_number(value)) is not None:
        return plain
    found = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    if not found or not any(found.groups()):
        return None
    counts = zip(found.groups("0"), _SECONDS.values(), strict=True)
    return finite_number(sum(float(count) * unit for count, unit in counts))


def size(value: object) -> int | None:
    """Parse bytes, or a size with a unit: 10MB is 10,000,000 bytes, 10MiB is 10 x 1024^2."""
    if (plain := whole_number(value)) is not None:
        return plain
    found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if not found:
        return None
    unit = (1024 if found[3] else 1000) ** _POWERS[found[2].lower()]
    count = finite_number(float(found[1]) * unit)
    return None if count is None else round(count)


def part(value: object) -> float | None:
    """Parse a share of 1, or a percentage: 0.9 or 90%."""
    if (plain := finite_number(value)) is not None:
        return plain
    found = _PERCENT.fullmatch(value.strip()) if isinstance(value, str) else None
    return None if found is None else float(found[1]) / 100


def as_percent(value: object) -> str:
    """Format a share in percent: 90%."""
    return value if isinstance(value, str) else f"{100 * float(str(value)):g}%"


def as_time(value: object) -> str:
    """Format seconds with the largest unit that divides them: 1h, 30s, 0.1s."""
    seconds = float(str(value))
    for unit, length in _SECONDS.items():
        if length >= 1 and seconds and not seconds % length:
            return f"{seconds / length:g}{unit}"
    return f"{seconds:g}s"


def as_size(value: object) -> str:
    """Format bytes with the largest unit that divides them: 10MB, 64KiB, 999B."""
    count = int(str(value))
    for prefix, power in reversed(_POWERS.items()):
        for base, infix in ((1024, "i"), (1000, "")):
            if prefix and count and not count % base**power:
                return f"{count // base**power}{prefix.upper()}{infix}B"
    return f"{count}B"


# ================================================================ kinds
#
# Kinds of values: each parses a value from the user, or raises `InvalidValue`.

NONE = "none"  # None as text
ALL = "all"
MOST = 2**31 - 1  # of pages: the limit of the ledger
MOST_BYTES = 2**63 - 1
MOST_SECONDS = 1e9
LEAST_EDGE = 0.01  # 0 lets cash cycle forever; 1 ignores all links

Reader = Callable[[object], object]


HIDDEN = "***"
"""Shown in place of a secret."""


class InvalidValue(Exception):
    """Unusable value. `wanted` completes a message that quotes the value."""

    def __init__(self, value: object, wanted: str) -> None:
        super().__init__(value, wanted)
        self.value = value
        self.wanted = wanted


@dataclass(frozen=True, slots=True)
class ValueKind:
    """Kind of value: its placeholder in help, and its parser."""

    metavar: str
    read: Reader
    names: tuple[str, ...] = ()  # values offered by shell completion
    group: str = ""  # entry points that add further names
    many: bool = False
    show: Callable[[object], str] = str  # formats a default for help
    mask: Callable[[str], str] | None = None  # hides the secret in a value
    accepts: str = "str"  # type of the argument in Python

    def all_names(self) -> tuple[str, ...]:
        """Return the built-in names, and those of installed packages."""
        added = ext.entry_points(self.group) if self.group else ()
        return tuple(dict.fromkeys((*self.names, *added)))

    @property
    def is_switch(self) -> bool:
        """True if a flag sets it and another one turns it off, both without a value."""
        return not self.metavar

    def masked(self, value: Any) -> Any:
        """Return the value without its secrets."""
        if self.mask is None or value is None:
            return value
        if isinstance(value, list | tuple):
            return type(value)(map(self.masked, value))
        return self.mask(str(value))


# ---------------------------------------------------------------- numbers


def whole(least: int, most: int = MOST) -> ValueKind:
    """A whole number between `least` and `most`."""
    wanted = "must be a whole number " + ("above 0" if least == 1 else f"of at least {least}")

    def read(value: object) -> int:
        found = whole_number(value)
        if found is None or found < least:
            raise InvalidValue(value, wanted)
        if found > most:
            raise InvalidValue(value, f"must be at most {most:,}")
        return found

    return ValueKind("N", read, accepts="int")


def number(wanted: str, fits: Callable[[float], bool], metavar: str = "X") -> ValueKind:
    """A finite number for which `fits` is true; `wanted` says what that means."""

    def read(value: object) -> float:
        found = finite_number(value)
        if found is None or not fits(found):
            raise InvalidValue(value, f"must be {wanted}")
        return found

    return ValueKind(metavar, read, show="{:g}".format, accepts="float | str")


def time(wanted: str, fits: Callable[[float], bool]) -> ValueKind:
    """A number of seconds, or a time such as 1h30m."""
    wanted = f"must be a time {wanted}, such as 90, 30s, 5m, 2h or 1h30m"

    def read(value: object) -> float:
        found = seconds(value)
        if found is None or not fits(found):
            raise InvalidValue(value, wanted)
        if found > MOST_SECONDS:
            raise InvalidValue(value, f"must be at most {MOST_SECONDS:,.0f} seconds")
        return found

    return ValueKind("TIME", read, show=as_time, accepts="Time")


def _read_size(value: object) -> int:
    found = size(value)
    if found is None or found < 1:
        raise InvalidValue(value, "must be a size above 0, such as 5000, 500kB, 10MB or 2GiB")
    if found > MOST_BYTES:
        raise InvalidValue(value, f"must be at most {MOST_BYTES:,} bytes")
    return found


GUARANTEED = "guaranteed"


def _read_part(value: object) -> float | str:
    is_guaranteed = isinstance(value, str) and value.rstrip().endswith(GUARANTEED)
    found = part(str(value).rstrip().removesuffix(GUARANTEED) if is_guaranteed else value)
    if found is None or not 0 < found <= 1:
        raise InvalidValue(value, "must be a share above 0 and at most 1, such as 90% or 0.9")
    return f"{100 * found:.10g}% {GUARANTEED}" if is_guaranteed else found


def guaranteed_part(value: float | str | None) -> float | None:
    """Return the share that must be guaranteed, or None if none must."""
    return part(value.removesuffix(GUARANTEED)) if isinstance(value, str) else None


# ---------------------------------------------------------------- words


def choice(*names: str, renamed: Mapping[str, str] | None = None, group: str = "") -> ValueKind:
    """One of a few names; `renamed` maps removed names to their replacements.

    Packages add names by entry points in this group.
    """

    def read(value: object) -> str:
        if isinstance(value, str) and (value in names or value in kind.all_names()):
            return value
        if isinstance(value, str) and renamed and value in renamed:
            raise InvalidValue(value, f"was removed, use {renamed[value]} instead")
        added = ", or a name that an installed package adds" if group else ""
        raise InvalidValue(value, f"must be one of {', '.join(kind.all_names())}{added}")

    accepts = "Literal[" + ", ".join(f'"{name}"' for name in names) + "]"
    if group:  # packages add names that a type checker cannot know
        accepts = "str"
    kind = ValueKind("|".join(names), read, names=names, group=group, accepts=accepts)
    return kind


def text(metavar: str, wanted: str, form: str | Callable[[str], object]) -> ValueKind:
    """Text that matches `form`, a regular expression or a test."""
    fits = re.compile(form).fullmatch if isinstance(form, str) else form

    def read(value: object) -> str:
        if isinstance(value, str) and value.isprintable() and fits(value):
            return value
        raise InvalidValue(value, f"must be {wanted}")

    return ValueKind(metavar, read)


def some_of(*names: str, or_none: bool = False) -> ValueKind:
    """One or more of a few names, as lists or comma-separated; `all` is all of them.

    With `or_none`, `none` is none of them. The result is in the order of `names`, without repeats.
    """

    def read(value: object) -> tuple[str, ...]:
        given = [value] if isinstance(value, str) else value
        if or_none and (_is_none(value) or value in ([], ())):
            return ()
        if not isinstance(given, list | tuple) or not given:
            raise InvalidValue(value, f"must be some of {', '.join(names)}")
        found = [name.strip() for one in given for name in str(one).split(",")]
        for name in found:
            if name not in (*names, ALL):
                raise InvalidValue(name, f"must be one of {', '.join(names)}, or {ALL}")
        return names if ALL in found else tuple(name for name in names if name in found)

    return ValueKind(
        "WHAT,..." if or_none else "TYPE,...",
        read,
        names=(*names, ALL),
        many=True,
        show=lambda found: _as_list(found, ",") or NONE,
        accepts="str | Sequence[str]",
    )


_SWITCHES = dict.fromkeys(("1", "true", "yes", "on"), True)
_SWITCHES |= dict.fromkeys(("0", "false", "no", "off"), False)


def _read_switch(value: object) -> bool:
    if isinstance(value, str):
        value = _SWITCHES.get(value.lower(), value)
    if isinstance(value, bool):
        return value
    raise InvalidValue(value, "must be true or false")


def _read_path(value: object) -> Path:
    if isinstance(value, str | Path) and str(value) and str(value).isprintable():
        return Path(value)
    raise InvalidValue(value, "must be a path of printable characters")


def _read_absolute_path(value: object) -> Path:
    """Return an absolute path, because a store keeps it for runs in other folders."""
    return _read_path(value).absolute()


_WARC_BYTES = 1_000_000_000


class WarcPlace(NamedTuple):
    """Folder of WARC files, beginning of their names or "", and size of a complete file."""

    folder: Path
    name: str = ""
    full_bytes: int = _WARC_BYTES

    def __str__(self) -> str:
        return f"{self.name}:{self.full_bytes}={self.folder}"


def _read_warc_place(value: object) -> Path | str:
    """Return a folder as an absolute path, with what precedes it: NAME=, :SIZE= or NAME:SIZE=."""
    given, is_given, folder = str(value).partition("=")
    if not is_given or "/" in given:
        return _read_absolute_path(value)
    name, is_sized, full = given.partition(":")
    if not folder or not re.fullmatch(r"[\w.-]*", name, re.ASCII) or not (name or is_sized):
        wanted = "must be DIR, NAME=DIR or NAME:SIZE=DIR, with a name of letters, digits, . _ -"
        raise InvalidValue(value, wanted)
    if is_sized:
        _read_size(full)
    return f"{given}={_read_absolute_path(folder)}"


def warc_place(value: Path | str) -> WarcPlace:
    """Return the parts of a value of `WARC_PLACE`."""
    given, is_given, folder = str(value).partition("=")
    if not is_given or "/" in given:
        return WarcPlace(Path(value))
    name, _, full = given.partition(":")
    return WarcPlace(Path(folder), name, size(full) or _WARC_BYTES)


_ASKED = "asked="


def _read_key_file(value: object) -> Path | str:
    file, only_asked = key_file(_read_path(value))
    return f"{_ASKED}{_read_path(str(file))}" if only_asked else file


def key_file(value: Path | str) -> tuple[Path, bool]:
    """Return the file of a value of `KEY_FILE`, and whether only hosts that ask get signatures."""
    written = str(value)
    return Path(written.removeprefix(_ASKED)), written.startswith(_ASKED)


def _read_pattern(value: object) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise InvalidValue(value, "must be a regular expression of printable characters")
    try:
        re.compile(value)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidValue(value, f"is not a regular expression: {error}") from None
    return value


# ---------------------------------------------------------------- kinds made from others


def optional(kind: ValueKind) -> ValueKind:
    """A value of the kind, or None."""

    def read(value: object) -> object:
        return None if value is None or value == NONE else kind.read(value)

    return replace(kind, read=read, accepts=f"{kind.accepts} | None")


def either(word: str, kind: ValueKind) -> ValueKind:
    """This word, or a value of the kind."""

    def read(value: object) -> object:
        return word if value == word else kind.read(value)

    def show(value: object) -> str:
        return word if value == word else kind.show(value)

    accepts = kind.accepts if "str" in kind.accepts else f'{kind.accepts} | Literal["{word}"]'
    return ValueKind(f"{kind.metavar}|{word}", read, names=(word,), show=show, accepts=accepts)


def several(kind: ValueKind) -> ValueKind:
    """A list of values of the kind. Text is a list of one; `none` is an empty list."""

    def read(value: object) -> tuple[object, ...]:
        if _is_none(value):
            return ()
        if isinstance(value, str | PathLike):
            return (kind.read(value),)
        if isinstance(value, list | tuple):
            return tuple(map(kind.read, value))
        raise InvalidValue(value, "must be a string or a list of strings")

    accepts = f"{kind.accepts} | Sequence[str]"
    return ValueKind(kind.metavar, read, many=True, show=_as_list, mask=kind.mask, accepts=accepts)


def _as_list(value: object, between: str = ", ") -> str:
    return between.join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _is_none(value: object) -> bool:
    return value == NONE or (isinstance(value, list | tuple) and list(value) == [NONE])


# ---------------------------------------------------------------- kinds without parameters

SHARE = number("a number from 0 to 1", lambda share: 0 <= share <= 1, "SHARE")
SMALL_EDGE = number(
    "a number from 0.01 to 0.99", lambda share: LEAST_EDGE <= share <= 1 - LEAST_EDGE, "SHARE"
)
PART = ValueKind("SHARE", _read_part, show=as_percent, accepts="float | str")
WEIGHT = number("a number of at least 0", lambda weight: weight >= 0, "WEIGHT")
WAIT = time("of at least 0", lambda seconds: seconds >= 0)
TIME = time("above 0", lambda seconds: seconds > 0)
SIZE = ValueKind("SIZE", _read_size, show=as_size, accepts="Size")
SWITCH = ValueKind("", _read_switch, accepts="bool")
FILE = ValueKind("FILE", _read_path, accepts="str | PathLike[str]")
WARC_PLACE = ValueKind("[NAME[:SIZE]=]DIR", _read_warc_place, accepts="str | PathLike[str]")
KEY_FILE = ValueKind("[asked=]FILE", _read_key_file, accepts="str | PathLike[str]")
FOUND_FILE = ValueKind("FILE", _read_absolute_path, accepts="str | PathLike[str]")
PATTERN = ValueKind("REGEX", _read_pattern)
SCORER = text("NAME[:ARGS]", "the name of a scorer, or name:arguments", r"[\w.-]+(:.+)?")
# A product token of robots.txt (RFC 9309, 2.2.1).
AGENT = text("NAME", "a name of letters, - and _ only", r"[A-Za-z_-]+")
# The contact stands in parentheses in the User-Agent header, so it has none itself.
CONTACT = text("WHERE", "a URL or a mail address", r"(https?://[!-'*-~]+|[!-'*-~]+@[!-'*-~]+)")


# ================================================================ networks
#
# Kinds of values that name hosts, addresses and proxies.

_RULE = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s=:\[\]]+)(?::(?P<port>[0-9]+))?")
_LAST_PORT = 65_535


def _read_rule(value: object) -> str:
    if isinstance(value, str) and value.isprintable():
        host, _, address = value.partition("=")
        if _RULE.fullmatch(host) and _is_an_address(address):
            return value
    raise InvalidValue(value, "must be HOST[:PORT]=ADDRESS[:PORT], with IPv6 addresses in brackets")


def _is_an_address(target: str) -> bool:
    from ipaddress import ip_address

    found = _RULE.fullmatch(target)
    if not found or not 0 < int(found["port"] or 1) <= _LAST_PORT:
        return False
    try:
        ip_address(found["host"].strip("[]"))
    except ValueError:
        return False
    return True


_PROXY = re.compile(
    r"(?:https?=)?(?:https?|socks5h?)://(?:[^\s/@]*@)?"
    r"(?:\[[0-9A-Fa-f:.]+\]|[^\s/:@\[\]]+)(?::(?P<port>[0-9]+))?/?"
)
_LOGIN = re.compile(
    r"(\s*(?:[\w-]+=)*(?:https?:[/\\]*|(?:[a-z][a-z0-9+.-]*:)?//))[^/?#]*@", re.IGNORECASE
)
_LOGINS = re.compile(r"(?<=//)[^/?#]*@")
_SCHEME = re.compile(r"[^:@]*://")


def has_login(url: str) -> bool:
    """Return True if a URL has a user or a password; `NAME=` may precede the URL."""
    return _LOGIN.match(url) is not None


def without_login(url: str) -> str:
    """Remove the login from a URL."""
    found = _LOGIN.match(url)
    return found[1] + url[found.end() :] if found else url


def without_logins(servers: str) -> str:
    """Remove the logins from the URLs of NATS servers."""
    return _LOGINS.sub("", without_login(servers))


def hidden_login(text: str) -> str:
    """Hide a login in text that may not be a URL; its password may have any character."""
    before, _, rest = text.rpartition("@")
    scheme = _SCHEME.match(before)
    return f"{scheme[0] if scheme else ''}{HIDDEN}@{rest}" if ":" in before else text


def _read_proxy(value: object) -> str:
    if isinstance(value, str) and value.isprintable():
        if value == ENVIRONMENT or (value.startswith("@") and len(value) > 1):
            return value
        if f"//{HIDDEN}@" in value:
            raise InvalidValue(value, "has lost its login: it is only shown like this")
        found = _PROXY.fullmatch(value)
        if found and 0 < int(found["port"] or 1) <= _LAST_PORT:
            return value
    shown = hidden_login(value) if isinstance(value, str) else value
    wanted = "must be a URL such as http://proxy.example:3128 or socks5h://localhost:1080, or @FILE"
    raise InvalidValue(shown, wanted)


def _read_address(value: object) -> str:
    from ipaddress import ip_address

    try:
        return str(ip_address(str(value)))
    except ValueError:
        raise InvalidValue(value, "must be an IP address") from None


def _read_file_of_a_host(value: object) -> str:
    text = str(value) if isinstance(value, PathLike) else value
    if isinstance(text, str) and text.isprintable() and OF_A_HOST.fullmatch(text):
        return text
    raise InvalidValue(value, "must be FILE or HOST=FILE")


NAME_SERVER = text(
    "ADDRESS",
    "ADDRESS[:PORT], with IPv6 addresses in brackets, or system",
    lambda value: value == SYSTEM or _is_an_address(value),
)
RULE = ValueKind("HOST=ADDRESS", _read_rule)
PROXY = ValueKind("URL", _read_proxy, mask=hidden_login)
FILE_OF_A_HOST = ValueKind("[HOST=]FILE", _read_file_of_a_host, accepts="str | PathLike[str]")
BYPASS = text("HOST", "a host, an address, a network or *", r"[^\s,/]+(/[0-9]+)?")
HOST = text(
    "HOST",
    "a host such as example.org or *.example.org",
    HOST_NAME,
)
ADDRESS = ValueKind("ADDRESS", _read_address)
NATS_SERVERS = replace(
    text(
        "URL",
        "the address of NATS servers such as nats://host:4222, with commas between several, and "
        "/NAME behind them if they serve several crawls; or demo",
        r"demo|(nats|tls)://[^\s/,]+(,((nats|tls)://)?[^\s/,]+)*(/[A-Za-z0-9_-]{0,32})?",
    ),
    mask=without_logins,
)


# ================================================================ access
#
# Headers, logins and languages.

_FRAMING = frozenset(("connection", "expect", "host", "http2-settings", "keep-alive", "te")) | {
    *("content-encoding", "content-length", "content-type"),
    *("trailer", "transfer-encoding", "upgrade"),
}
_OURS = {
    "accept-encoding": "is set by the crawl, to the encodings that it can decode",
    "accept-language": "is set by --languages",
    "if-match": "is set by the crawl",
    "if-modified-since": "is set by the crawl",
    "if-none-match": "is set by the crawl",
    "if-range": "asks for a part of a page",
    "if-unmodified-since": "is set by the crawl",
    "range": "asks for a part of a page",
    "user-agent": "is set by --user-agent",
}
SECRET = frozenset(("authorization", "cookie"))
"""Names of headers that hold logins."""


def _read_header(value: object) -> str:
    found = HEADER.fullmatch(value) if isinstance(value, str) and value.isprintable() else None
    if found is None or not found["value"].strip():
        raise InvalidValue(HIDDEN, "must be 'Name: value' or 'HOST=Name: value'")
    name = found["name"].lower()
    if why := why_no_header(name):
        raise InvalidValue(f"{found['name']}: {HIDDEN}", why)
    if name in SECRET and not found["host"]:
        wanted = f"would go to every host: write 'HOST={found['name']}: …'"
        raise InvalidValue(f"{found['name']}: {HIDDEN}", wanted)
    return found[0]


def why_no_header(name: str) -> str:
    """Return why no header with this lower-case name may be set, or an empty string."""
    if name in _FRAMING or name.startswith("proxy-"):
        return "would break requests"
    return _OURS.get(name, "")


def _header_shown(text: str) -> str:
    before, colon, _ = text.partition(": ")
    return f"{before}{colon}{HIDDEN}" if colon else HIDDEN


def login(form: str, fits: re.Pattern[str]) -> ValueKind:
    """Return the kind of a secret for one host, or of the file that holds it."""
    wanted = f"must be HOST={form}, or HOST=@FILE with a file that has {form}"

    def read(value: object) -> str:
        found = LOGIN.fullmatch(value) if isinstance(value, str) and value.isprintable() else None
        if found is None or not (found["file"] or fits.fullmatch(found["secret"])):
            raise InvalidValue(HIDDEN, wanted)
        return found[0]

    return ValueKind(f"HOST={form}", read, mask=_shown_login)


def _shown_login(text: str) -> str:
    host, _, rest = text.partition("=")
    return text if rest.startswith("@") else f"{host}={HIDDEN}"


_TAG = re.compile(
    r"\*|[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*(?:;q=(?:0(?:\.[0-9]{1,3})?|1(?:\.0+)?))?"
)


def _read_languages(value: object) -> str:
    tags = [tag.strip() for tag in value.split(",")] if isinstance(value, str) else []
    if tags and all(map(_TAG.fullmatch, tags)):
        return ",".join(tags)
    raise InvalidValue(value, "must be language tags such as de,en or fr-CH;q=0.5")


HEADER_LINE = ValueKind("'NAME: VALUE'", _read_header, mask=_header_shown)
LANGUAGES = ValueKind("TAGS", _read_languages)
USER_PASSWORD = re.compile(r"[^:]+:.*")
TOKEN = re.compile(r"[!-~]+")


# ================================================================ pace
#
# Rates and hours as text: `10`, `500kB`, `10,500kB`; `22-6`, `22:30-6:15`.

_HOURS = re.compile(r"([0-9]{1,2})(?::([0-5][0-9]))?\s*-\s*([0-9]{1,2})(?::([0-5][0-9]))?")
_LAST_HOUR, _HOUR_MIN = 24, 60
_HAS_UNIT = re.compile(r".*[A-Za-z]\s*(?:/s)?")
_LEAST_RATE, _MOST_RATE = 1e-6, 1e6


class Rates(NamedTuple):
    """Limits of requests and bytes per second; None for no limit."""

    requests: float | None = None
    bytes: float | None = None


def rates_of(text: str | None) -> Rates:
    """Return the rates in a valid text."""
    found = Rates() if text is None else _parsed_rates(text)
    assert found is not None, "the settings have validated the text"
    return found


def hours_of(text: str | None) -> tuple[int, int] | None:
    """Return the first minute of the range, and the first minute after it."""
    return None if text is None else _parsed_hours(text)


def _parsed_rates(text: str) -> Rates | None:
    rates = Rates()
    for part in (one.strip().removesuffix("/s").strip() for one in text.split(",")):
        if _HAS_UNIT.fullmatch(part):
            volume = size(part)
            if not volume or rates.bytes:
                return None
            rates = rates._replace(bytes=float(volume))
        else:
            number = finite_number(part)
            if number is None or rates.requests or not _LEAST_RATE <= number <= _MOST_RATE:
                return None
            rates = rates._replace(requests=number)
    return rates


def _parsed_hours(text: str) -> tuple[int, int] | None:
    found = _HOURS.fullmatch(text.strip())
    if found is None:
        return None
    begin, end = (
        int(hour) * _HOUR_MIN + int(minute)
        for hour, minute in (found.group(1, 2), found.group(3, 4))
        for minute in [minute or "0"]
    )
    last = _LAST_HOUR * _HOUR_MIN
    return (begin % last, end) if max(begin, end) <= last and begin % last != end % last else None


def _read_rate(value: object) -> str:
    text = f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else value
    if isinstance(text, str) and text.isprintable() and _parsed_rates(text) is not None:
        return text
    wanted = "must be requests a second such as 10 or 0.5, bytes such as 500kB, or both: 10,500kB"
    raise InvalidValue(value, wanted)


RATE = ValueKind("RATE", _read_rate, accepts="float | str")
HOURS = text("HOURS", "hours of the day such as 22-6 or 22:30-6:15", _parsed_hours)
