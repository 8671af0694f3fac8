"""On a held-out site, the audit finds 95 % of the faults with at most 1 % false alarms."""

from pathlib import Path

import httpx
import pytest

from minicrawl import Crawl, Settings
from minicrawl.audit import checks
from minicrawl.audit.findings import audited
from tests.audit.held_out import HOST, planted_site

FOUND, FALSE = 0.95, 0.01


def test_faults_of_a_held_out_site_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "_SLOW_S", 1e9)
    site, store = planted_site(), tmp_path / "crawl.db"
    settings = Settings.of(
        store=store, scope="host", sitemaps=True, check="all", delay=0, address_delay=0, workers=0
    )
    Crawl([f"{HOST}/"], settings, transport=httpx.MockTransport(site)).run()
    with audited(store) as audit:
        reported = {(page.issue, page.url.removeprefix(HOST)) for page in audit.pages()}
        assert not audit.skipped
    reported = {
        (issue, site.copies[0] if path in site.copies else path) for issue, path in reported
    }
    missed, alarms = site.truth - reported, reported - site.truth
    found = 1 - len(missed) / len(site.truth)
    assert len({issue for issue, _ in site.truth}) >= 60
    assert found >= FOUND, missed
    assert len(alarms) <= FALSE * len(reported), alarms
