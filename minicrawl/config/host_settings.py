"""Settings for one host, or for all below a domain: other values than those of all hosts.

    [hosts."slow.example.org"]          --host-setting slow.example.org:delay=10
    delay = 10
    header = "X-Key: abc"               --header 'slow.example.org=X-Key: abc'

    [hosts."*.example.org"]             --host-setting '*.example.org:hours=22-6'
    hours = "22-6"

Laws: a name that is no setting of a host is refused, and a value is read as that of the setting of
all hosts. Of several rules for a host, one for its name wins over one for a domain, and a longer
domain over a shorter one. `header`, `auth`, `bearer` and `client-cert` have a place for a host in
their own values, and are put there. A store keeps the rules, except proxies, which may have logins.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from minicrawl.config.values.access import HOST_NAME
from minicrawl.config.values.kinds import HIDDEN, NONE, InvalidValue, ValueKind

if TYPE_CHECKING:
    from minicrawl.config.declaration import Setting
    from minicrawl.config.parts.servers import Politeness

HOST_SETTINGS = "host-setting"
"""Name of the setting that has the others."""
OWN = ("delay", "per-host", "max-rate", "hours", "agent", "robots", "render", "proxy")
"""Settings with a value for a host."""
PREFIXED = ("header", "auth", "bearer", "client-cert")
"""Settings whose values may begin with a host."""
_TEXT = re.compile(rf"(?P<host>{HOST_NAME}):(?P<name>[a-z-]+)=(?P<value>.*)")
_REMEMBERED = 10_000


class HostSetting(NamedTuple):
    """A value of a setting for a host, or for all below `*.NAME`."""

    host: str
    name: str
    value: str

    def fits(self, host: str) -> bool:
        is_domain = self.host.startswith("*.")
        return host.endswith(self.host[1:]) if is_domain else host == self.host

    @property
    def setting(self) -> "Setting":
        from minicrawl.config.table import BY_NAME  # which has this module's setting, too

        return BY_NAME[self.name]

    def read(self) -> Any:
        """Return the value as the setting of all hosts has it."""
        return self.setting.kind.read(self.value)

    def __str__(self) -> str:
        return f"{self.host}:{self.name}={self.value}"


def host_setting(text: str) -> HostSetting:
    match = _TEXT.fullmatch(text)
    assert match is not None, "the settings have validated the text"
    return HostSetting(match["host"].strip("[]").lower(), match["name"], match["value"])


def is_of_proxy(text: str) -> bool:
    """Return whether a valid text names the proxy of a host."""
    return host_setting(text).name == "proxy"


def rules_for(texts: Sequence[str], host: str) -> dict[str, HostSetting]:
    host = host.strip("[]").lower()
    rules = [rule for rule in map(host_setting, texts) if rule.fits(host)]
    rules.sort(key=lambda rule: (not rule.host.startswith("*."), len(rule.host)))
    return {rule.name: rule for rule in rules}


@lru_cache(_REMEMBERED)
def politeness_of(politeness: "Politeness", host: str) -> "Politeness":
    rules = rules_for(politeness.host_settings, host).values()
    of_part = (rule for rule in rules if rule.setting.section.part == "politeness")
    values = {rule.setting.field: rule.read() for rule in of_part}
    return replace(politeness, **values)


def values_of_tables(hosts: object) -> dict[str, list[str]]:
    """Return the tables of hosts in a file as values of settings, by name."""
    values: dict[str, list[str]] = {}
    if not isinstance(hosts, Mapping):
        raise InvalidValue("", 'must be sections such as [hosts."example.org"]')
    for host, table in hosts.items():
        if not isinstance(table, Mapping):
            raise InvalidValue(host, f'must be a section, [hosts."{host}"]')
        for name, value in table.items():
            if name in PREFIXED:
                given = value if isinstance(value, list) else [value]
                values.setdefault(name, []).extend(f"{host}={text}" for text in given)
            else:
                text = str(value).lower() if isinstance(value, bool) else value
                values.setdefault(HOST_SETTINGS, []).append(f"{host}:{name}={text}")
    return values


def _read(value: object) -> str:
    text = value if isinstance(value, str) and value.isprintable() else ""
    if (match := _TEXT.fullmatch(text)) is None:
        raise InvalidValue(value, "must be HOST:NAME=VALUE")
    name = match["name"]
    if name in PREFIXED:
        place = match["host"]
        raise InvalidValue(f"{place}:{name}={HIDDEN}", f"is written --{name} {place}=…")
    if name not in OWN:
        raise InvalidValue(value, f"is no setting of a host: use {', '.join((*OWN, *PREFIXED))}")
    rule = host_setting(text)
    try:
        rule.read()
    except InvalidValue as unfit:
        raise InvalidValue(_shown(text), f"{name} {unfit.wanted}") from None
    if name == "proxy" and rule.value != NONE and "://" not in rule.value:
        raise InvalidValue(value, "must name a proxy URL, or none")
    return text


def _shown(text: str) -> str:
    from minicrawl.config.values.networks import hidden_login

    head, equals, value = text.partition("=")
    return f"{head}{equals}{hidden_login(value)}" if head.endswith(":proxy") else text


HOST_SETTING = ValueKind("HOST:NAME=VALUE", _read, mask=_shown)
