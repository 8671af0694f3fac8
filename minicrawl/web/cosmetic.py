"""Cosmetic filters: CSS selectors of elements to hide, such as consent banners.

The format is that of filter lists such as EasyList Cookie, one filter a line:

    ###cookie-banner                   hides the elements that the selector matches, on every site
    example.org,~www.example.org##.bar   on these hosts and those below, except below the one with ~
    example.org#@#.bar                 exception: the filter ##.bar does not apply here
    ! comment

Filters of other kinds, such as network filters and scriptlets, are ignored. A filter only hides
elements. Nothing is clicked, so the crawl never consents to anything.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from minicrawl.web.urls import host

USUAL = """
###BorlabsCookieBox
###CybotCookiebotDialog
###CybotCookiebotDialogBodyUnderlay
###axeptio_overlay
###ccc
###cmpbox
###cmpbox2
###cmpwrapper
###cmplz-cookiebanner-container
###cookie-banner
###cookie-bar
###cookie-consent
###cookie-law-info-bar
###cookie-notice
###cookie-popup
###cookieConsent
###cookiebanner
###cookieconsent
###consent-banner
###didomi-host
###gdpr-banner
###gdpr-consent
###hs-eu-cookie-confirmation
###iubenda-cs-banner
###klaro
###moove_gdpr_cookie_info_bar
###onetrust-banner-sdk
###onetrust-consent-sdk
###qc-cmp2-container
###tarteaucitronRoot
###truste-consent-track
###usercentrics-root
##.cc-window[role="dialog"]
##.cookie-banner
##.cookie-bar
##.cookie-consent
##.cookie-notice
##.consent-banner
##.eupopup-container
##.fc-consent-root
##.osano-cm-window
##.qc-cmp2-container
##.termly-styles-root
##[aria-label="Cookie banner"]
##[id^="sp_message_container_"]
"""
"""Default filters: banners of common consent managers, and usual names of home-made banners."""

_FILTER = re.compile(r"([^#\s]*)(##|#@#)(\S.*)")
_EVERYWHERE = ""
_OF_SCRIPTS = ("+js(", "^", "script:inject(")
"""Prefixes of filters that are not CSS selectors."""


class CosmeticFilters:
    """Parsed filter list, with the filters by host."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._hidden = defaultdict[str, list[tuple[str, frozenset[str]]]](list)
        self._shown = defaultdict[str, set[str]](set)
        for line in lines:
            found = _FILTER.fullmatch(line.strip())
            if found is not None and not line.startswith("!"):
                self._add(*found.groups())

    def _add(self, hosts: str, kind: str, selector: str) -> None:
        if selector.startswith(_OF_SCRIPTS):
            return
        named = [name for name in hosts.lower().split(",") if name]
        excepted = frozenset(name[1:] for name in named if name[0] == "~")
        for name in [name for name in named if name[0] != "~"] or [_EVERYWHERE]:
            if kind == "##":
                self._hidden[name].append((selector, excepted))
            else:
                self._shown[name].add(selector)

    def selectors(self, url: str) -> list[str]:
        """Return the selectors that apply to the page at `url`."""
        names = {*_names(host(url))}
        shown = set[str]().union(*(self._shown[name] for name in names & self._shown.keys()))
        return [
            selector
            for name in sorted(names & self._hidden.keys())
            for selector, excepted in self._hidden[name]
            if selector not in shown and not excepted & names
        ]


def _names(name: str) -> Iterator[str]:
    """Yield the keys of filters for a host: "" for every site, the host, its parent domains."""
    yield _EVERYWHERE
    while name:
        yield name
        name = name.partition(".")[2]
