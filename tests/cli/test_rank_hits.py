"""`minicrawl rank hits`, `communities`, `harmonic` and `sites`, and guards of all ranks."""

import io
import json
import math
from pathlib import Path
from typing import Any

import networkx
import pytest

from minicrawl.cli import main
from minicrawl.search.commands import bring_index_up_to_date
from minicrawl.store.derived import beside, kept_ranks, reading_beside
from minicrawl.store.reader import reading
from tests.cli import calls
from tests.cli.calls import Captured, as_json, printed
from tests.search.stored.stores import read_into
from tests.stores import DEEP, A, B, filled_store

# Kleinberg's worked example: q1, q2, q3 link to p1 and p2.
EXAMPLE = "1 10\n1 20\n2 10\n3 10\n3 20\n10 1\n"
FAR = "." * 60
"""Separator that is longer than the neighbourhood of a link."""
URLS = (
    "source,target\n"
    "http://a.org/1,http://b.org/\n"
    "http://a.org/2,http://b.org/\n"
    "http://www.a.org/,http://b.org/\n"
    "http://a.org/1,http://a.org/2\n"
    "http://b.org/,http://c.org/\n"
    "http://d.org/,http://c.org/\n"
)


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "example.txt"
    path.write_text(EXAMPLE)
    return path


@pytest.fixture
def urls(tmp_path: Path) -> Path:
    path = tmp_path / "urls.csv"
    path.write_text(URLS)
    return path


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return filled_store(tmp_path / "crawl.db")


def ranked(capsys: Captured, *arguments: str | Path) -> Any:
    assert main(["rank", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def imported(capsys: Captured, graph: Path, store: Path) -> Path:
    printed(capsys, "import", graph, "--store", store)
    return store


def refusal(capsys: Captured, *arguments: str | Path) -> str:
    return calls.refusal(capsys, "rank", *arguments)


def kept(store: Path) -> dict[str, Any]:
    """Return the options of each kept rank."""
    with reading(store) as connection, reading_beside(store, connection) as derived:
        return {row.name: json.loads(row.options) for row in kept_ranks(derived)}


def scores(document: Any) -> dict[str, float]:
    return {score["node"]: score["score"] for score in document["scores"]}


def lengths_one(document: Any) -> dict[str, float]:
    found = scores(document)
    length = math.sqrt(sum(score**2 for score in found.values()))
    return {node: score / length for node, score in found.items()}


class TestHits:
    def test_two_rounds_give_scores_computed_by_hand(self, example: Path, capsys: Captured) -> None:
        found = ranked(capsys, "hits", "--rounds", "2", "--graph", example)
        assert (found["rank"], found["iterations"]) == ("hits-authorities", 2)
        authorities, hubs = lengths_one(found), lengths_one(found["others"][0])
        assert authorities["10"] == pytest.approx(0.791155, abs=5e-7)
        assert authorities["20"] == pytest.approx(0.608581, abs=5e-7)
        assert hubs["1"] == pytest.approx(0.656340, abs=5e-7)

    def test_without_rounds_scores_converge(self, example: Path, capsys: Captured) -> None:
        found = ranked(capsys, "hits", "--graph", example)
        assert found["error_bound"] <= 1e-8
        assert sum(scores(found).values()) == pytest.approx(1)
        assert lengths_one(found)["10"] == pytest.approx(0.788205, abs=5e-7)

    @pytest.mark.parametrize("form", [("--random", "0.2"), ("--subspace", "2")])
    def test_stable_forms_rank_all_nodes(
        self, example: Path, capsys: Captured, form: tuple[str, str]
    ) -> None:
        found = ranked(capsys, "hits", *form, "--graph", example)
        assert len(found["scores"]) == 5
        assert sum(scores(found).values()) == pytest.approx(1)
        assert found["error_bound"] <= 1e-8

    def test_two_forms_cannot_be_combined(self, example: Path, capsys: Captured) -> None:
        found = refusal(capsys, "hits", "--rounds=3", "--random=0.1", "--graph", example)
        assert "cannot be combined" in found

    def test_a_subspace_has_at_most_100_dimensions(self, example: Path, capsys: Captured) -> None:
        line = refusal(capsys, "hits", "--subspace=101", f"--graph={example}")
        assert "101 is not in the range 1<=x<=100" in line

    @pytest.mark.parametrize(("dimensions", "is_clear"), [(1, False), (2, True)])
    def test_a_subspace_that_splits_equal_eigenvalues_is_reported(
        self, tmp_path: Path, capsys: Captured, dimensions: int, is_clear: bool
    ) -> None:
        path = tmp_path / "twins.txt"
        path.write_text("1 2\n3 4\n")
        assert main(["rank", "hits", f"--subspace={dimensions}", f"--graph={path}"]) == 0
        out, err = capsys.readouterr()
        assert ("--subspace" not in err) is is_clear
        assert ("not converged" not in out) is is_clear

    def test_both_ranks_of_a_store_are_kept(self, store: Path, capsys: Captured) -> None:
        ranked(capsys, "hits", "--store", store)
        assert list(kept(store)) == ["hits-authorities", "hits-hubs"]


class TestBaseSet:
    def test_a_base_set_grows_from_a_list_and_unknown_names_are_shown(
        self, urls: Path, tmp_path: Path, capsys: Captured
    ) -> None:
        roots = tmp_path / "roots.txt"
        roots.write_text(
            "http://c.org/\n# unknown\nhttp://nowhere.org/\x1b[31m\n", encoding="utf-8-sig"
        )
        assert main(["rank", "hits", f"--root={roots}", f"--graph={urls}", "--json"]) == 0
        out, err = capsys.readouterr()
        assert err == (
            f"{roots}: skipped names that are not in the graph: 'http://nowhere.org/\\x1b[31m'\n"
            "base set: 3 nodes and 2 links, from 1 root\n"
        )
        found = scores(json.loads(out))
        assert found.pop("http://c.org/") == pytest.approx(1)
        assert {*found.values()} == {0.0}
        assert len(found) == 5

    def test_many_unknown_names_are_counted(
        self, urls: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        unknown = "".join(f"http://nowhere{number}.org/\n" for number in range(13))
        monkeypatch.setattr("sys.stdin", io.StringIO(f"http://c.org/\n{unknown}"))
        assert main(["rank", "hits", "--root=-", f"--graph={urls}"]) == 0
        assert "and 3 more\n" in capsys.readouterr().err

    def test_linking_limits_the_nodes_that_link_to_a_root(
        self, urls: Path, tmp_path: Path, capsys: Captured
    ) -> None:
        roots = tmp_path / "roots.txt"
        roots.write_text("http://b.org/\n")
        options = (f"--root={roots}", "--linking=1", f"--graph={urls}")
        assert main(["rank", "hits", *options]) == 0
        assert "base set: 3 nodes and 2 links" in capsys.readouterr().err

    def test_a_base_set_grows_from_a_search_of_titles(self, store: Path, capsys: Captured) -> None:
        found = ranked(capsys, "hits", "--query", "deep", "--store", store)
        assert scores(found)[DEEP] > 0
        assert sum(scores(found).values()) == pytest.approx(1)

    def test_roots_limits_the_results_of_a_search(self, store: Path, capsys: Captured) -> None:
        options = ("--query", "http", "--roots", "1", "--store", str(store))
        assert main(["rank", "hits", *options]) == 0
        assert "from 1 root" in capsys.readouterr().err

    @pytest.mark.parametrize("words", ["nowhere", "", "http nowhere"])
    def test_a_search_without_result_is_refused(
        self, store: Path, capsys: Captured, words: str
    ) -> None:
        assert "fewer words" in refusal(capsys, "hits", "--query", words, "--store", store)
        assert not beside(store).exists()

    def test_a_graph_file_cannot_be_searched(self, urls: Path, capsys: Captured) -> None:
        assert "use --root" in refusal(capsys, "hits", "--query", "b", "--graph", urls)

    def test_a_list_without_a_known_node_is_refused(
        self, urls: Path, tmp_path: Path, capsys: Captured
    ) -> None:
        roots = tmp_path / "roots.txt"
        roots.write_text("http://nowhere.org/\n")
        found = refusal(capsys, "hits", "--root", roots, "--graph", urls)
        assert "names no node of the graph" in found

    def test_two_root_sets_are_refused(self, urls: Path, capsys: Captured) -> None:
        found = refusal(capsys, "hits", f"--root={urls}", "--query=b", "--graph", urls)
        assert "cannot be combined" in found


class TestWords:
    def test_links_weigh_by_the_words_near_them(self, tmp_path: Path, capsys: Captured) -> None:
        path, (home, quay, pier) = tmp_path / "crawl.db", (f"{A}{name}" for name in "xyz")
        far = FAR
        body = f"<title>harbours</title>{far}Old harbour: <a href={quay}>the museum</a>{far}"
        link = f"<a href={pier}>a pier</a>{far}<a href={quay}>here</a>"
        read_into(path, {home: f"{body}{link}".encode(), quay: b"", pier: b""})
        asked = ("hits", "--query", "harbours", "--store", path)
        plain = scores(ranked(capsys, *asked))
        assert plain[quay] == pytest.approx(plain[pier])
        worded = ("hits", "--words", "--query", "harbours harbour museum", "--store", path)
        assert "no page has" in refusal(capsys, *worded)
        bring_index_up_to_date(path)
        found = scores(ranked(capsys, *worded))
        # By hand: the museum has two of the words in or near its link, the pier has none.
        assert found[quay] == pytest.approx(3 * found[pier])

    def test_a_word_counts_as_often_as_it_occurs(self, tmp_path: Path, capsys: Captured) -> None:
        path, (home, song, shop) = tmp_path / "crawl.db", (f"{A}{name}" for name in "xyz")
        link = f"music music music <a href={song}>music music</a>"
        body = f"{link}{FAR}<a href={shop}>shop</a>".encode()
        read_into(path, {home: f"<title>music</title>{FAR} ".encode() + body, song: b"", shop: b""})
        found = scores(ranked(capsys, "hits", "--words", "--query", "music", "--store", path))
        assert found[song] == pytest.approx(6 * found[shop])

    def test_a_list_has_roots_and_a_query_words(self, tmp_path: Path, capsys: Captured) -> None:
        path, (home, quay, pier) = tmp_path / "crawl.db", (f"{A}{name}" for name in "xyz")
        body = f"<a href={quay}>harbour</a>{FAR}<a href={pier}>a pier</a>"
        read_into(path, {home: body.encode(), quay: b"", pier: b""})
        roots = tmp_path / "roots.txt"
        roots.write_text(f"{home}\n")
        asked = ("hits", "--words", "--root", roots, "--query", "harbour", "--store", path)
        found = scores(ranked(capsys, *asked))
        assert found[quay] == pytest.approx(2 * found[pier])

    def test_a_query_beside_a_list_needs_kept_pages(
        self, store: Path, tmp_path: Path, capsys: Captured
    ) -> None:
        roots = tmp_path / "roots.txt"
        roots.write_text(f"{A}\n")
        asked = ("hits", "--words", "--root", roots, "--query", "x", "--store", store)
        assert "crawl --keep pages" in refusal(capsys, *asked)

    def test_without_an_index_it_names_the_command_that_makes_one(
        self, store: Path, capsys: Captured
    ) -> None:
        asked = ("hits", "--query", "nowhere", "--store", store)
        assert "`minicrawl index`" in refusal(capsys, *asked)

    def test_a_query_that_no_link_has_is_refused(self, tmp_path: Path, capsys: Captured) -> None:
        path = tmp_path / "crawl.db"
        read_into(path, {A: f"<title>harbours</title>{FAR}<a href={B}>x</a>".encode(), B: b""})
        asked = ("rank", "hits", "--words", "--query", "harbours", "--store", str(path))
        assert main([*asked]) == 2
        assert "in the pages kept" in capsys.readouterr().err

    def test_words_need_a_query(self, store: Path, capsys: Captured) -> None:
        assert "--query" in refusal(capsys, "hits", "--words", "--store", store)

    def test_a_graph_file_has_no_words(self, urls: Path, capsys: Captured) -> None:
        assert "needs a store" in refusal(capsys, "hits", "--words", "--graph", urls)


class TestGuards:
    def test_internal_links_can_be_dropped(self, urls: Path, capsys: Captured) -> None:
        found = ranked(capsys, "degree", "--weight", "internal=0", "--graph", urls)
        assert found["edges"] == 5
        assert scores(found)["http://a.org/2"] == 0

    def test_domain_cap_limits_the_links_of_a_site(self, urls: Path, capsys: Captured) -> None:
        found = ranked(capsys, "degree", "--domain-cap", "1", "--graph", urls)
        assert scores(found)["http://b.org/"] == pytest.approx(1 / 4)

    def test_intra_cap_limits_links_within_a_site(self, urls: Path, capsys: Captured) -> None:
        found = ranked(capsys, "degree", "--intra-cap", "0", "--graph", urls)
        assert found["edges"] == 5
        assert scores(found)["http://b.org/"] == pytest.approx(3 / 5)

    def test_transverse_links_can_count_more(self, urls: Path, capsys: Captured) -> None:
        found = ranked(
            capsys, "degree", "--weight=transverse=2", "--weight=internal=5", "--graph", urls
        )
        assert scores(found)["http://a.org/2"] == pytest.approx(5 / 15)

    def test_guards_are_kept_with_the_rank(self, store: Path, capsys: Captured) -> None:
        ranked(capsys, "degree", "--domain-cap", "7", "--store", store)
        assert kept(store) == {"degree": {"direction": "in", "most_of_site": 7}}

    @pytest.mark.parametrize("weight", ["internal", "internal=x", "other=1", "=1", ""])
    def test_an_invalid_weight_is_refused(self, urls: Path, capsys: Captured, weight: str) -> None:
        found = refusal(capsys, "degree", f"--weight={weight}", "--graph", urls)
        assert "use internal=W or transverse=W" in found

    def test_a_negative_weight_is_refused(self, urls: Path, capsys: Captured) -> None:
        found = refusal(capsys, "degree", "--weight=internal=-1", "--graph", urls)
        assert "weight of internal links -1" in found


class TestCommunities:
    @pytest.mark.parametrize("way", ["deflation", "destroying"])
    def test_each_community_has_its_hubs_and_authorities(
        self, tmp_path: Path, capsys: Captured, way: str
    ) -> None:
        path = tmp_path / "stars.txt"
        path.write_text("1 11\n1 12\n1 13\n2 21\n2 22\n")
        found = ranked(capsys, "communities", "--by", way, "--graph", path)
        assert (found["rank"], found["by"], found["edges"]) == ("communities", way, 5)
        assert [
            {member["node"] for member in community["hubs"] if member["score"] > 1e-6}
            for community in found["communities"]
        ] == [{"1"}, {"2"}]
        assert all(community["converged"] for community in found["communities"])

    def test_communities_of_a_store_are_kept_by_number_and_sign(
        self, tmp_path: Path, example: Path, capsys: Captured
    ) -> None:
        store = imported(capsys, example, tmp_path / "crawl.db")
        found = ranked(capsys, "communities", "--count=3", "--n=1", "--as=camps", "--store", store)
        assert found["rank"] == "camps"
        assert [f"{each['number']}{each['sign']}" for each in found["communities"]] == [
            *("1+", "2+", "3+", "3-"),
        ]
        options = kept(store)
        assert set(options) == {
            f"camps-{each}-{role}"
            for each in ("1", "2", "3", "3-minus")
            for role in ("authorities", "hubs")
        }
        assert options["camps-2-hubs"] == {"way": "deflation", "count": 3, "largest": 10}
        (best,) = as_json(capsys, "top", "--by=camps-3-minus-hubs", "--n=1", "--store", store)
        (hub,) = found["communities"][3]["hubs"]
        assert (best["url"], best["score"]) == (hub["node"], hub["score"])

    def test_a_table_lists_community_role_and_score(self, example: Path, capsys: Captured) -> None:
        assert main(["rank", "communities", "--count=1", "--n=1", f"--graph={example}"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0].split() == ["community", "role", "score", "node"]
        assert lines[1].split()[:2] == ["1+", "authority"]
        assert lines[-1] == "1 community by deflation"

    def test_communities_that_have_not_converged_are_named(
        self, example: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("minicrawl.ranks.hits._MOST_STEPS", 1)
        assert main(["rank", "communities", "--count=1", f"--graph={example}"]) == 0
        assert "; not converged: 1+" in capsys.readouterr().out


class TestHarmonic:
    def test_exact_walks(self, tmp_path: Path, capsys: Captured) -> None:
        path = tmp_path / "chain.txt"
        path.write_text("1 2\n2 3\n")
        found = scores(ranked(capsys, "harmonic", "--exact", "--graph", path))
        assert found == pytest.approx({"3": 0.6, "2": 0.4, "1": 0})

    def test_counters_have_a_standard_error(self, example: Path, capsys: Captured) -> None:
        found = ranked(capsys, "harmonic", "--precision", "8", "--graph", example)
        assert found["standard_error"] == pytest.approx(0.065)
        assert sum(scores(found).values()) == pytest.approx(1)

    def test_a_standard_error_is_not_shown_as_a_bound(
        self, example: Path, store: Path, capsys: Captured
    ) -> None:
        assert ranked(capsys, "harmonic", "--graph", example)["error_bound"] is None
        assert main(["rank", "harmonic", "--store", str(store)]) == 0
        caption = capsys.readouterr().out.splitlines()[-1]
        assert "standard error of a score 13.0%, not a bound" in caption
        assert "at most" not in caption
        assert main(["rank", "--store", str(store)]) == 0
        assert capsys.readouterr().out.splitlines()[1].split()[3] == "-"

    def test_exact_walks_are_exact(self, example: Path, capsys: Captured) -> None:
        found = ranked(capsys, "harmonic", "--exact", "--graph", example)
        assert found["error_bound"] == 0
        assert "standard_error" not in found

    def test_too_many_counters_are_refused(self, tmp_path: Path, capsys: Captured) -> None:
        path = tmp_path / "long.txt"
        path.write_text("".join(f"{node} {node + 1}\n" for node in range(100)))
        found = refusal(capsys, "harmonic", "--precision=16", "--memory=1", "--graph", path)
        assert "lower the precision or allow more memory" in found


class TestSites:
    def test_sites_are_ranked_by_links_between_them(self, urls: Path, capsys: Captured) -> None:
        found = ranked(capsys, "sites", "--graph", urls)
        assert (found["rank"], found["nodes"], found["edges"]) == ("sites", 4, 3)
        assert found["scores"][0]["node"] == "c.org"
        assert sum(scores(found).values()) == pytest.approx(1)

    def test_sites_have_their_weighted_pagerank(self, tmp_path: Path, capsys: Captured) -> None:
        path = tmp_path / "more.csv"
        path.write_text(URLS + "http://b.org/,http://d.org/\nhttp://b.org/2,http://d.org/\n")
        oracle = networkx.DiGraph()
        links = (("a", "b", 3), ("b", "c", 1), ("b", "d", 2), ("d", "c", 1))
        oracle.add_weighted_edges_from((f"{a}.org", f"{b}.org", weight) for a, b, weight in links)
        wanted = networkx.pagerank(oracle, alpha=0.5, tol=1e-12)
        found = ranked(capsys, "sites", "--damping=0.5", "--graph", path)
        assert scores(found) == pytest.approx(wanted, abs=1e-8)
        assert found["error_bound"] <= 1e-8

    def test_pages_can_be_counted_instead_of_links(self, urls: Path, capsys: Captured) -> None:
        assert ranked(capsys, "sites", "--count", "pages", "--graph", urls)["edges"] == 3

    def test_counted_by_cash_sites_have_the_importance_of_top(
        self, tmp_path: Path, urls: Path, capsys: Captured
    ) -> None:
        store = imported(capsys, urls, tmp_path / "crawl.db")
        by_cash = scores(ranked(capsys, "sites", "--count", "cash", "--store", store))
        found = as_json(capsys, "top", "--sites", "--store", store)
        assert {site["site"]: site["importance"] for site in found} == pytest.approx(by_cash)
        assert sum(by_cash.values()) == pytest.approx(1)

    def test_cash_needs_a_crawl_alone(self, urls: Path, store: Path, capsys: Captured) -> None:
        cash = ("sites", "--count", "cash")
        assert "a graph file has no cash" in refusal(capsys, *cash, "--graph", urls)
        assert "cannot be combined" in refusal(capsys, *cash, "--damping=0.5", "--store", store)

    def test_pages_of_a_site_share_its_kept_score_equally(
        self, tmp_path: Path, urls: Path, capsys: Captured
    ) -> None:
        store = imported(capsys, urls, tmp_path / "crawl.db")
        sites = scores(ranked(capsys, "sites", "--store", store))
        top = as_json(capsys, "top", "--by=sites", "--store", store)
        pages = {page["url"]: page["score"] for page in top}
        assert pages["http://a.org/1"] == pages["http://a.org/2"]
        assert pages["http://a.org/1"] == pytest.approx(sites["a.org"] / 3)
        found = as_json(capsys, "top", "--sites", "--by=sites", "--store", store)
        assert [site["site"] for site in found] == list(sites)
        assert {site["site"]: site["score"] for site in found} == pytest.approx(sites)

    def test_options_are_kept_with_the_rank(self, store: Path, capsys: Captured) -> None:
        options = ("--as=domains", "--count=pages", "--damping=0.5", "--domain-cap=2")
        ranked(capsys, "sites", *options, "--store", store)
        asked = kept(store)["domains"]
        assert (asked["count"], asked["damping"], asked["most_of_site"]) == ("pages", 0.5, 2)

    def test_a_single_site_is_refused(self, tmp_path: Path, capsys: Captured) -> None:
        path = tmp_path / "one.csv"
        path.write_text("source,target\nhttp://a.org/1,http://a.org/2\n")
        assert "no site links to another" in refusal(capsys, "sites", "--graph", path)
