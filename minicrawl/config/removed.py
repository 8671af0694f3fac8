"""Removed settings and their replacements. For one version, their names are refused with this
explanation. A store with such a setting still opens.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from minicrawl.config.values.kinds import NONE


class Gone(NamedTuple):
    """Removed setting: its replacement, and the stored value that equals what the code does now."""

    why: str
    usual: object = None


GONE = {
    "discovery": Gone("--refresh SHARE sets the share of revisits; new pages get the rest"),
    "check-external": Gone("--check external checks links that leave the scope", "external"),
    "check-assets": Gone("--check assets checks images, styles, scripts and anchors", "assets"),
    "measures": Gone("all measures of a window are kept"),
    "width": Gone("--window NAME:SIZE sets the size of a window", 8),
    "newborn": Gone("a page is born with one unit of cash", "unit"),
    "replay": Gone("`minicrawl refine` and the end of a crawl compute converged ranks", 0),
    "weight": Gone("--weight-internal W weighs the links within a site"),
    "weight-dynamic": Gone("only links within a site weigh less, by --weight-internal", 1),
    "weight-emphasis": Gone("only links within a site weigh less, by --weight-internal", 1),
    "delay-factor": Gone("--delay auto waits 5 times as long as the host takes to answer", 5),
    "min-delay": Gone("--delay auto waits at least 0.5 s", 0.5),
    "max-delay": Gone("a Crawl-delay is capped at 60 s", 60),
    "max-pause": Gone("a host pauses for at most an hour"),
    "max-strikes": Gone("a host that failed 6 times is down for an hour"),
    "silent-share": Gone("hosts that have not answered get at most half of --concurrency"),
    "max-bodies": Gone("bodies have 15 MB together, or half more than --max-body"),
    "max-head": Gone("heads are limited to 64 KiB"),
    "max-codings": Gone("bodies may have 3 content codings"),
    "no-proxy": Gone("NO_PROXY names the hosts that need no proxy"),
    "client-key": Gone("--client-cert reads the key from the file of the certificate"),
    "min-tls": Gone("TLS 1.2 is the oldest version in use"),
    "prefer-family": Gone("the system's resolver orders the addresses of a host"),
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
    "focus-only": Gone("--score fetches pages of value first; --allow and --max-depth limit pages"),
    "same-pages": Gone("--barren-pages N ignores a difference of URLs after N / 2 pages", 10),
    "host-pages": Gone("--site-pages N is the quota of a host as well", 1000),
    "cluster-ca": Gone("NATS_CA names the file, as for the nats command"),
    "cluster-creds": Gone("NATS_CREDS names the file, as for the nats command"),
    "cluster-cert": Gone("NATS_CERT names the file, as for the nats command"),
    "noindex": Gone("export writes pages that ask not to be indexed; its column noindex tells"),
    "consent-list": Gone("rendered pages keep their banners; main text leaves them out"),
    "http2": Gone("every server is asked by HTTP/1.1, which takes a third of the time", "off"),
    "cluster-key": Gone("NATS_KEY names the file, as for the nats command"),
}

FORMER = {"focus": "url", "focus-type": "type", "focus-words": "words", "focus-similar": "words"}
"""Removed settings that add to `score` for one version, each with the scorer that replaces it."""
_STRENGTH = re.compile(r"=[0-9.]+\Z")


def renewed(values: Mapping[str, object], between: str = "-") -> dict[str, object]:
    """Return raw values with scorers for removed settings; `between` separates words of names."""
    renamed, scores = dict(values), list[object]()
    for name, scorer in FORMER.items():
        given = renamed.pop(name.replace("-", between), None)
        for strength in _listed(given):
            scores.append(f"{scorer}:{_STRENGTH.sub('', str(strength))}")
    if scores:
        renamed["score"] = [*_listed(renamed.get("score")), *scores]
    return renamed


def _listed(value: object) -> Iterable[object]:
    if value is None or value == NONE:
        return ()
    return value if isinstance(value, Mapping | list | tuple) else (value,)
