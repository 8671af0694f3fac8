"""Rows of the table of settings, in the parts shown by help.

crawl        budget, scope and traps (in `crawl_rows`)
order        order of fetching, and value of pages (in `crawl_rows`)
request      politeness, network, and limits per page or host
connection   proxies, HTTP/2, TLS, addresses
access       headers, logins, cookies
render       pages rendered by a browser
store        stored data, and tasks at the end of a crawl (in `crawl_rows`)
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from minicrawl.config import values as kinds
from minicrawl.config import values as network_kinds
from minicrawl.config import values as pace
from minicrawl.config.crawl_rows import BUDGET_ROWS, ORDER_ROWS, SCOPE_ROWS, STORE_ROWS, TRAP_ROWS
from minicrawl.config.parts import AUTO, OFF, ON
from minicrawl.config.setting import (
    ACCESS,
    CLUSTER,
    LIMITS,
    NETWORK,
    POLITENESS,
    RENDER,
    SCOPE,
    TRAPS,
    Setting,
    differs,
    is_higher,
    is_lower,
)
from minicrawl.config.values import HEADER, HIDDEN, LOGIN, InvalidValue, ValueKind, without_login

# ================================================================ access
#
# Headers, logins and cookies.
#
# Laws: a header that would break the framing of requests, or a promise of politeness, is refused. A
# secret is never shown, neither in an error about a bad value nor in listings of settings.
#
# HOST   `docs.example`, `docs.example:8443` or `https://docs.example`, as `fetch.access` reads it

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
        "Send this header with every request; 'HOST=Name: value' sends it to one host only. "
        "Repeatable; none for no header.",
    ),
    Setting(
        ACCESS,
        "user_agent",
        "user-agent",
        kinds.optional(kinds.text("TEXT", "text of printable ASCII characters", r"[!-~][ -~]*")),
        "Complete User-Agent header; none builds it from --agent and --contact. robots.txt is "
        "still matched against --agent.",
    ),
    Setting(
        ACCESS,
        "languages",
        "languages",
        kinds.optional(ValueKind("TAGS", _read_languages)),
        "Accept-Language, preferred language first, such as de,en; none for no preference.",
    ),
    Setting(
        ACCESS,
        "auth",
        "auth",
        kinds.several(_login("USER:PASS", USER_PASSWORD)),
        "Log in to HOST by basic or digest authentication. HOST=@FILE, MINICRAWL_AUTH, "
        "minicrawl.toml and --netrc hide the password from other users; repeatable, none for no "
        "login.",
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
        "Take logins from this .netrc file; on reads the file named by NETRC, or ~/.netrc; none "
        "for no file.",
        weakens=differs,
    ),
    Setting(
        ACCESS,
        "cookies",
        "cookies",
        kinds.either(ON, kinds.either(OFF, kinds.FOUND_FILE)),
        "Keep cookies in a file beside the store and send them back (on), starting with those in "
        "a Netscape cookie file (FILE), or ignore cookies (off).",
        weakens=_starts_with_another_file,
    ),
)


# ================================================================ cluster
#
# Cluster of a crawl, and credentials for its servers.

CLUSTER_ROWS = (
    Setting(
        CLUSTER,
        "url",
        "cluster",
        kinds.optional(
            replace(
                kinds.text(
                    "URL",
                    "the address of NATS servers such as nats://host:4222, with commas between "
                    "several, and /NAME behind them if they serve several crawls; or demo",
                    r"demo|(nats|tls)://[^\s/,]+(,((nats|tls)://)?[^\s/,]+)*(/[A-Za-z0-9_-]{0,32})?",
                ),
                mask=without_login,
            )
        ),
        "Crawl with other machines through these NATS servers: nats://host:4222, comma-separated, "
        "then /NAME if they serve several crawls. demo starts servers and nodes on this machine; "
        "none crawls on this machine alone.",
        weakens=differs,
    ),
    Setting(
        CLUSTER,
        "creds",
        "cluster-creds",
        kinds.optional(kinds.FILE),
        "File with the credentials or the nkey seed for the NATS servers; none for no file.",
        weakens=differs,
    ),
)


# ================================================================ connection
#
# Proxies, HTTP/2, TLS, addresses.

HTTP2 = ("off", "auto")

CONNECTION_ROWS = (
    Setting(
        NETWORK,
        "proxy",
        "proxy",
        kinds.several(network_kinds.PROXY),
        "Proxy URL (http, https, socks5 or socks5h), with a login if needed; http=URL and "
        "https=URL are for one scheme, @FILE lists proxies, environment uses HTTP_PROXY, "
        "HTTPS_PROXY and ALL_PROXY. Each host keeps to one proxy, and hosts in NO_PROXY use none; "
        "repeatable, none for no proxy.",
        weakens=differs,
    ),
    Setting(
        NETWORK,
        "http2",
        "http2",
        kinds.choice(*HTTP2),
        "Offer HTTP/2 to https servers (auto). It takes more CPU than HTTP/1.1, and saves "
        "connections only with --per-host above 1.",
    ),
    Setting(
        NETWORK,
        "ca",
        "ca",
        kinds.optional(kinds.FILE),
        "Also trust the certificate authorities in this PEM file; none for no file.",
        weakens=differs,
    ),
    Setting(
        NETWORK,
        "client_cert",
        "client-cert",
        kinds.several(network_kinds.FILE_OF_A_HOST),
        "Present this client certificate (PEM, with its key) to servers that ask for one: all, "
        "one host, or all below *.NAME. Repeatable; none for no certificate.",
        weakens=differs,
    ),
    Setting(
        NETWORK,
        "insecure",
        "insecure",
        kinds.several(network_kinds.HOST),
        "Skip certificate checks for this host, or for all hosts below *.NAME. Repeatable; none "
        "for no host.",
        weakens=differs,
    ),
    Setting(
        NETWORK,
        "bind_address",
        "bind-address",
        kinds.several(network_kinds.ADDRESS),
        "Connect from this local address, only to servers of its address family. Repeatable; none "
        "for any address.",
        weakens=differs,
    ),
)


# ================================================================ render
#
# Pages rendered by a browser.

RENDER_MODES = ("never", "auto", "always")
MOST_RENDER_WORKERS = 64

RENDER_ROWS = (
    Setting(
        RENDER,
        "render",
        "render",
        kinds.choice(*RENDER_MODES),
        "Render pages in a browser; auto renders pages that are mostly scripts, and pages similar "
        "to those on the same host that gained links by rendering. Needs minicrawl[render] and "
        "Chromium.",
    ),
    Setting(
        RENDER,
        "workers",
        "render-workers",
        kinds.whole(1, MOST_RENDER_WORKERS),
        "Number of browsers; each renders one page at a time.",
        weakens=is_higher,
    ),
    Setting(
        RENDER,
        "browser",
        "browser",
        kinds.optional(kinds.FILE),
        "Chromium executable that renders pages; none for the installed one.",
        weakens=differs,
    ),
)


# ================================================================ request
#
# Politeness, network, and limits per page or host.

MOST_WORKERS = 256


def _allows_more(value: bool | None, own: bool | None) -> bool:
    """Return whether `value` allows more private addresses: none, those of seeds, or all."""
    ordered = (False, None, True)
    return ordered.index(value) > ordered.index(own)


POLITENESS_ROWS = (
    Setting(
        POLITENESS,
        "robots",
        "robots",
        kinds.SWITCH,
        "Obey robots.txt.",
        off="--ignore-robots",
        weakens=is_lower,
    ),
    Setting(
        POLITENESS,
        "delay_s",
        "delay",
        kinds.either(AUTO, kinds.WAIT),
        "Time between two requests to a host. auto waits 5 times the host's response time, from "
        "0.5 to 60 seconds.",
        weakens=is_lower,
    ),
    Setting(
        POLITENESS,
        "concurrency",
        "concurrency",
        kinds.whole(1),
        "Maximum number of requests in flight.",
    ),
    Setting(
        POLITENESS,
        "per_host",
        "per-host",
        kinds.whole(1),
        "Maximum number of requests in flight per host.",
        weakens=is_higher,
    ),
    Setting(
        POLITENESS,
        "per_address",
        "per-address",
        kinds.whole(1),
        "Maximum number of requests in flight per IP address.",
        weakens=is_higher,
    ),
    Setting(
        POLITENESS,
        "address_delay_s",
        "address-delay",
        kinds.WAIT,
        "Time between the starts of two requests to one IP address, across host names. With "
        "--delay 0, it is 0 for loopback addresses and --resolve targets.",
        weakens=is_lower,
    ),
    Setting(
        POLITENESS,
        "max_rate",
        "max-rate",
        kinds.optional(pace.RATE),
        "Limit of the whole crawl: requests per second such as 10 or 0.5, bytes per second such "
        "as 500kB, or both: 10,500kB; none for no limit.",
    ),
    Setting(
        POLITENESS,
        "hours",
        "hours",
        kinds.optional(pace.HOURS),
        "Send requests only in these hours of local time, such as 22-6 or 22:30-6:15; none for "
        "all day.",
    ),
    Setting(
        POLITENESS,
        "agent",
        "agent",
        kinds.AGENT,
        "Crawler name, sent to servers and matched against robots.txt.",
    ),
    Setting(
        POLITENESS,
        "contact",
        "contact",
        kinds.optional(kinds.CONTACT),
        "URL or mail address where server owners can reach you; none for no contact.",
    ),
)

NETWORK_ROWS = (
    Setting(NETWORK, "timeout_s", "timeout", kinds.TIME, "Time limit of a whole request."),
    Setting(
        NETWORK,
        "max_body_bytes",
        "max-body",
        kinds.SIZE,
        "Truncate a response body at this size.",
        weakens=is_higher,
    ),
    Setting(
        NETWORK,
        "resolve",
        "resolve",
        kinds.several(network_kinds.RULE),
        "Connect to ADDRESS instead of HOST, each with an optional :PORT; HOST may be * or "
        "*.example. Repeatable; none for no rule.",
        weakens=differs,
    ),
    Setting(
        NETWORK,
        "name_server",
        "name-server",
        kinds.several(network_kinds.NAME_SERVER),
        "Look hosts up at this name server, ADDRESS[:PORT], and cache addresses for their TTL; "
        "system uses the system's resolver and caches for 5 minutes. Repeatable; none for the "
        "name servers of this system.",
        weakens=differs,
    ),
    Setting(
        NETWORK,
        "allow_private",
        "allow-private",
        kinds.optional(kinds.SWITCH),
        "Fetch from all non-public addresses, or from none. By default, only from seeds given as "
        "an address or localhost, at their port, and from --resolve targets.",
        off="--no-allow-private",
        weakens=_allows_more,
    ),
    Setting(
        NETWORK,
        "workers",
        "workers",
        kinds.either("auto", kinds.whole(0, MOST_WORKERS)),
        "Processes that fetch and parse pages, besides the main process; 0 for none. auto uses "
        "one per additional core, up to 3, and none for the shards of a cluster.",
        weakens=is_higher,
    ),
)

LIMIT_ROWS = (
    Setting(
        LIMITS,
        "max_tries",
        "max-tries",
        kinds.whole(1),
        "Try a failing page at most N times. Failures that rarely go away get fewer tries.",
    ),
)


# ================================================================ table
#
# The table of settings: all rows, section by section, in the order of the help.

TABLE = (
    *BUDGET_ROWS,
    *ORDER_ROWS,
    *SCOPE_ROWS,
    *POLITENESS_ROWS,
    *NETWORK_ROWS,
    *CONNECTION_ROWS,
    *ACCESS_ROWS,
    *RENDER_ROWS,
    *LIMIT_ROWS,
    *TRAP_ROWS,
    *STORE_ROWS,
    *CLUSTER_ROWS,
)

BY_NAME = {setting.name: setting for setting in TABLE}

_KEPT = """
    window small-edge endowment focus focus-type focus-words focus-similar weight-internal
    robots delay address-delay agent contact user-agent languages cookies render
    links strip-marks keep keep-versions warc requisites strategy
"""
KEPT = tuple(
    setting
    for setting in TABLE
    if setting.section in (SCOPE, TRAPS) or setting.name in _KEPT.split()
)
"""Settings that a store keeps: scope, value of pages, and promises to servers. Budgets and
resources are set for each run."""


# ================================================================ gone
#
# Removed settings and their replacements. For one version, their names are refused with this line.
# A store with such a setting still opens.


class Gone(NamedTuple):
    """Removed setting: its replacement, and the stored value that means the same."""

    why: str
    usual: object = None


GONE = {
    "measures": Gone("all measures of a window are kept"),
    "width": Gone("a window is always 8 wide", 8),
    "newborn": Gone("a page is born with one unit of cash", "unit"),
    "replay": Gone("`minicrawl refine` and the end of a crawl compute converged ranks", 0),
    "weight": Gone("--weight-internal W weighs the links within a site"),
    "weight-dynamic": Gone("only links within a site weigh less, by --weight-internal", 1),
    "weight-emphasis": Gone("only links within a site weigh less, by --weight-internal", 1),
    "delay-factor": Gone("--delay auto waits 5 times as long as the host takes to answer", 5),
    "min-delay": Gone("--delay auto waits at least 0.5 s", 0.5),
    "max-delay": Gone("no delay that a host asks for is longer than 60 s", 60),
    "max-pause": Gone("no pause of a host is longer than an hour"),
    "max-strikes": Gone("a host that failed 6 times is down for an hour"),
    "silent-share": Gone("hosts that have not answered have half of --concurrency at most"),
    "max-bodies": Gone("bodies have 15 MB together, or half more than --max-body"),
    "max-head": Gone("heads are limited to 64 KiB"),
    "max-codings": Gone("bodies may have 3 content codings"),
    "no-proxy": Gone("NO_PROXY names the hosts that need no proxy"),
    "client-key": Gone("--client-cert reads the key from the file of the certificate"),
    "min-tls": Gone("TLS 1.2 is the oldest that is spoken"),
    "prefer-family": Gone("the system says which addresses of a host come first"),
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
    "cluster-ca": Gone("NATS_CA names the file, as for the nats command"),
    "cluster-cert": Gone("NATS_CERT names the file, as for the nats command"),
    "cluster-key": Gone("NATS_KEY names the file, as for the nats command"),
}
