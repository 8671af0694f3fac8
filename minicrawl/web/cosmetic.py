"""Cosmetic filters: CSS selectors of what is not worth reading, such as consent banners.

The format is that of filter lists such as EasyList Cookie, one filter a line:

    ###cookie-banner                   hides the elements that the selector matches, on every site
    example.org,~www.example.org##.bar   on these hosts and those below, except below the one with ~
    example.org#@#.bar                 does not hide them there
    ! comment

Laws: filters of other kinds, such as those of requests or with scripts, are ignored. Hiding is all
that a filter does: nothing is clicked, so nothing is accepted.
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
"""Filters of the banners of consent managers in wide use, and of names that sites give theirs."""

_FILTER = re.compile(r"([^#\s]*)(##|#@#)(\S.*)")
_EVERYWHERE = ""
_OF_SCRIPTS = ("+js(", "^", "script:inject(")
"""Beginnings of filters that are no selectors."""


class CosmeticFilters:
    """Filters of a list, by the host that they begin with."""

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
        """Return the selectors that hide elements of a page."""
        names = {*_names(host(url))}
        shown = set[str]().union(*(self._shown[name] for name in names & self._shown.keys()))
        return [
            selector
            for name in sorted(names & self._hidden.keys())
            for selector, excepted in self._hidden[name]
            if selector not in shown and not excepted & names
        ]


def _names(name: str) -> Iterator[str]:
    """Yield a host, and each host above it."""
    yield _EVERYWHERE
    while name:
        yield name
        name = name.partition(".")[2]
