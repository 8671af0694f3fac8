"""A few seconds of a soak: the harness works. What it finds is left to longer runs."""

import json

from click.testing import CliRunner

from tests.soak.__main__ import main


def test_a_soak_of_seconds_tells_what_it_saw() -> None:
    done = CliRunner().invoke(main, ["--minutes", "0.25", "--delay", "0.1", "--json"])
    told = json.loads(done.stdout)
    by_name = {found["what"]: found for found in told["findings"]}
    assert by_name["the crawl ended with"]["holds"]
    assert by_name["the log takes up to"]["holds"]
    assert done.exit_code == (not all(found["holds"] for found in told["findings"]))
    assert "memory grows by" in done.stderr
    last = told["samples"][-1]
    assert last["pages"] > 100
    assert last["files"] > len(last["rss_bytes"]) > 0
