"""Settings of how servers are asked: how often, by whom, over which network, with which logins."""

from dataclasses import dataclass
from pathlib import Path

from minicrawl.config.declaration import (
    allows_all,
    differs,
    is_higher,
    is_lower,
    reads_another_file,
    setting,
    starts_with_another_file,
)
from minicrawl.config.host_settings import HOST_SETTING, politeness_of
from minicrawl.config.values import access, kinds, networks, pace
from minicrawl.config.values.kinds import AUTO, ENVIRONMENT, OFF, ON
from minicrawl.web.robots.usage import PURPOSES

FIRST_DELAY_S = 1.0
"""Delay of --delay auto before a host has responded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Politeness:
    """Request rate and identity of the crawler."""

    robots: bool = setting(
        True, kinds.SWITCH, "Obey robots.txt.", off="--ignore-robots", weakens=is_lower, stored=True
    )
    obey_usage: str | None = setting(
        None,
        kinds.optional(kinds.choice(*PURPOSES)),
        "Do not fetch pages whose site denies this use, in robots.txt, in tdmrep.json or in RSL; "
        "none ignores denials. Denials in a page itself are kept with it.",
        stored=True,
    )
    delay_s: float | str = setting(
        1.0,
        kinds.either(AUTO, kinds.WAIT),
        "Time between two requests to a host. auto waits 5 times the host's response time, from "
        "0.5 to 60 seconds; at loopback addresses, from 0.",
        name="delay",
        weakens=is_lower,
        stored=True,
    )
    concurrency: int = setting(64, kinds.whole(1), "Maximum number of requests in flight.")
    per_host: int = setting(
        1, kinds.whole(1), "Maximum number of requests in flight per host.", weakens=is_higher
    )
    per_address: int = setting(
        8, kinds.whole(1), "Maximum number of requests in flight per IP address.", weakens=is_higher
    )
    address_delay_s: float = setting(
        0.1,
        kinds.WAIT,
        "Time between the starts of two requests to one IP address, across host names. With "
        "--delay 0 or auto, it is 0 for loopback addresses and --resolve targets.",
        name="address-delay",
        weakens=is_lower,
        stored=True,
    )
    max_rate: str | None = setting(
        None,
        kinds.optional(pace.RATE),
        "Limit of the whole crawl: requests per second such as 10 or 0.5, bytes per second such "
        "as 500kB, or both: 10,500kB; none for no limit.",
    )
    hours: str | None = setting(
        None,
        kinds.optional(pace.HOURS),
        "Send requests only in these hours of local time, such as 22-6 or 22:30-6:15; none for "
        "all day.",
    )
    agent: str = setting(
        "minicrawl",
        kinds.AGENT,
        "Crawler name, sent to servers and matched against robots.txt.",
        stored=True,
    )
    contact: str | None = setting(
        None,
        kinds.optional(kinds.CONTACT),
        "URL or mail address where server owners can reach you; none for no contact.",
        stored=True,
    )

    host_settings: tuple[str, ...] = setting(
        (),
        kinds.several(HOST_SETTING),
        "Use another value for this host, or for all hosts below *.NAME, of delay, per-host, "
        "max-rate, hours, agent, robots (with permission), render or proxy: slow.example.org:"
        'delay=10. Repeatable; none for no host. In a file, [hosts."slow.example.org"] has '
        "them, with header, auth, bearer and client-cert.",
        name="host-setting",
        stored=True,
    )

    # Not settings:
    delay_factor: float = 5.0
    """Delay of --delay auto as a multiple of the response time: at most a sixth of a host's load is
    ours."""
    min_delay_s: float = 0.5
    """Minimum delay of --delay auto: a fast host may have many other visitors."""
    max_delay_s: float = 60.0
    """Maximum of --delay auto and of an obeyed Crawl-delay; with more, a host of 1,000 pages would
    take days."""
    max_pause_s: float = 3600.0
    """Maximum pause of a failing host, or of one that asks for a pause; also the time that a host
    stays down, so that a crawl of a day retries it two dozen times."""
    max_strikes: int = 6
    """Failures that put a host down. Each success halves the count."""
    silent_share: float = 0.5
    """Maximum share of connections for hosts that have not responded recently."""

    def of_host(self, name: str) -> "Politeness":
        return politeness_of(self, name) if self.host_settings else self

    def delay_after(self, answer_s: float | None, *, is_local: bool = False) -> float:
        """Return the delay for a host with this response time (None before the first response).

        A host on this machine, `is_local`, has no minimum: the user knows its other visitors.
        """
        delay_s = self.delay_s
        if not isinstance(delay_s, str):
            return delay_s
        wanted_s = FIRST_DELAY_S if answer_s is None else self.delay_factor * answer_s
        return min(max(wanted_s, 0.0 if is_local else self.min_delay_s), self.max_delay_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Connections to servers."""

    timeout_s: float = setting(30.0, kinds.TIME, "Time limit of a whole request.", name="timeout")
    max_body_bytes: int = setting(
        10_000_000,
        kinds.SIZE,
        "Truncate a response body at this size.",
        name="max-body",
        weakens=is_higher,
    )
    max_file_bytes: int = setting(
        100_000_000,
        kinds.SIZE,
        "Truncate a linked file (--types files) or a page requisite at this size. It has more time "
        "than --timeout, in proportion to --max-body.",
        name="max-file",
        weakens=is_higher,
    )
    raw_bodies: bool = setting(
        False,
        kinds.SWITCH,
        "Also keep each byte of each response as the server sent it, bodies of redirects included, "
        "and write these to WARC and WACZ files. By default, archived bodies are decoded: chunks "
        "and content codings such as gzip are removed.",
        stored=True,
    )
    resolve: tuple[str, ...] = setting(
        (),
        kinds.several(networks.RULE),
        "Connect to ADDRESS instead of HOST, each with an optional :PORT; HOST may be * or "
        "*.example. Repeatable; none for no rule.",
        weakens=differs,
    )
    name_server: tuple[str, ...] = setting(
        (),
        kinds.several(networks.NAME_SERVER),
        "Look hosts up at this name server, ADDRESS[:PORT], and cache addresses for their TTL; "
        "system uses the system's resolver and caches for 5 minutes. Repeatable; none for the "
        "name servers of this system.",
        weakens=differs,
    )
    notify: str | None = setting(
        None,
        kinds.optional(networks.HOOK),
        "Post what changed, what is broken and how the run ended, as JSON to this URL after each "
        "run, signed by the secret in MINICRAWL_NOTIFY_SECRET (X-Hub-Signature-256); none for no "
        "post.",
        weakens=differs,
    )
    allow_private: bool | None = setting(
        None,
        kinds.optional(kinds.SWITCH),
        "Fetch from all non-public addresses, or from none. By default, only from seeds given as "
        "an address or localhost, at their port, and from --resolve targets.",
        weakens=allows_all,
    )
    workers: int | str = setting(
        "auto",
        kinds.either("auto", kinds.whole(0, 256)),
        "Processes that fetch and parse pages, besides the main process; 0 for none. auto uses "
        "one per additional core, up to 3, and none for the shards of a cluster.",
        weakens=is_higher,
    )
    proxy: tuple[str, ...] = setting(
        (ENVIRONMENT,),
        kinds.several(networks.PROXY),
        "Proxy URL (http, https, socks5 or socks5h), with a login if needed; http=URL and "
        "https=URL are for one scheme, @FILE lists proxies, environment uses HTTP_PROXY, "
        "HTTPS_PROXY and ALL_PROXY. Each host keeps to one proxy, and hosts in NO_PROXY use none; "
        "repeatable, none for no proxy.",
        weakens=differs,
    )
    ca: Path | None = setting(
        None,
        kinds.optional(kinds.FILE),
        "Also trust the certificate authorities in this PEM file; none for no file.",
        weakens=differs,
    )
    client_cert: tuple[str, ...] = setting(
        (),
        kinds.several(networks.FILE_OF_A_HOST),
        "Present this client certificate (PEM, with its key) to servers that ask for one: all, "
        "one host, or all below *.NAME. Repeatable; none for no certificate.",
        weakens=differs,
    )
    insecure: tuple[str, ...] = setting(
        (),
        kinds.several(networks.HOST),
        "Skip certificate checks for this host, or for all hosts below *.NAME; servers of a "
        "--cluster there may do without TLS and credentials. Repeatable; none for no host.",
        weakens=differs,
    )
    bind_address: tuple[str, ...] = setting(
        (),
        kinds.several(networks.ADDRESS),
        "Connect from this local address, only to servers of its address family. Repeatable; none "
        "for any address.",
        weakens=differs,
    )

    # Not settings:
    max_head_bytes: int = 64 * 1024
    """Limit of a response head: eight times what servers usually accept of a request head."""
    max_codings: int = 3
    """Nested content codings. Servers use one, rarely two; each multiplies the size of a bomb."""
    host_settings: tuple[str, ...] = ()
    """Settings of hosts, among them their proxies."""
    no_proxy: tuple[str, ...] = (ENVIRONMENT,)
    """Hosts contacted without a proxy; by default those in NO_PROXY."""

    @property
    def max_bodies_bytes(self) -> int:
        """Limit of all bodies in flight in a process: one of maximum size and many usual ones."""
        return max(15_000_000, self.max_body_bytes * 3 // 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Headers, logins, cookies and signatures. `repr` hides possible secrets."""

    headers: tuple[str, ...] = setting(
        (),
        kinds.several(access.HEADER_LINE),
        "Send this header with every request; 'HOST=Name: value' sends it to one host only. "
        "Repeatable; none for no header.",
        name="header",
    )
    user_agent: str | None = setting(
        None,
        kinds.optional(kinds.text("TEXT", "text of printable ASCII characters", r"[!-~][ -~]*")),
        "Complete User-Agent header; none builds it from --agent and --contact. robots.txt is "
        "still matched against --agent.",
        stored=True,
    )
    languages: str | None = setting(
        None,
        kinds.optional(access.LANGUAGES),
        "Accept-Language, preferred language first, such as de,en; none for no preference.",
        stored=True,
    )
    auth: tuple[str, ...] = setting(
        (),
        kinds.several(access.login("USER:PASS", access.USER_PASSWORD)),
        "Log in to HOST by basic or digest authentication. HOST=@FILE, MINICRAWL_AUTH, "
        "minicrawl.toml and --netrc hide the password from other users; repeatable, none for no "
        "login.",
        weakens=reads_another_file,
    )
    bearer: tuple[str, ...] = setting(
        (),
        kinds.several(access.login("TOKEN", access.TOKEN)),
        "Send this bearer token to HOST; HOST=@FILE reads it from a file. Repeatable; none for no "
        "token.",
        weakens=reads_another_file,
    )
    netrc: Path | str | None = setting(
        None,
        kinds.optional(kinds.either(ON, kinds.FOUND_FILE)),
        "Take logins from this .netrc file; on reads the file named by NETRC, or ~/.netrc; none "
        "for no file.",
        weakens=differs,
    )
    cookies: Path | str = setting(
        OFF,
        kinds.either(ON, kinds.either(OFF, kinds.FOUND_FILE)),
        "Keep cookies in a file beside the store and send them back (on), starting with those in "
        "a Netscape cookie file (FILE), or ignore cookies (off).",
        weakens=starts_with_another_file,
        stored=True,
    )
    keep_credentials: bool = setting(
        False,
        kinds.SWITCH,
        "Archive heads of requests and responses whole, with logins, own headers and cookies. By "
        "default, lines that may hold secrets are left out.",
        weakens=is_higher,
    )
    sign_requests: Path | str | None = setting(
        None,
        kinds.optional(kinds.KEY_FILE),
        "Sign every request with the Ed25519 key in this PEM file (Web Bot Auth), so that servers "
        "can verify who asks; asked=FILE signs only for servers that have asked (Accept-Signature)."
        " `minicrawl about` makes the key and shows its directory. Needs minicrawl[signing] and "
        "--contact; none for no signatures.",
        weakens=differs,
    )

    @property
    def has_secrets(self) -> bool:
        """True if there are own headers or logins."""
        return bool(self.headers or self.auth or self.bearer or self.netrc)
