"""Headers, logins and languages: values of settings that may be limited to one host.

Each process that sends requests parses them anew.

HOST   `docs.example`, `docs.example:8443` or `https://docs.example` (see `fetch.access.origins`)
"""

import re
from pathlib import Path

from minicrawl.config.values.kinds import HIDDEN, InvalidValue, ValueKind

_HOST = r"(?:https?://)?(?:\[[0-9A-Fa-f:.]+\]|[^\s=:/@\[\]]+)(?::[0-9]{1,5})?"
HEADER = re.compile(
    rf"(?:(?P<host>{_HOST})=)?(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):[\t ]*(?P<value>.*)"
)
LOGIN = re.compile(rf"(?P<host>{_HOST})=(?:@(?P<file>.+)|(?P<secret>.+))")
"""A secret for one host, or the file that holds it."""

HOST_NAME = r"(\*\.)?[^\s*:/]+|\[[0-9A-Fa-f:.]+\]"
OF_A_HOST = re.compile(rf"(?:(?P<host>{HOST_NAME})=)?(?P<file>.+)")
"""A file for all hosts, or for one, or for all below `*.NAME`."""


def host_and_file(text: str) -> tuple[str, Path]:
    """Return the host that a file is for (`*.NAME` for subdomains, empty for all), and the file."""
    match = OF_A_HOST.fullmatch(text)
    assert match is not None, "the settings have validated the text"
    return (match["host"] or "").strip("[]").lower(), Path(match["file"])


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
    match = HEADER.fullmatch(value) if isinstance(value, str) and value.isprintable() else None
    if match is None or not match["value"].strip():
        raise InvalidValue(HIDDEN, "must be 'Name: value' or 'HOST=Name: value'")
    name = match["name"].lower()
    if why := why_no_header(name):
        raise InvalidValue(f"{match['name']}: {HIDDEN}", why)
    if name in SECRET and not match["host"]:
        problem = f"would go to every host: write 'HOST={match['name']}: …'"
        raise InvalidValue(f"{match['name']}: {HIDDEN}", problem)
    return match[0]


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
    expectation = f"must be HOST={form}, or HOST=@FILE with a file that has {form}"

    def read(value: object) -> str:
        match = LOGIN.fullmatch(value) if isinstance(value, str) and value.isprintable() else None
        if match is None or not (match["file"] or fits.fullmatch(match["secret"])):
            raise InvalidValue(HIDDEN, expectation)
        return match[0]

    return ValueKind(f"HOST={form}", read, mask=_shown_login)


def _shown_login(text: str) -> str:
    host, _, secret = text.partition("=")
    return text if secret.startswith("@") else f"{host}={HIDDEN}"


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
