"""A few seconds of a soak: the harness works. What it finds is left to longer runs."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.soak.__main__ import main

pytestmark = pytest.mark.proof


def test_a_soak_of_seconds_tells_what_it_saw(tmp_path: Path) -> None:
    document = tmp_path / "found.md"
    document.write_text("<!-- soak -->\n<!-- end of soak -->\n")
    flags = [
        "--minutes",
        "0.1",
        "--warm-up",
        "0",
        "--delay",
        "0.1",
        "--json",
        "--into",
        str(document),
    ]
    done = CliRunner().invoke(main, flags, catch_exceptions=False)
    told = json.loads(done.stdout)
    by_name = {found["what"]: found for found in told["findings"]}
    assert by_name["the crawl ended with"]["holds"]
    assert by_name["the dashboard told"]["found"] >= 1
    (read,) = (found for name, found in by_name.items() if name.endswith("reads beside it failed"))
    assert read["holds"]
    assert not read["what"].startswith("of 0 ")
    assert by_name["the log takes up to"]["holds"]
    assert done.exit_code == (not all(found["holds"] for found in told["findings"]))
    assert "RSS grows by" in done.stderr
    assert "| RSS grows by |" in document.read_text()
    last = told["samples"][-1]
    assert last["pages"] > 0
    assert last["files"] > len(last["rss_bytes"]) > 0
