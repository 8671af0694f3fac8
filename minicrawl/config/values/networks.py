"""Kinds of values that name hosts, addresses and proxies."""

import re
from dataclasses import replace
from os import PathLike

from minicrawl.config.values.access import HOST_NAME, OF_A_HOST
from minicrawl.config.values.kinds import ENVIRONMENT, HIDDEN, SYSTEM, InvalidValue, ValueKind, text

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

    match = _RULE.fullmatch(target)
    if not match or not 0 < int(match["port"] or 1) <= _LAST_PORT:
        return False
    try:
        ip_address(match["host"].strip("[]"))
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
    match = _LOGIN.match(url)
    return match[1] + url[match.end() :] if match else url


def without_logins(servers: str) -> str:
    """Remove the logins from the URLs of NATS servers."""
    return _LOGINS.sub("", without_login(servers))


def hidden_login(text: str) -> str:
    """Hide a login in text that may not be a URL; its password may have any character."""
    before, _, place = text.rpartition("@")
    scheme = _SCHEME.match(before)
    return f"{scheme[0] if scheme else ''}{HIDDEN}@{place}" if ":" in before else text


def _read_proxy(value: object) -> str:
    if isinstance(value, str) and value.isprintable():
        if value == ENVIRONMENT or (value.startswith("@") and len(value) > 1):
            return value
        if f"//{HIDDEN}@" in value:
            raise InvalidValue(value, "has lost its login: it is only shown like this")
        match = _PROXY.fullmatch(value)
        if match and 0 < int(match["port"] or 1) <= _LAST_PORT:
            return value
    shown = hidden_login(value) if isinstance(value, str) else value
    expectation = (
        "must be a URL such as http://proxy.example:3128 or socks5h://localhost:1080, or @FILE"
    )
    raise InvalidValue(shown, expectation)


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
HOOK = replace(text("URL", "an http or https URL", r"https?://[^\s/]+\S*"), mask=hidden_login)
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
