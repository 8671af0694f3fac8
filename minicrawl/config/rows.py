"""The rows of the table of settings, in the parts that the help shows.

crawl        what is read, until when and into which file
order        in which order, and what pages are worth
request      how servers are asked, and how much one page or one host may cost
connection   how a server is reached: proxies, HTTP/2, TLS, addresses
access       who we are to servers: headers, logins, cookies
render       which pages a browser renders
store        what is stored, and what is done when a crawl ends
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

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
# The rows that say who we are to servers: headers, logins and cookies.
#
# Laws: a header that would break the framing of requests, or a promise of politeness, is refused. A
# secret is never quoted: not in a message about a bad value, and not where settings are shown.
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


# ================================================================ cluster
#
# The rows that say which cluster a crawl is part of, and how its servers are reached.

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
        "Crawl with other machines, joined by these NATS servers: nats://host:4222, several with "
        "commas between, /NAME behind them if they serve several crawls. demo starts servers and "
        "nodes on this machine. none for this machine alone.",
        weakens=differs,
    ),
    Setting(
        CLUSTER,
        "creds",
        "cluster-creds",
        kinds.optional(kinds.FILE),
        "The file with the credentials for the NATS servers, or with the seed of an nkey; none for "
        "no file.",
        weakens=differs,
    ),
    Setting(
        CLUSTER,
        "ca",
        "cluster-ca",
        kinds.optional(kinds.FILE),
        "Trust the certificates in this file (PEM) for the NATS servers, in place of those of the "
        "system; none for no file.",
        weakens=differs,
    ),
    Setting(
        CLUSTER,
        "cert",
        "cluster-cert",
        kinds.optional(kinds.FILE),
        "The certificate (PEM) that this machine shows to the NATS servers, where they ask for "
        "one; none for no file.",
        weakens=differs,
    ),
    Setting(
        CLUSTER,
        "key",
        "cluster-key",
        kinds.optional(kinds.FILE),
        "The key of --cluster-cert (PEM); none if it is in the same file.",
        weakens=differs,
    ),
)


# ================================================================ connection
#
# The rows that say how a server is reached: proxies, HTTP/2, TLS, addresses.

HTTP2 = ("off", "auto")
MIN_TLS = ("1.2", "1.3")
FAMILIES = ("auto", "ipv4", "ipv6")

CONNECTION_ROWS = (
    Setting(
        NETWORK,
        "proxy",
        "proxy",
        kinds.several(network_kinds.PROXY),
        "Send requests through this proxy: http, https, socks5 or socks5h, with a login if it "
        "needs one. @FILE lists one per line; http=URL and https=URL are for pages of one scheme. "
        "With several proxies, each host keeps to one of them. Repeatable; none for no proxy, "
        "environment for those in HTTP_PROXY, HTTPS_PROXY and ALL_PROXY.",
        weakens=differs,
    ),
    Setting(
        NETWORK,
        "no_proxy",
        "no-proxy",
        kinds.several(network_kinds.BYPASS),
        "Use no proxy for these hosts and the hosts below them: names, addresses, networks, or *. "
        "Repeatable; none for no host, environment for those in NO_PROXY.",
        weakens=differs,
    ),
    Setting(
        NETWORK,
        "http2",
        "http2",
        kinds.choice(*HTTP2),
        "auto offers HTTP/2 to https servers. It costs more processor time than HTTP/1.1, and "
        "saves connections only if --per-host is above 1.",
    ),
    Setting(
        NETWORK,
        "ca",
        "ca",
        kinds.optional(kinds.FILE),
        "Also trust the certificate authorities in this file (PEM); none for no file.",
        weakens=differs,
    ),
    Setting(
        NETWORK,
        "client_cert",
        "client-cert",
        kinds.several(network_kinds.FILE_OF_A_HOST),
        "Present this certificate (PEM) to servers that ask for one: to this host, to all hosts "
        "below *.NAME, or to all. Repeatable; none for no certificate.",
        weakens=differs,
    ),
    Setting(
        NETWORK,
        "client_key",
        "client-key",
        kinds.several(network_kinds.FILE_OF_A_HOST),
        "The key of the --client-cert for the same host, if that file does not hold it. "
        "Repeatable; none for no other file.",
        weakens=differs,
    ),
    Setting(
        NETWORK,
        "insecure",
        "insecure",
        kinds.several(network_kinds.HOST),
        "Do not check the certificate of this host, or of all hosts below *.NAME. Repeatable; none "
        "for no host.",
        weakens=differs,
    ),
    Setting(
        NETWORK,
        "min_tls",
        "min-tls",
        kinds.choice(*MIN_TLS),
        "The oldest version of TLS to accept.",
    ),
    Setting(
        NETWORK,
        "prefer_family",
        "prefer-family",
        kinds.choice(*FAMILIES),
        "Which addresses of a host to try first. auto: in the order of the system.",
    ),
    Setting(
        NETWORK,
        "bind_address",
        "bind-address",
        kinds.several(network_kinds.ADDRESS),
        "Connect from this address of this machine, only to servers of the same address family. "
        "Repeatable; none for any address.",
        weakens=differs,
    ),
)


# ================================================================ render
#
# The rows that say which pages a browser renders, and how much one of them may cost.

RENDER_MODES = ("never", "auto", "always")
MOST_RENDER_WORKERS = 64

RENDER_ROWS = (
    Setting(
        RENDER,
        "render",
        "render",
        kinds.choice(*RENDER_MODES),
        "Which pages a browser renders. auto: those that are scripts and little else, and those "
        "that look like pages of the same host that gained links when they were rendered. Needs "
        "minicrawl[render] and a chromium.",
    ),
    Setting(
        RENDER,
        "workers",
        "render-workers",
        kinds.whole(1, MOST_RENDER_WORKERS),
        "Browsers; each renders one page at a time.",
        weakens=is_higher,
    ),
    Setting(
        RENDER,
        "browser",
        "browser",
        kinds.optional(kinds.FILE),
        "The chromium that renders pages; none for the one that is installed.",
        weakens=differs,
    ),
    Setting(
        RENDER,
        "max_s",
        "max-rendering",
        kinds.TIME,
        "Time limit for rendering a page, without the time for which its requests wait for their "
        "hosts. What is there by then is read.",
    ),
    Setting(
        RENDER,
        "max_requests",
        "max-render-requests",
        kinds.whole(0),
        "A page that is rendered may send N requests of its own.",
    ),
    Setting(
        RENDER,
        "max_memory",
        "max-render-memory",
        kinds.SIZE,
        "End a browser that takes more memory than this.",
        weakens=is_higher,
    ),
)


# ================================================================ request
#
# The rows that say how servers are asked, and how much one page or one host may cost.

MOST_WORKERS = 256


def _allows_more(value: bool | None, own: bool | None) -> bool:
    """Whether more addresses that are not public are asked: none, those of seeds, or all."""
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
        "Time between two requests to a host. auto waits --delay-factor times as long as the host "
        "takes to answer.",
        weakens=is_lower,
    ),
    Setting(
        POLITENESS,
        "delay_factor",
        "delay-factor",
        kinds.POSITIVE,
        "With --delay auto, wait X times as long as the host takes to answer.",
        weakens=is_lower,
    ),
    Setting(
        POLITENESS,
        "min_delay_s",
        "min-delay",
        kinds.WAIT,
        "The shortest wait of --delay auto. The longest one is --max-delay.",
        weakens=is_lower,
    ),
    Setting(
        POLITENESS,
        "max_delay_s",
        "max-delay",
        kinds.WAIT,
        "The longest Crawl-delay to obey. A longer one in a robots.txt is cut to this.",
        weakens=is_lower,
    ),
    Setting(
        POLITENESS,
        "max_pause_s",
        "max-pause",
        kinds.TIME,
        "The longest pause for a host that fails or asks for one.",
        weakens=is_lower,
    ),
    Setting(
        POLITENESS,
        "max_strikes",
        "max-strikes",
        kinds.whole(1),
        "After N failures of a host, its pages fail without a request for --max-pause. Each "
        "success halves the count.",
        weakens=is_higher,
    ),
    Setting(
        POLITENESS, "concurrency", "concurrency", kinds.whole(1), "Requests in flight at once."
    ),
    Setting(
        POLITENESS,
        "per_host",
        "per-host",
        kinds.whole(1),
        "Requests in flight at once to one host.",
        weakens=is_higher,
    ),
    Setting(
        POLITENESS,
        "per_address",
        "per-address",
        kinds.whole(1),
        "Requests in flight at once to one IP address.",
        weakens=is_higher,
    ),
    Setting(
        POLITENESS,
        "address_delay_s",
        "address-delay",
        kinds.WAIT,
        "Time between the starts of two requests to one IP address, whatever the host names. With "
        "--delay 0, it is 0 for loopback addresses and for targets of --resolve.",
        weakens=is_lower,
    ),
    Setting(
        POLITENESS,
        "silent_share",
        "silent-share",
        kinds.SHARE,
        "Share of --concurrency for hosts that have not answered recently.",
    ),
    Setting(
        POLITENESS,
        "max_rate",
        "max-rate",
        kinds.optional(pace.RATE),
        "Limit of the whole crawl: requests a second such as 10 or 0.5, bytes a second such as "
        "500kB, or both: 10,500kB. none for no limit.",
    ),
    Setting(
        POLITENESS,
        "hours",
        "hours",
        kinds.optional(pace.HOURS),
        "Send requests only between these hours of the local day, such as 22-6 or 22:30-6:15, and "
        "wait at other times; none for all day.",
    ),
    Setting(
        POLITENESS,
        "agent",
        "agent",
        kinds.AGENT,
        "The crawler's name, for servers and for robots.txt.",
    ),
    Setting(
        POLITENESS,
        "contact",
        "contact",
        kinds.optional(kinds.CONTACT),
        "A URL or mail address where the owner of a server can reach you; none for no contact.",
    ),
)

NETWORK_ROWS = (
    Setting(NETWORK, "timeout_s", "timeout", kinds.TIME, "Time limit for a whole request."),
    Setting(
        NETWORK,
        "max_body_bytes",
        "max-body",
        kinds.SIZE,
        "Cut a body that is larger than this.",
        weakens=is_higher,
    ),
    Setting(
        NETWORK,
        "max_bodies_bytes",
        "max-bodies",
        kinds.SIZE,
        "When the bodies in flight in a process add up to more than this, cut the largest one. "
        "At least --max-body.",
        weakens=is_higher,
    ),
    Setting(
        NETWORK,
        "max_head_bytes",
        "max-head",
        kinds.SIZE,
        "Fail a response whose headers are larger than this.",
        weakens=is_higher,
    ),
    Setting(
        NETWORK,
        "max_codings",
        "max-codings",
        kinds.whole(0),
        "Fail a response whose body has more than N content codings.",
        weakens=is_higher,
    ),
    Setting(
        NETWORK,
        "resolve",
        "resolve",
        kinds.several(network_kinds.RULE),
        "Connect to ADDRESS instead of HOST. Both may have a :PORT; HOST may be * or *.example. "
        "Repeatable; none for no rule.",
        weakens=differs,
    ),
    Setting(
        NETWORK,
        "name_server",
        "name-server",
        kinds.several(network_kinds.NAME_SERVER),
        "Ask this name server, ADDRESS[:PORT], for the addresses of hosts, and keep them for as "
        "long as it says. Repeatable; none for the servers of this system, system to let the "
        "system find the addresses, which are then kept for 5 minutes.",
        weakens=differs,
    ),
    Setting(
        NETWORK,
        "allow_private",
        "allow-private",
        kinds.optional(kinds.SWITCH),
        "Fetch from all addresses that are not public, or from none. By default, only from "
        "seeds that are written as an address or localhost, at their port, and from targets "
        "of --resolve.",
        off="--no-allow-private",
        weakens=_allows_more,
    ),
    Setting(
        NETWORK,
        "workers",
        "workers",
        kinds.either("auto", kinds.whole(0, MOST_WORKERS)),
        "Processes that fetch and parse pages, besides the main process. 0 is none; auto is one "
        "for each further core, up to 3, and none for the shards of a cluster.",
        weakens=is_higher,
    ),
)

LIMIT_ROWS = (
    Setting(LIMITS, "max_links", "max-links", kinds.whole(1), "Read at most N links of a page."),
    Setting(
        LIMITS,
        "max_redirects",
        "max-redirects",
        kinds.whole(0),
        "Follow at most N redirects in a row.",
    ),
    Setting(
        LIMITS,
        "max_tries",
        "max-tries",
        kinds.whole(1),
        "Request a page that fails at most N times. Failures that rarely go away get fewer tries.",
    ),
    Setting(
        LIMITS,
        "max_sitemaps",
        "max-sitemaps",
        kinds.whole(1),
        "With --sitemaps, read at most N sitemaps of a host.",
    ),
    Setting(
        LIMITS,
        "max_robots_bytes",
        "max-robots",
        kinds.SIZE,
        "Read at most this much of a robots.txt, and ignore the rest.",
        weakens=is_higher,
    ),
    Setting(
        LIMITS,
        "max_reading_s",
        "max-reading",
        kinds.TIME,
        "Time limit for parsing a page. A page that takes longer fails.",
        weakens=is_higher,
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
    window width measures small-edge endowment newborn focus focus-type focus-words
    focus-similar weight-internal weight-dynamic weight-emphasis
    robots delay delay-factor min-delay max-delay address-delay agent contact user-agent languages
    cookies render
    links strip-marks keep keep-versions warc requisites strategy
"""
KEPT = tuple(
    setting
    for setting in TABLE
    if setting.section in (SCOPE, TRAPS) or setting.name in _KEPT.split()
)
"""The settings that a store keeps: which pages a crawl reads, what they are worth, and what it
promises to servers. How long a run takes and what it may use of the machine is set for each run."""
