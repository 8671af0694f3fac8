"""On a held-out site, the audit finds 95 % of the faults with at most 1 % false alarms."""

from pathlib import Path

import pytest

from minicrawl.audit import checks
from minicrawl.audit.checks import audited
from tests.audit.held_out import HOST, planted_site
from tests.webs import crawl_web

FOUND, FALSE = 0.95, 0.01


def test_faults_of_a_held_out_site_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "_SLOW_S", 1e4)
    monkeypatch.setattr(checks, "_LATE_S", 1e4)
    site, chosen = planted_site(), {"scope": "host", "sitemaps": True, "check": "all", "workers": 0}
    with audited(crawl_web(tmp_path / "crawl.db", site, [f"{HOST}/"], **chosen)) as audit:
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
