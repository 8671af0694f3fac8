"""The rows that say how servers are asked, and how much one page or one host may cost."""

from minicrawl.config.parts import AUTO
from minicrawl.config.setting import (
    LIMITS,
    NETWORK,
    POLITENESS,
    Setting,
    differs,
    is_higher,
    is_lower,
)
from minicrawl.config.values import kinds, network_kinds, pace

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
