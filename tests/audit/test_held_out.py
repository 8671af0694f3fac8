"""Of a site that no check was tuned on, 95 % of the faults are found, with 1 % of false alarms."""

from pathlib import Path

import httpx
import pytest

from minicrawl import Crawl, Settings
from minicrawl.audit import checks
from minicrawl.audit.findings import audited
from tests.audit.held_out import HOST, planted_site

FOUND, FALSE = 0.95, 0.01


def test_faults_of_a_site_held_back_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "_SLOW_S", 1e9)
    site, store = planted_site(), tmp_path / "crawl.db"
    settings = Settings.of(
        store=store,
        scope="host",
        sitemaps=True,
        check="all",
        delay=0,
        address_delay=0,
        workers=0,
    )
    Crawl([f"{HOST}/"], settings, transport=httpx.MockTransport(site)).run()
    with audited(store) as audit:
        told = {(page.issue, page.url.removeprefix(HOST)) for page in audit.pages()}
        assert not audit.skipped
    told = {(issue, site.copies[0] if path in site.copies else path) for issue, path in told}
    missed, alarms = site.truth - told, told - site.truth
    found = 1 - len(missed) / len(site.truth)
    shown = f"{found:.3f} of {len(site.truth)} faults, {len(alarms)} of {len(told)} false"
    classes = {issue for issue, _ in site.truth}
    assert len(classes) >= 60
    assert found >= FOUND, (shown, missed)
    assert len(alarms) <= FALSE * len(told), (shown, alarms)
