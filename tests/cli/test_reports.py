"""Commands that read a store: what they print for people and for programs."""

import csv
import io
import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from minicrawl.cli import main
from minicrawl.report.progress.live_sampler import sampled_now
from minicrawl.report.progress.samples import MOST_AT_ONCE, Basis, keep_sample
from minicrawl.report.selected_pages import COLUMNS
from minicrawl.states import State
from minicrawl.store.reader import reading
from tests.cli.calls import Captured, as_json, printed
from tests.stores import DEEP, GONE, MOVED, A, B, HandCrawl


def grow(store: Path) -> None:
    """Add so many pages that the graph is too large to be measured unasked."""
    with closing(HandCrawl(store)) as crawl:
        crawl.frontier = crawl.loaded()
        crawl.seeds(f"http://large.example/{number}" for number in range(MOST_AT_ONCE))
        crawl.commit()


LISTS = [["top"], ["top", "--sites"], ["frontier"]]


@pytest.fixture(autouse=True)
def store(filled: Path) -> Path:
    return filled


class TestAll:
    def test_a_flag_or_the_file_of_settings_names_the_store(
        self, capsys: Captured, monkeypatch: pytest.MonkeyPatch, store: Path
    ) -> None:
        store.rename("moved.db")
        assert as_json(capsys, "status", "--store", "moved.db")
        monkeypatch.delenv("MINICRAWL_STORE")
        Path("mine.toml").write_text('[store]\nstore = "moved.db"\n', encoding="utf-8")
        monkeypatch.setenv("MINICRAWL_CONFIG", "mine.toml")
        assert as_json(capsys, "status")

    @pytest.mark.parametrize("command", LISTS)
    def test_a_store_without_pages_is_an_empty_list(
        self, capsys: Captured, tmp_path: Path, command: list[str]
    ) -> None:
        with closing(HandCrawl(tmp_path / "new.db")):
            pass
        assert as_json(capsys, *command, "--store", "new.db") == []
        assert len(printed(capsys, *command, "--store", "new.db").splitlines()) == 1


class TestTop:
    def test_a_table_has_the_importance_in_percent(self, capsys: Captured) -> None:
        heading, first, *_ = printed(capsys, "top").splitlines()
        assert heading.split() == [
            *("rank", "importance", "in-links", "depth"),
            *("found", "status", "url", "title"),
        ]
        assert first.split()[0] == "1"
        assert first.split()[2] == "%"

    def test_the_last_line_says_how_exact_the_importance_is(
        self, capsys: Captured, store: Path, long_log: Callable[[], None]
    ) -> None:
        last = printed(capsys, "top").splitlines()[-1]
        assert last.startswith("importance: estimated")
        printed(capsys, "refine")
        last = printed(capsys, "top").splitlines()[-1]
        assert re.fullmatch(r"importance: converged, error at most \S+e-\d+, \d+ s old", last)
        with closing(HandCrawl(store)) as crawl:
            crawl.frontier = crawl.loaded()
            crawl.read(DEEP, [f"{A}new"])
        for command in (["top"], ["explain", A], ["status"]):
            shown = printed(capsys, *command)
            assert re.search(r"converged, error at most \S+e-\d+, \d+ s old$", shown, re.MULTILINE)
        long_log()
        assert "old, 1 step and 1 page ago" in printed(capsys, "status")


class TestExport:
    @pytest.mark.parametrize("name", ["ranks.csv", "ranks.tsv", "ranks.jsonl", "ranks.parquet"])
    def test_a_file_is_written_by_its_suffix(self, capsys: Captured, name: str) -> None:
        assert main(["export", name]) == 0
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith(f"wrote {name}, 6 rows\nimportance: estimated")
        found = as_json(capsys, "export", name, "--force")
        assert found.pop("importance").startswith("estimated")
        size = Path(name).stat().st_size
        assert found == {"file": name, "bytes": size, "rows": 6, "left_out": 0}

    @pytest.mark.parametrize(("answer", "exit_code"), [("y\n", 0), ("n\n", 130)])
    def test_on_a_terminal_it_asks_before_it_replaces_a_file(
        self,
        typed: Callable[[str], None],
        on_terminal: Callable[..., None],
        answer: str,
        exit_code: int,
    ) -> None:
        Path("ranks.csv").write_text("mine")
        typed(answer)
        on_terminal("stdin", "stderr")
        assert main(["export", "ranks.csv"]) == exit_code
        assert (Path("ranks.csv").read_text() == "mine") == bool(exit_code)

    def test_stdout_gets_csv_unless_a_format_is_named(self, capsys: Captured) -> None:
        """Pages with noindex are exported and marked."""
        lines = list(csv.DictReader(io.StringIO(printed(capsys, "export", "-"))))
        assert list(lines[0]) == list(COLUMNS)
        noindex = {line["url"]: line["noindex"] for line in lines}
        assert (noindex[A], noindex[B], noindex[DEEP]) == ("False", "True", "")
        rows = printed(capsys, "export", "-", "--format", "jsonl").splitlines()
        assert [json.loads(row)["url"] for row in rows] == [line["url"] for line in lines]


class TestStatus:
    def test_the_graph_may_be_of_the_crawled_or_the_known_pages(self, capsys: Captured) -> None:
        graph = as_json(capsys, "status")["graph"]
        described = (graph["graph_of"], graph["basis"], graph["outline"]["nodes"])
        assert described == ("crawled", "batch", 2)
        known = as_json(capsys, "status", "--graph-of", "known")
        assert known["graph"]["outline"]["nodes"] == 6

    @pytest.mark.slow
    def test_a_large_graph_is_measured_only_on_request(self, capsys: Captured, store: Path) -> None:
        grow(store)
        assert as_json(capsys, "status")["graph"] is None
        assert "graph of" not in printed(capsys, "status")
        found = as_json(capsys, "status", "--graph")
        assert found["graph"]["outline"]["nodes"] == 2
        with reading(store) as connection:
            kept = sampled_now(store)
            assert kept is not None
            estimated = replace(kept.outline, is_exact=False, mean_distance=1.25)
            sample = replace(kept, basis=Basis.EXACT, outline=estimated)
            keep_sample(store, connection, sample)
        assert as_json(capsys, "status")["graph"]["basis"] == "exact"
        shown = printed(capsys, "status")
        assert "graph of crawled pages" in shown
        assert re.search("mean distance +1.25 .*from some nodes\n", shown)
        assert re.search("diameter +at least 1\n", shown)

    @pytest.mark.slow
    def test_an_older_sample_of_the_graph_is_shown_only_for_a_large_graph(
        self, capsys: Captured, store: Path
    ) -> None:
        now = sampled_now(store)
        assert now is not None
        stale = replace(now, step=now.step - 1, crawled=1, outline=replace(now.outline, nodes=1))
        with reading(store) as connection:
            keep_sample(store, connection, stale)
        found = as_json(capsys, "status")
        assert found["graph"]["outline"]["nodes"] == found["graph"]["crawled"] == 2
        grow(store)
        found = as_json(capsys, "status")
        assert found["graph"]["crawled"] == 1, "of too many pages the last sample is shown"
        assert "1 crawled" in printed(capsys, "status")

    def test_failures_and_running_time_are_shown(self, capsys: Captured) -> None:
        shown = printed(capsys, "status")
        assert "resume with" not in shown  # a store made by hand knows no command
        assert "1 (not-found 1)" in shown
        assert "0:00:02" in shown

    def test_missing_counters_are_shown_as_dashes(self, capsys: Captured, store: Path) -> None:
        with closing(sqlite3.connect(store)) as connection, connection:
            connection.execute("DELETE FROM meta WHERE name = 'counters'")
        above, _, _ = printed(capsys, "status").partition("\n\n")
        shown = dict(line.split("  ", 1) for line in above.splitlines())
        assert shown.pop("pages known").strip() == "6 on 3 hosts"
        assert shown.pop("store").strip().startswith("crawl.db, ")
        assert shown.pop("G").strip() == "-, error factor M/G -"
        assert shown.pop("importance").strip().startswith("estimated")
        assert shown.pop("linked").strip().startswith("5 (alive 2,")
        assert {value.strip() for value in shown.values()} == {"-"}

    def test_mirrors_are_shown_on_request(self, capsys: Captured, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "twins.db")) as crawl:
            pages = [f"http://{host}.example/{number}" for host in "ab" for number in range(5)]
            crawl.seeds(pages)
            for page in pages:
                crawl.read(page)
            crawl.batch.mirrors += [(1, 0)] * 5
        twins = "--store", "twins.db"
        line = "http://b.example mirrors http://a.example (5 pages)"
        assert line in printed(capsys, "status", "--mirrors", *twins)
        assert line not in printed(capsys, "status", *twins)
        found = as_json(capsys, "status", "--mirrors", *twins)
        assert found["mirrors"] == [
            {"host": "http://b.example", "of_host": "http://a.example", "pages": 5}
        ]


class TestCheck:
    def test_damage_is_reported_with_exit_code_1(self, capsys: Captured, store: Path) -> None:
        with closing(sqlite3.connect(store)) as connection, connection:
            connection.execute("UPDATE frontier SET key = key + 7 WHERE id = 0")
        assert printed(capsys, "check", code=1) == "books: -7 atoms of cash missing\n"
        assert as_json(capsys, "check", code=1)["ok"] is False


class TestLinks:
    def test_people_see_the_number_of_pages_and_the_best(self, capsys: Captured) -> None:
        lines = printed(capsys, "backlinks", MOVED, "--n", "1").splitlines()
        assert lines[:3] == [f"url         {MOVED}", f"stands for  {A}", "pages       2"]
        assert lines[4].split() == ["importance", "state", "url"]
        assert lines[5].split()[2:] == ["fetched", B]
        assert len(lines) == 6
        assert printed(capsys, "links", DEEP) == f"url    {DEEP}\npages  0\n"

    @pytest.mark.slow
    def test_json_has_all_pages(self, capsys: Captured) -> None:
        found = as_json(capsys, "links", A)
        pages = found.pop("pages")
        assert found == {"url": A, "stands_for": None, "count": 2}
        assert {page["url"] for page in pages} == {B, DEEP}
        assert set(pages[0]) == {"url", "importance", "state"}

    def test_raw_backlinks_name_the_redirect_to_which_they_link(self, capsys: Captured) -> None:
        columns, *rows = printed(capsys, "backlinks", A, "--raw", "-n", "0").splitlines()
        assert columns.split() == ["state", "source", "target"]
        assert [A, MOVED] in [row.split()[1:] for row in rows]


class TestExplain:
    def test_a_failed_page_is_explained(self, capsys: Captured) -> None:
        shown = printed(capsys, "explain", GONE)
        assert "its requests failed: not-found" in shown
        assert "given" in shown
        assert "never" in shown

    def test_a_page_is_shown_with_its_original_url(self, capsys: Captured, tmp_path: Path) -> None:
        with closing(HandCrawl(tmp_path / "new.db")) as crawl:
            crawl.seeds([A])
            crawl.batch.originals = [(0, f"{A}?gclid=\x1b1")]
        shown = printed(capsys, "explain", A, "--store", "new.db")
        assert shown.splitlines()[1].split() == ["original", "url", f"{A}?gclid=\\x1b1"]
        found = as_json(capsys, "explain", A, "--store", "new.db")
        assert found["original"] == f"{A}?gclid=\x1b1"


def test_tables_of_kinds_hosts_and_pages_are_shown(capsys: Captured) -> None:
    kinds, hosts, pages = printed(capsys, "errors").split("\n\n")
    assert [line.split()[:4] for line in kinds.splitlines()] == [
        ["pages", "requests", "share", "kind"],
        ["1", "1", "25.0%", "not-found"],
    ]
    assert hosts.splitlines()[1].split() == ["1", "not-found", "http://b.example", "404"]
    assert pages.splitlines()[1].split() == [
        *("2027-01-15", "08:00", "-", "not-found", GONE, "404")
    ]
    assert printed(capsys, "errors", "--kind", "reset", "--kind", "robots") == "no failures\n"
    found = as_json(capsys, "errors", "--kind", "reset")
    assert found == {"kinds": [], "hosts": [], "pages": []}


class TestStores:
    @pytest.mark.parametrize("name", ["new/deep", "new/deep/"])
    def test_a_new_folder_of_a_moved_store_is_reported(self, capsys: Captured, name: str) -> None:
        folder, file = ("new/deep", "crawl.db") if name.endswith("/") else ("new", "deep")
        out = printed(capsys, "move", name, said=f"made the folder {folder}\n")
        assert out.splitlines()[-1] == f"{folder}/{file}"


class TestLists:
    def test_pages_have_the_chosen_columns(self, capsys: Captured) -> None:
        columns = ("--columns", "url,status", "--state", "not-found")
        assert printed(capsys, "pages", *columns, "--csv") == f"url,status\n{GONE},\n"
        assert as_json(capsys, "pages", *columns) == [{"url": GONE, "status": None}]
        assert printed(capsys, "pages", *columns).splitlines() == ["status  url", f"     -  {GONE}"]

    def test_broken_links_have_source_target_and_state(self, capsys: Captured) -> None:
        (row,) = as_json(capsys, "broken")
        assert (row["source"], row["target"], row["state"]) == (B, GONE, "not-found")
        assert B in printed(capsys, "broken")
        _, line = printed(capsys, "broken", "--csv").splitlines()
        assert line == f"1,,not-found,{GONE},{B},,,dead,link"

    def test_an_empty_list_is_printed_as_none_or_as_no_rows(self, capsys: Captured) -> None:
        assert printed(capsys, "duplicates") == "none\n"
        assert as_json(capsys, "duplicates") == []
        assert len(printed(capsys, "duplicates", "--csv").splitlines()) == 1

    def test_the_number_of_omitted_rows_is_shown(self, tmp_path: Path, capsys: Captured) -> None:
        with closing(HandCrawl(tmp_path / "new.db")) as crawl:
            crawl.seeds([A], endowment=1)
            crawl.read(A, [DEEP, GONE])
            crawl.ended(DEEP, State.NOT_FOUND)
            crawl.ended(GONE, State.NOT_FOUND)
        shown = printed(capsys, "broken", "--n", "1", "--store", "new.db")
        assert shown.endswith("1 more row: --n 0 shows all\n")

    def test_with_exit_code_a_list_that_is_not_empty_exits_with_1(self, capsys: Captured) -> None:
        assert GONE in printed(capsys, "broken", "--exit-code", code=1)
        assert printed(capsys, "broken", code=0)
        assert printed(capsys, "duplicates", "--exit-code", code=0) == "none\n"
