"""`minicrawl config`: each value with its origin, a file to start from, ignored values."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from minicrawl.cli import main
from minicrawl.cli.options import CONFIG_VARIABLE
from minicrawl.store import tables
from minicrawl.store.records import Batch
from minicrawl.store.writer import StoreWriter
from tests.cli.calls import Captured, as_json, refusal


def test_the_strongest_source_counts_and_is_shown(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = "[budget]\npages = 3\n[politeness]\ndelay = 3\nagent = 'three'\n"
    Path("minicrawl.toml").write_text(file, encoding="utf-8")
    monkeypatch.setenv("MINICRAWL_PAGES", "2")
    monkeypatch.setenv("MINICRAWL_DELAY", "2")
    found = as_json(capsys, "config", "--pages", "1")
    assert found["budget.pages"] == {"value": 1, "from": "--pages"}
    assert found["politeness.delay"] == {"value": 2, "from": "MINICRAWL_DELAY"}
    assert found["politeness.agent"] == {
        "value": "three",
        "from": "minicrawl.toml:politeness.agent",
    }
    assert found["limits.max-tries"] == {"value": None, "from": "default"}


def test_a_harmful_value_counts_only_from_a_file_that_is_named(capsys: Captured) -> None:
    Path("minicrawl.toml").write_text(
        "[render]\nbrowser = '/evil.sh'\n[store]\nstore = 'a.db'\n[budget]\npages = 3\n", "utf-8"
    )
    assert main(["config", "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["budget.pages"]["value"] == 3
    assert found["render.browser"] == {"value": None, "from": "default"}
    assert found["store.store"]["from"] == "default"
    (line,) = err.splitlines()
    assert all(word in line for word in ("minicrawl.toml", "render.browser", "store.store"))
    named = as_json(capsys, "config", "--config", "minicrawl.toml")
    assert (named["render.browser"]["value"], named["store.store"]["value"]) == ("/evil.sh", "a.db")


def test_a_command_that_reads_a_store_takes_none_from_a_file_of_a_stranger(
    capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Path("minicrawl.toml")
    file.write_text("[store]\nstore = 'a.db'\n[render]\nbrowser = '/evil.sh'\n", encoding="utf-8")
    assert main(["status"]) == 2
    line, error = capsys.readouterr().err.splitlines()
    assert ("store.store" in line, "browser" in line) == (True, False)
    assert "no store at data/crawl.db" in error
    monkeypatch.setenv(CONFIG_VARIABLE, str(file))
    assert "no store at a.db" in refusal(capsys, "status")


def test_harmful_values_of_a_store_are_ignored_and_named(capsys: Captured) -> None:
    with closing(StoreWriter.open(Path("a.db"))) as store:
        kept = {"robots": False, "warc": "/etc/w", "scope": "host"}
        store.commit(Batch(counters={tables.SETTINGS: kept}))
    assert main(["config", "--json", "--store", "a.db"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert found["politeness.robots"]["value"] is True
    assert found["store.warc"]["value"] is None
    assert found["scope.scope"] == {"value": "host", "from": "store"}
    (line,) = err.splitlines()
    assert all(word in line for word in ("a.db", "robots", "warc"))
