"""Configuration of proxies: settings, files that settings name, and the environment.

HTTP_PROXY, HTTPS_PROXY, ALL_PROXY   proxy for http pages, https pages, both; lower-case names are
                                     read too and take precedence
NO_PROXY                             comma-separated hosts that are reached without a proxy

Laws: a message never shows a login. Proxies from the environment are not used to reach this
machine.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from minicrawl.config import Network as NetworkSettings
from minicrawl.config.values.kinds import ENVIRONMENT, InvalidValue, ValueKind
from minicrawl.config.values.networks import BYPASS, PROXY, hidden_login
from minicrawl.errors import UsageError

_VARIABLES = {"http=": "http_proxy", "https=": "https_proxy", "": "all_proxy"}
_NO_PROXY = "no_proxy"
_OF_THIS_MACHINE = ("localhost", "127.0.0.0/8", "::1")
_COMMENT = "#"
_SHOWN = 5
"""Hosts without a proxy that a message lists."""


def with_known_proxies(network: NetworkSettings, environ: Mapping[str, str]) -> NetworkSettings:
    """Return the settings with the URLs of proxies in place of @FILE and of the environment."""
    proxies: tuple[str, ...] = ()
    for text in network.proxy:
        if text == ENVIRONMENT:
            proxies += tuple(url for _, url in _of_environment(environ))
        elif text.startswith("@"):
            proxies += tuple(_in_file(Path(text[1:])))
        else:
            proxies += (text,)
    if not proxies:
        return replace(network, proxy=(), no_proxy=())
    bypass = tuple(_bypass(network.no_proxy, environ))
    if ENVIRONMENT in network.proxy:
        bypass += _OF_THIS_MACHINE
    return replace(network, proxy=proxies, no_proxy=bypass)


def sources_of_proxies(network: NetworkSettings, environ: Mapping[str, str]) -> str:
    """Return the names of the option and of the variables that configure proxies."""
    sources: list[str] = []
    for text in network.proxy:
        if text == ENVIRONMENT:
            sources += [_in_effect(name, environ)[0] for name, _ in _of_environment(environ)]
        elif "--proxy" not in sources:
            sources.append("--proxy")
    return ", ".join(sources)


def hosts_without_proxy(network: NetworkSettings, environ: Mapping[str, str]) -> str:
    """Return a message that lists the hosts reached without a proxy, or ""."""
    hosts = tuple(_bypass(network.no_proxy, environ))
    if not hosts:
        return ""
    variable, named = _in_effect(_NO_PROXY, environ)
    source = f" ({variable})" if ENVIRONMENT in network.no_proxy and named else ""
    more = f" and {len(hosts) - _SHOWN:,} more" if len(hosts) > _SHOWN else ""
    return f"without a proxy: {', '.join(hosts[:_SHOWN])}{more}{source}"


def _of_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    specific = [name for name in ("http_proxy", "https_proxy") if _in_effect(name, environ)[1]]
    for prefix, name in _VARIABLES.items():
        written, url = _in_effect(name, environ)
        if not url:
            continue
        if "://" not in url:
            url = f"http://{url}"
        url = _read(PROXY, url, written)
        if prefix:
            yield name, prefix + url
        elif not specific:
            yield name, url
        elif len(specific) == 1:  # ALL_PROXY then serves the scheme without a proxy of its own
            yield name, ("https=" if specific == ["http_proxy"] else "http=") + url


def _in_effect(name: str, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the spelling of a variable that is in effect, and its value, or "" if unset."""
    for spelled in (name, name.upper()):
        if url := environ.get(spelled, "").strip():
            return spelled, url
    return name.upper(), ""


def _in_file(file: Path) -> list[str]:
    try:
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UsageError(f"--proxy @{file}: {why}") from None
    proxies = [
        _read(PROXY, text, f"--proxy @{file}:{number}")
        for number, line in enumerate(lines, 1)
        if (text := line.strip()) and not text.startswith(_COMMENT)
    ]
    if not proxies:
        raise UsageError(f"--proxy @{file}: holds no proxy")
    return proxies


def _read(kind: ValueKind, text: str, place: str) -> str:
    try:
        return str(kind.read(text))
    except InvalidValue as unfit:
        raise UsageError(f"{place}={hidden_login(text)}: {unfit.wanted}") from None


def _bypass(texts: tuple[str, ...], environ: Mapping[str, str]) -> Iterator[str]:
    for text in texts:
        if text != ENVIRONMENT:
            yield text
            continue
        name, value = _in_effect(_NO_PROXY, environ)
        for host in value.replace(",", " ").split():
            yield _read(BYPASS, host, name)
