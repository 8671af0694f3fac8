"""Scripts of a page: could they add to the content of its markup?

Every text gets an answer, in linear time. Pages of one template share a signature, whatever their
content: numbers and hashes in the names of scripts are ignored.

tracker    script that watches readers, or shows them advertisements
shell      page with scripts and hardly anything else
"""

import re
from hashlib import blake2b

from minicrawl.model import NO_SCRIPTS, Scripting, ScriptKind
from minicrawl.web.html.attributes import STOP, attributes

FEW_LINKS = 5
"""Most links of a shell: a page with more links is a list of them."""
_INLINE_READ = 20_000
_NAMED = 40
"""Characters at the start of an inline script that name it: what follows may be content."""

TRACKERS = re.compile(
    r"googletagmanager\.com|google-analytics\.com|googlesyndication\.com|doubleclick\.net|gtag\("
    r"|googleadservices\.com|connect\.facebook\.net|facebook\.com/tr|hotjar\.com|clarity\.ms"
    r"|segment\.(?:com|io)|matomo|piwik|plausible\.io|cloudflareinsights\.com|newrelic\.com"
    r"|nr-data\.net|scorecardresearch\.com|quantserve\.com|chartbeat\.com|mixpanel\.com"
    r"|amazon-adsystem\.com|criteo\.(?:com|net)|taboola\.com|outbrain\.com|yandex\.ru/metrika"
    r"|bat\.bing\.com|statcounter\.com|sentry-cdn\.com|optimizely\.com|goatcounter\.com",
    re.IGNORECASE,
)
"""Names of trackers, in a URL or in a script."""

_SCRIPT = re.compile(
    rf"<script{STOP}([^<>]{{0,2000}}+)>((?:[^<]++|<(?!/script{STOP}))*+)", re.IGNORECASE | re.ASCII
)
_ON_LOAD = re.compile(r"<body[^<>]{0,500}?\sonload\s*=", re.IGNORECASE | re.ASCII)
_RUNS = re.compile(
    r"\s*(?:(?:text|application)/(?:x-)?(?:java|ecma)script\b.*|module\s*|)\Z", re.IGNORECASE
)
_FILLS = re.compile(
    r"createElement|innerHTML|outerHTML|insertAdjacent|append(?:Child)?\(|replaceChildren"
    r"|document\.write|attachShadow|customElements|\bfetch\(|XMLHttpRequest|\.html\(|\$\.(?:get|ajax)"
    r"|location\s*=|location\.(?:href|replace|assign)|(?:push|replace)State"
)
_TO_FILL = re.compile(
    r"<(div|main|section|nav|ul|ol|table|tbody|aside|article|header|footer|span|p)\b"
    r"(?=[^<>]{0,300}?\s(?:id|class|data-[a-z-]{1,30})\s*+=)[^<>]{0,500}+>\s*+</\1\s*+>",
    re.IGNORECASE | re.ASCII,
)
_ELEMENT_OF_ITS_OWN = re.compile(r"<([a-z][a-z0-9]*+-[a-z0-9-]*+)", re.IGNORECASE | re.ASCII)
_VARYING = re.compile(r"[?#].*|[0-9a-f]{6,}|[0-9]+", re.IGNORECASE | re.DOTALL)
_NO_LETTER = re.compile(r"[^A-Za-z]+")
_MARKS = 20


def scripting(text: str, links: int, *, is_thin: bool) -> Scripting:
    """Return what the scripts of a page may add; the page has `links` links without them.

    Scripts that seem to add nothing have a signature, too: they may fetch.
    """
    names, fills = _scripts(text)
    if "srcdoc" in text:  # a frame that may have scripts of its own
        names.append("srcdoc")
    # The plain search spares most pages the regular expression.
    has_onload = "onload" in text and _ON_LOAD.search(text) is not None
    if not names and not has_onload:
        return NO_SCRIPTS
    elements = sorted(set(_ELEMENT_OF_ITS_OWN.findall(text)))[:_MARKS]
    is_shell = links == 0 or (is_thin and links <= FEW_LINKS)
    if is_shell and (is_thin or fills or has_onload or _is_to_be_filled(text, elements)):
        kind = ScriptKind.SHELL
    elif fills or _is_to_be_filled(text, elements):
        kind = ScriptKind.SOME
    else:
        kind = ScriptKind.NONE
    named = "\n".join((kind.name, *sorted(set(names)), *elements))
    digest = blake2b(named.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return Scripting(kind, int.from_bytes(digest, "little"))


def _scripts(text: str) -> tuple[list[str], bool]:
    """Return the names of active scripts other than trackers, and True if one fills elements."""
    names, fills = list[str](), False
    for said, inline in _SCRIPT.findall(text):
        values = attributes(said)
        source = values.get("src", "")
        code = inline[:_INLINE_READ]
        if not _RUNS.match(values.get("type", "")) or TRACKERS.search(source or code):
            continue
        if source:
            names.append(_VARYING.sub("", source))
        elif code.strip():
            names.append(_NO_LETTER.sub(" ", code[:_NAMED]).strip())
            fills = fills or _FILLS.search(code) is not None
    return names, fills


def _is_to_be_filled(text: str, elements: list[str]) -> bool:
    return bool(elements) or _TO_FILL.search(text) is not None
