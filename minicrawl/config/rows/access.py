"""The rows that say who we are to servers: headers, logins and cookies.

Laws: a header that would break the framing of requests, or a promise of politeness, is refused. A
secret is never quoted: not in a message about a bad value, and not where settings are shown.

HOST   `docs.example`, `docs.example:8443` or `https://docs.example`, as `fetch.access` reads it
"""

import re
from collections.abc import Sequence
from pathlib import Path

from minicrawl.config.parts import OFF, ON
from minicrawl.config.setting import ACCESS, Setting, differs
from minicrawl.config.values import kinds
from minicrawl.config.values.by_host import HEADER, LOGIN
from minicrawl.config.values.kinds import HIDDEN, InvalidValue, ValueKind

_FRAMING = frozenset(("connection", "expect", "host", "http2-settings", "keep-alive", "te")) | {
    *("content-encoding", "content-length", "content-type"),
    *("trailer", "transfer-encoding", "upgrade"),
}
_OURS = {
    "accept-encoding": "is what our decoders can undo",
    "accept-language": "is set by --languages",
    "if-match": "is set by the crawl",
    "if-modified-since": "is set by the crawl",
    "if-none-match": "is set by the crawl",
    "if-range": "asks for a part of a page",
    "if-unmodified-since": "is set by the crawl",
    "range": "asks for a part of a page",
    "user-agent": "is set by --user-agent",
}
_SECRET = frozenset(("authorization", "cookie"))


def _read_header(value: object) -> str:
    found = HEADER.fullmatch(value) if isinstance(value, str) and value.isprintable() else None
    if found is None or not found["value"].strip():
        raise InvalidValue(HIDDEN, "must be 'Name: value' or 'HOST=Name: value'")
    name = found["name"].lower()
    if name in _FRAMING or name.startswith("proxy-"):
        raise InvalidValue(f"{found['name']}: {HIDDEN}", "would break requests")
    if name in _OURS:
        raise InvalidValue(f"{found['name']}: {HIDDEN}", _OURS[name])
    if name in _SECRET and not found["host"]:
        wanted = f"would go to every host: write 'HOST={found['name']}: …'"
        raise InvalidValue(f"{found['name']}: {HIDDEN}", wanted)
    return found[0]


def _header_shown(text: str) -> str:
    before, colon, _ = text.partition(": ")
    return f"{before}{colon}{HIDDEN}" if colon else HIDDEN


def _login(form: str, fits: re.Pattern[str]) -> ValueKind:
    wanted = f"must be HOST={form}, or HOST=@FILE with a file that has {form}"

    def read(value: object) -> str:
        found = LOGIN.fullmatch(value) if isinstance(value, str) and value.isprintable() else None
        if found is None or not (found["file"] or fits.fullmatch(found["secret"])):
            raise InvalidValue(HIDDEN, wanted)
        return found[0]

    return ValueKind(f"HOST={form}", read, mask=_login_shown)


def _login_shown(text: str) -> str:
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


def _reads_another_file(value: Sequence[str], own: Sequence[str]) -> bool:
    found = (LOGIN.fullmatch(text) for text in value if text not in own)
    return any(one is not None and one["file"] for one in found)


def _starts_with_another_file(value: object, own: object) -> bool:
    return isinstance(value, Path) and value != own


USER_PASSWORD = re.compile(r"[^:]+:.*")
TOKEN = re.compile(r"[!-~]+")

ACCESS_ROWS = (
    Setting(
        ACCESS,
        "headers",
        "header",
        kinds.several(ValueKind("'NAME: VALUE'", _read_header, mask=_header_shown)),
        "Send this header with every request. 'HOST=Name: value' sends it to one host only. "
        "Repeatable; none for no header.",
    ),
    Setting(
        ACCESS,
        "user_agent",
        "user-agent",
        kinds.optional(kinds.text("TEXT", "text of printable ASCII characters", r"[!-~][ -~]*")),
        "The complete User-Agent header. robots.txt is still matched by --agent. none: made of "
        "--agent and --contact.",
    ),
    Setting(
        ACCESS,
        "languages",
        "languages",
        kinds.optional(ValueKind("TAGS", _read_languages)),
        "The languages to ask for, the preferred one first, such as de,en; none for no preference.",
    ),
    Setting(
        ACCESS,
        "auth",
        "auth",
        kinds.several(_login("USER:PASS", USER_PASSWORD)),
        "Log in at HOST with this user and password, by basic or digest authentication. Other "
        "users can see a command line, but not HOST=@FILE, MINICRAWL_AUTH, minicrawl.toml or "
        "--netrc. Repeatable; none for no login.",
        weakens=_reads_another_file,
    ),
    Setting(
        ACCESS,
        "bearer",
        "bearer",
        kinds.several(_login("TOKEN", TOKEN)),
        "Send this bearer token to HOST; HOST=@FILE reads it from a file. Repeatable; none for no "
        "token.",
        weakens=_reads_another_file,
    ),
    Setting(
        ACCESS,
        "netrc",
        "netrc",
        kinds.optional(kinds.either(ON, kinds.FOUND_FILE)),
        "Log in as this .netrc file says. on reads the file that NETRC names, or ~/.netrc; none "
        "for no file.",
        weakens=differs,
    ),
    Setting(
        ACCESS,
        "cookies",
        "cookies",
        kinds.either(ON, kinds.either(OFF, kinds.FOUND_FILE)),
        "on keeps the cookies that sites set, in a file beside the store, and sends them back. "
        "FILE does the same, and starts with the cookies in FILE (Netscape format).",
        weakens=_starts_with_another_file,
    ),
)
