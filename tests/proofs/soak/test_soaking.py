"""A soak of seconds, which tests the harness. Whether limits are kept takes hours to tell."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.proofs.soak.__main__ import main

pytestmark = pytest.mark.proof


def test_a_soak_prints_findings_and_samples_and_writes_them_into_a_document(tmp_path: Path) -> None:
    document = tmp_path / "found.md"
    document.write_text("<!-- soak -->\n<!-- end of soak -->\n")
    flags = "--minutes 0.1 --warm-up 0 --delay 0.1 --json --into"
    done = CliRunner().invoke(main, [*flags.split(), str(document)], catch_exceptions=False)
    printed = json.loads(done.stdout)
    by_name = {found["what"]: found for found in printed["findings"]}
    assert by_name["exit code of the crawl"]["holds"]
    assert by_name["events from the dashboard"]["found"] >= 1
    (reads,) = (found for name, found in by_name.items() if name.endswith("concurrent reads"))
    assert reads["holds"]
    assert not reads["what"].startswith("failures of 0 ")
    assert by_name["largest write-ahead log"]["holds"]
    assert done.exit_code == (not all(found["holds"] for found in printed["findings"]))
    assert "RSS grows by" in done.stderr
    assert "| RSS grows by |" in document.read_text()
    last = printed["samples"][-1]
    assert last["pages"] > 0
    assert last["files"] > len(last["rss_bytes"]) > 0
