"""Which headers and logins belong to which origin: from settings, seeds and .netrc.

A HOST without a port stands for the origins of the seeds at that host, and for https at its
standard port: so a login for a site goes neither to another port of its host nor, unless a seed is
plain http, over the wire in the clear. With a scheme or a port it stands for what it says.

Laws: of several logins for one origin the one of the settings counts, then that of a seed's URL,
then that of .netrc. What cannot be read is an error before the first request, and no message quotes
a secret.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

import ada_url

from minicrawl.config import Access
from minicrawl.config.parts import ON
from minicrawl.config.rows.access import TOKEN, USER_PASSWORD
from minicrawl.config.values.by_host import HEADER, LOGIN
from minicrawl.errors import UsageError
from minicrawl.fetch.access.identity import Headers, header_fields
from minicrawl.fetch.access.logins import AccessByOrigin, Login, OriginAccess
from minicrawl.fetch.where.targets import Origin, target

_PLACE = re.compile(
    r"(?:(?P<scheme>https?)://)?(?P<host>\[[^\]]+\]|[^:/\[\]]+)(?::(?P<port>[0-9]{1,5}))?"
)
_STANDARD_PORTS = {"https": "443", "http": "80"}


def access_by_origin(
    access: Access,
    seeds: Iterable[str] = (),
    of_seeds: Mapping[Origin, Login] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> AccessByOrigin:
    """What each origin gets. `seeds` are URLs, `of_seeds` the logins that were in their URLs."""
    from_netrc, from_settings = dict(_netrc(access.netrc, environ)), dict(_logins(access))
    hosts = dict.fromkeys(filter(None, map(_header_host, access.headers)))
    names = {_name_of(host) for host in (*hosts, *from_netrc, *from_settings)}
    at_seeds = _origins_at(seeds, names) if names else []
    logins: dict[Origin, Login] = {}
    for place, login in from_netrc.items():
        logins |= dict.fromkeys(_origins_of(place, at_seeds), login)
    logins |= of_seeds or {}
    for place, login in from_settings.items():
        logins |= dict.fromkeys(_origins_of(place, at_seeds), login)
    headers: dict[Origin, Headers] = {}
    for host in hosts:
        for origin in _origins_of(host, at_seeds):
            headers[origin] = headers.get(origin, ()) + header_fields(access.headers, host)
    return {
        origin: OriginAccess(headers.get(origin, ()), logins.get(origin))
        for origin in {**logins, **headers}
    }


def login_in(url: str) -> tuple[Origin, Login] | None:
    """The login in a URL of a user, and where it belongs."""
    place = target(url)
    if place is None:
        return None
    parsed = ada_url.URL(url)
    if not (parsed.username or parsed.password):
        return None
    return place.origin, Login(unquote(parsed.username), unquote(parsed.password))


# ---------------------------------------------------------------- what is given


def _header_host(text: str) -> str | None:
    found = HEADER.fullmatch(text)
    return found and found["host"]


def _logins(access: Access) -> Iterator[tuple[str, Login]]:
    for name, texts, fits in (
        ("auth", access.auth, USER_PASSWORD),
        ("bearer", access.bearer, TOKEN),
    ):
        for text in texts:
            found = LOGIN.fullmatch(text)
            assert found, "the table of settings has read it"
            secret = found["secret"] or _secret_in(Path(found["file"]).expanduser(), name, fits)
            user, _, password = secret.partition(":")
            login = Login(user, password) if name == "auth" else Login(token=secret)
            yield found["host"], login


def _secret_in(file: Path, name: str, fits: re.Pattern[str]) -> str:
    try:
        secret = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(f"--{name} {file}: {why}") from None
    if not secret.isprintable() or not fits.fullmatch(secret):
        what = "USER:PASS" if name == "auth" else "TOKEN"
        raise UsageError(f"--{name} {file}: must have one line, {what}")
    return secret


def _netrc(file: Path | str | None, environ: Mapping[str, str]) -> Iterator[tuple[str, Login]]:
    if file is None:
        return
    from netrc import NetrcParseError, netrc

    usual = environ.get("NETRC") or Path(environ.get("HOME", "~"), ".netrc")
    path = Path(usual if file == ON else file)
    try:
        machines = netrc(path).hosts
    except NetrcParseError as error:
        place = f"{path}:{error.lineno}" if error.lineno else f"{path}"
        why = (
            "must be readable by its owner only" if "permissive" in error.msg else "not understood"
        )
        raise UsageError(f"--netrc {place}: {why}") from None
    except (OSError, UnicodeDecodeError) as error:
        why = str(error.strerror) if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(f"--netrc {path}: {why}") from None
    for machine, (user, account, password) in machines.items():
        if machine != "default":  # it would go to every host
            yield machine, Login(user or account or "", password or "")


# ---------------------------------------------------------------- where it belongs


def _name_of(place: str) -> str:
    found = _PLACE.fullmatch(place)
    try:
        return ada_url.URL(f"https://{found['host'] if found else place}/").hostname
    except ValueError:
        raise UsageError(f"{place!r} is not a host that a login or a header can be for") from None


def _origins_at(urls: Iterable[str], names: Collection[str]) -> list[Origin]:
    bare = {name.strip("[]") for name in names}
    found = (place.origin for place in map(target, urls) if place)
    return list(dict.fromkeys(origin for origin in found if origin.host in bare))


def _origins_of(place: str, at_seeds: Sequence[Origin]) -> list[Origin]:
    found = _PLACE.fullmatch(place)
    name = _name_of(place)
    scheme, port = (found["scheme"], found["port"]) if found else (None, None)
    schemes = [scheme] if scheme else ["https", "http"] if port else ["https"]
    urls = (f"{one}://{name}:{port or _STANDARD_PORTS[one]}/" for one in schemes)
    said = [one.origin for one in map(target, urls) if one]
    at_host = (one for one in at_seeds if one.host == name.strip("[]"))
    return said if port else [*said, *(one for one in at_host if _has_scheme(one, scheme))]


def _has_scheme(origin: Origin, scheme: str | None) -> bool:
    return scheme is None or origin.is_tls == (scheme == "https")
