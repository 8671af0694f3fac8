"""`minicrawl rank hits`, `communities`, `harmonic` and `sites`, and guards of all ranks."""

import json
import math
from pathlib import Path
from typing import Any

import networkx
import pytest

from minicrawl.cli import main
from tests.cli.calls import Captured, as_json, printed, ranked, refusal, scores
from tests.search.stored.stores import read_into
from tests.stores import DEEP, A, B, filled_store

FAR = "." * 60
"""Separator that is longer than the neighbourhood of a link."""
EXAMPLE, URLS = ("--graph", "example.txt"), ("--graph", "urls.csv")
FILES = {
    # Kleinberg's worked example: q1, q2, q3 link to p1 and p2.
    "example.txt": "1 10\n1 20\n2 10\n3 10\n3 20\n10 1\n",
    "chain.txt": "1 2\n2 3\n",
    "stars.txt": "1 11\n1 12\n1 13\n2 21\n2 22\n",
    "twins.txt": "1 2\n3 4\n",
    "urls.csv": "source,target\n"
    "http://a.org/1,http://b.org/\n"
    "http://a.org/2,http://b.org/\n"
    "http://www.a.org/,http://b.org/\n"
    "http://a.org/1,http://a.org/2\n"
    "http://b.org/,http://c.org/\n"
    "http://d.org/,http://c.org/\n",
}


@pytest.fixture(autouse=True)
def _files(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINICRAWL_STORE", "crawl.db")
    for name, text in FILES.items():
        (place / name).write_text(text)


def kept(capsys: Captured) -> dict[str, Any]:
    """Return the options of each kept rank."""
    return {row["name"]: row["options"] for row in as_json(capsys, "rank")}


def lengths_one(document: Any) -> dict[str, float]:
    found = scores(document)
    length = math.sqrt(sum(score**2 for score in found.values()))
    return {node: score / length for node, score in found.items()}


class TestHits:
    def test_scores_are_those_computed_by_hand(self, capsys: Captured) -> None:
        found = ranked(capsys, "hits", "--rounds", "2", *EXAMPLE)
        assert (found["rank"], found["iterations"]) == ("hits-authorities", 2)
        authorities, hubs = lengths_one(found), lengths_one(found["others"][0])
        assert authorities["10"] == pytest.approx(0.791155, abs=5e-7)
        assert authorities["20"] == pytest.approx(0.608581, abs=5e-7)
        assert hubs["1"] == pytest.approx(0.656340, abs=5e-7)
        found = ranked(capsys, "hits", *EXAMPLE)
        assert found["error_bound"] <= 1e-8
        assert sum(scores(found).values()) == pytest.approx(1)
        assert lengths_one(found)["10"] == pytest.approx(0.788205, abs=5e-7)

    @pytest.mark.parametrize("form", [("--random", "0.2"), ("--subspace", "2")])
    def test_stable_forms_rank_all_nodes(self, capsys: Captured, form: tuple[str, str]) -> None:
        found = ranked(capsys, "hits", *form, *EXAMPLE)
        assert len(found["scores"]) == 5
        assert sum(scores(found).values()) == pytest.approx(1)
        assert found["error_bound"] <= 1e-8

    @pytest.mark.parametrize(("dimensions", "is_clear"), [(1, False), (2, True)])
    def test_a_subspace_that_splits_equal_eigenvalues_is_reported(
        self, capsys: Captured, dimensions: int, is_clear: bool
    ) -> None:
        assert main(["rank", "hits", f"--subspace={dimensions}", "--graph=twins.txt"]) == 0
        out, err = capsys.readouterr()
        assert ("--subspace" not in err) is is_clear
        assert ("not converged" not in out) is is_clear


class TestBaseSet:
    def test_a_base_set_grows_from_a_list_and_unknown_names_are_shown(
        self, capsys: Captured
    ) -> None:
        roots = "http://c.org/\n# unknown\nhttp://nowhere.org/\x1b[31m\n"
        Path("roots").write_text(roots, encoding="utf-8-sig")
        assert main(["rank", "hits", "--root=roots", *URLS, "--json"]) == 0
        out, err = capsys.readouterr()
        assert err == (
            "roots: skipped names that are not in the graph: 'http://nowhere.org/\\x1b[31m'\n"
            "base set: 3 nodes and 2 links, from 1 root\n"
        )
        found = scores(json.loads(out))
        assert found.pop("http://c.org/") == pytest.approx(1)
        assert {*found.values()} == {0.0}
        assert len(found) == 5

    def test_a_base_set_grows_from_a_search_of_titles(self, place: Path, capsys: Captured) -> None:
        filled_store(place / "crawl.db")
        found = scores(ranked(capsys, "hits", "--query", "deep"))
        assert found[DEEP] > 0
        assert sum(found.values()) == pytest.approx(1)
        assert list(kept(capsys)) == ["hits-authorities", "hits-hubs"]

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            (("--root=b", "--linking=1", *URLS), "base set: 3 nodes and 2 links"),
            (("--query=http", "--roots=1"), "from 1 root"),
        ],
    )
    def test_a_base_set_can_be_limited(
        self, options: tuple[str, ...], told: str, place: Path, capsys: Captured
    ) -> None:
        filled_store(place / "crawl.db")
        Path("b").write_text("http://b.org/\n")
        assert main(["rank", "hits", *options]) == 0
        assert told in capsys.readouterr().err


class TestWords:
    X, Y, Z = (f"{A}{name}" for name in "xyz")

    @pytest.mark.parametrize(
        ("body", "query", "factor"),
        [
            # The museum has two of the words in or near its link, the pier has none.
            (
                f"Old harbour: <a href={Y}>the museum</a>{FAR}<a href={Z}>a pier</a>{FAR}"
                f"<a href={Y}>here</a>",
                "title harbour museum",
                3,
            ),
            (
                f"music music music <a href={Y}>music music</a>{FAR}<a href={Z}>shop</a>",
                "title music",
                6,
            ),
        ],
        ids=["words", "how often"],
    )
    def test_links_weigh_by_the_words_near_them(
        self, body: str, query: str, factor: int, place: Path, capsys: Captured
    ) -> None:
        path = place / "crawl.db"
        read_into(
            path, {self.X: f"<title>title</title>{FAR} {body}".encode(), self.Y: b"", self.Z: b""}
        )
        plain = scores(ranked(capsys, "hits", "--query", "title"))
        assert plain[self.Y] == pytest.approx(plain[self.Z])
        words = ("hits", "--words", "--query")
        assert "no page has" in refusal(capsys, "rank", *words, query)
        assert main(["index", "--store", str(path)]) == 0
        found = scores(ranked(capsys, *words, query))
        assert found[self.Y] == pytest.approx(factor * found[self.Z])

    def test_a_list_has_roots_and_a_query_words(self, place: Path, capsys: Captured) -> None:
        body = f"<title>t</title>{FAR}<a href={B}>harbour</a>{FAR}<a href={self.Z}>a pier</a>"
        read_into(place / "crawl.db", {A: body.encode(), B: b"", self.Z: b""})
        Path("roots").write_text(f"{A}\n")
        found = scores(ranked(capsys, "hits", "--words", "--root", "roots", "--query", "harbour"))
        assert found[B] == pytest.approx(2 * found[self.Z])
        assert main(["rank", "hits", "--words", "--query", "t"]) == 2
        assert "in the pages kept" in capsys.readouterr().err, "no link has the word"


@pytest.mark.parametrize(
    ("guard", "edges", "node", "score"),
    [
        (("--weight=internal=0",), 5, "http://a.org/2", 0),
        (("--weight=transverse=2", "--weight=internal=5"), 6, "http://a.org/2", 5 / 15),
        (("--domain-cap=1",), 4, "http://b.org/", 1 / 4),
        (("--intra-cap=0",), 5, "http://b.org/", 3 / 5),
    ],
    ids=str,
)
def test_guards_weigh_or_drop_links(
    capsys: Captured, guard: tuple[str, ...], edges: int, node: str, score: float
) -> None:
    found = ranked(capsys, "degree", *guard, *URLS)
    assert found["edges"] == edges
    assert scores(found)[node] == pytest.approx(score)


class TestCommunities:
    @pytest.mark.parametrize("way", ["deflation", "destroying"])
    def test_each_community_has_its_hubs_and_authorities(self, capsys: Captured, way: str) -> None:
        found = ranked(capsys, "communities", "--by", way, "--graph", "stars.txt")
        assert (found["rank"], found["by"], found["edges"]) == ("communities", way, 5)
        assert [
            {member["node"] for member in community["hubs"] if member["score"] > 1e-6}
            for community in found["communities"]
        ] == [{"1"}, {"2"}]
        assert all(community["converged"] for community in found["communities"])

    def test_communities_of_a_store_are_kept_by_number_and_sign(self, capsys: Captured) -> None:
        printed(capsys, "import", "example.txt")
        found = ranked(capsys, "communities", "--count=3", "--n=1", "--as=camps")
        assert found["rank"] == "camps"
        assert [f"{each['number']}{each['sign']}" for each in found["communities"]] == [
            *("1+", "2+", "3+", "3-"),
        ]
        options = kept(capsys)
        assert set(options) == {
            f"camps-{each}-{role}"
            for each in ("1", "2", "3", "3-minus")
            for role in ("authorities", "hubs")
        }
        assert options["camps-2-hubs"] == {"way": "deflation", "count": 3, "largest": 10}
        (best,) = as_json(capsys, "top", "--by=camps-3-minus-hubs", "--n=1")
        (hub,) = found["communities"][3]["hubs"]
        assert (best["url"], best["score"]) == (hub["node"], hub["score"])

    def test_a_table_names_communities_that_have_not_converged(
        self, place: Path, capsys: Captured
    ) -> None:
        command = ["rank", "communities", "--count=1", "--n=1"]
        lines = printed(capsys, *command, *EXAMPLE).splitlines()
        assert lines[0].split() == ["community", "role", "score", "node"]
        assert lines[1].split()[:2] == ["1+", "authority"]
        assert lines[-1] == "1 community by deflation"
        # Many pages in a row: each shares one of its two links with the next.
        row = "".join(f"{page} {page}0\n{page} {page + 1}0\n" for page in range(1, 3000))
        (place / "row.txt").write_text(row)
        assert "; not converged: 1+" in printed(capsys, *command, "--graph", "row.txt")


class TestHarmonic:
    def test_exact_walks_have_no_error(self, capsys: Captured) -> None:
        found = ranked(capsys, "harmonic", "--exact", "--graph", "chain.txt")
        assert scores(found) == pytest.approx({"3": 0.6, "2": 0.4, "1": 0})
        assert (found["error_bound"], found.get("standard_error")) == (0, None)

    def test_a_standard_error_is_not_shown_as_a_bound(self, place: Path, capsys: Captured) -> None:
        found = ranked(capsys, "harmonic", "--precision", "8", *EXAMPLE)
        assert found["error_bound"] is None
        assert found["standard_error"] == pytest.approx(0.065)
        assert sum(scores(found).values()) == pytest.approx(1)
        filled_store(place / "crawl.db")
        caption = printed(capsys, "rank", "harmonic").splitlines()[-1]
        assert "standard error of a score 13.0%, not a bound" in caption
        assert "at most" not in caption
        assert printed(capsys, "rank").splitlines()[1].split()[3] == "-"


class TestSites:
    def test_sites_have_their_weighted_pagerank(self, capsys: Captured) -> None:
        more = "http://b.org/,http://d.org/\nhttp://b.org/2,http://d.org/\n"
        Path("more.csv").write_text(FILES["urls.csv"] + more)
        oracle = networkx.DiGraph()
        links = (("a", "b", 3), ("b", "c", 1), ("b", "d", 2), ("d", "c", 1))
        oracle.add_weighted_edges_from((f"{a}.org", f"{b}.org", weight) for a, b, weight in links)
        wanted = networkx.pagerank(oracle, alpha=0.5, tol=1e-12)
        found = ranked(capsys, "sites", "--damping=0.5", "--graph", "more.csv")
        assert (found["rank"], found["nodes"], found["edges"]) == ("sites", 4, 4)
        assert scores(found) == pytest.approx(wanted, abs=1e-8)
        assert found["error_bound"] <= 1e-8

    def test_counted_by_cash_sites_have_the_importance_of_top(self, capsys: Captured) -> None:
        printed(capsys, "import", "urls.csv")
        by_cash = scores(ranked(capsys, "sites", "--count", "cash"))
        found = as_json(capsys, "top", "--sites")
        assert {site["site"]: site["importance"] for site in found} == pytest.approx(by_cash)
        assert sum(by_cash.values()) == pytest.approx(1)

    def test_pages_of_a_site_share_its_kept_score_equally(self, capsys: Captured) -> None:
        printed(capsys, "import", "urls.csv")
        sites = scores(ranked(capsys, "sites"))
        pages = {page["url"]: page["score"] for page in as_json(capsys, "top", "--by=sites")}
        assert pages["http://a.org/1"] == pages["http://a.org/2"]
        assert pages["http://a.org/1"] == pytest.approx(sites["a.org"] / 3)
        found = as_json(capsys, "top", "--sites", "--by=sites")
        assert [site["site"] for site in found] == list(sites)
        assert {site["site"]: site["score"] for site in found} == pytest.approx(sites)
        ranked(capsys, "sites", "--as=domains", "--count=pages", "--damping=0.5", "--domain-cap=2")
        asked = kept(capsys)["domains"]
        assert (asked["count"], asked["damping"], asked["most_of_site"]) == ("pages", 0.5, 2)
