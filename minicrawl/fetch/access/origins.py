"""Headers and logins of each origin, from settings, seeds and .netrc.

A HOST without a port means the origins of the seeds at that host, and https at port 443. So a
login never goes to another port of the host, nor over plain HTTP unless a seed does. With a
scheme or a port, HOST means exactly that.

Laws: if an origin has several logins, those of the settings win over those of seed URLs, and
those over .netrc. Unreadable input is an error before the first request, and no message quotes a
secret.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote

import ada_url

from minicrawl.config import Access
from minicrawl.config.values.access import HEADER, LOGIN, TOKEN, USER_PASSWORD
from minicrawl.config.values.kinds import ON
from minicrawl.errors import UsageError
from minicrawl.fetch.access.headers import Headers, header_fields
from minicrawl.fetch.access.logins import AccessByOrigin, Login, OriginAccess
from minicrawl.fetch.http.targets import Origin, target

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
    """Return headers and logins by origin, with those that were part of the seeds' URLs."""
    from_netrc, from_settings = dict(_netrc(access.netrc, environ)), dict(_logins(access))
    matches = map(HEADER.fullmatch, access.headers)
    hosts = dict.fromkeys([match["host"] for match in matches if match and match["host"]])
    names = {_name_of(host) for host in (*hosts, *from_netrc, *from_settings)}
    bare_names = {name.strip("[]") for name in names}
    origins = (place.origin for place in map(target, seeds if names else ()) if place)
    at_seeds = list(dict.fromkeys(origin for origin in origins if origin.host in bare_names))
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
    place = target(url)
    if place is None:
        return None
    parsed = ada_url.URL(url)
    if not (parsed.username or parsed.password):
        return None
    return place.origin, Login(unquote(parsed.username), unquote(parsed.password))


def _logins(access: Access) -> Iterator[tuple[str, Login]]:
    for name, texts, fits in (
        ("auth", access.auth, USER_PASSWORD),
        ("bearer", access.bearer, TOKEN),
    ):
        for text in texts:
            match = LOGIN.fullmatch(text)
            assert match, "the table of settings has read it"
            if not (secret := match["secret"]):
                file = Path(match["file"]).expanduser()
                try:
                    secret = file.read_text(encoding="utf-8").strip()
                except (OSError, UnicodeDecodeError) as error:
                    why = error.strerror if isinstance(error, OSError) else "not UTF-8"
                    raise UsageError(f"--{name} {file}: {why}") from None
                if not secret.isprintable() or not fits.fullmatch(secret):
                    form = "USER:PASS" if name == "auth" else "TOKEN"
                    raise UsageError(f"--{name} {file}: must have one line, {form}")
            user, _, password = secret.partition(":")
            login = Login(user, password) if name == "auth" else Login(token=secret)
            yield match["host"], login


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
        is_open = "permissive" in error.msg
        why = "must be readable by its owner only" if is_open else "not understood"
        raise UsageError(f"--netrc {place}: {why}") from None
    except (OSError, UnicodeDecodeError) as error:
        why = str(error.strerror) if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(f"--netrc {path}: {why}") from None
    for machine, (user, account, password) in machines.items():
        if machine != "default":  # the default entry would go to every host
            yield machine, Login(user or account or "", password or "")


def _name_of(place: str) -> str:
    match = _PLACE.fullmatch(place)
    try:
        return ada_url.URL(f"https://{match['host'] if match else place}/").hostname
    except ValueError:
        raise UsageError(f"{place!r} is not a host: a login or header needs one") from None


def _origins_of(place: str, at_seeds: Sequence[Origin]) -> list[Origin]:
    match = _PLACE.fullmatch(place)
    name = _name_of(place)
    scheme, port = (match["scheme"], match["port"]) if match else (None, None)
    schemes = [scheme] if scheme else ["https", "http"] if port else ["https"]
    urls = (f"{known}://{name}:{port or _STANDARD_PORTS[known]}/" for known in schemes)
    origins = [place.origin for place in map(target, urls) if place]
    if not port:
        at_host = (origin for origin in at_seeds if origin.host == name.strip("[]"))
        origins += (own for own in at_host if scheme is None or own.is_tls == (scheme == "https"))
    return origins
