"""Built-in scorers of pages."""

from pathlib import Path

import pytest

from minicrawl.crawl.workers.scoring import PageRead, scorers_of
from minicrawl.errors import UsageError

HARBOURS = "<p>The harbour of the town. " + "Boats lie in it, and nets dry. " * 3


def page(body: str = "", url: str = "http://a.example/", kind: str = "text/html") -> PageRead:
    return PageRead(url=url, status=200, headers={"content-type": kind}, body=body.encode(),
                    title="", links=(), encoding="utf-8")  # fmt: skip


def value(scorer: str, read: PageRead) -> float:
    (score,) = scorers_of([scorer])
    return score(read)


@pytest.mark.parametrize(
    ("scorer", "read", "least", "most"),
    [
        ("words:harbour, quay", page(HARBOURS), 1, 1),
        ("words:harbour", page(f"{HARBOURS}{'And more of it. ' * 40}"), 0.2, 0.4),
        ("words:harbour", page("<p>nothing of it", "http://a.example/Harbour"), 0.5, 0.5),
        ("words:harbour", page("harbour", kind="application/pdf"), 0, 0),
        ("words:harbour", page("harbour", kind="text/plain"), 1, 1),
        ("words:harbour", page(""), 0, 0),
        ("words:p", page("<p>no tag is a word"), 0, 0),
        ("url:/news/", page(url="http://a.example/news/1"), 1, 1),
        ("url:/news/", page(), 0, 0),
        ("type:application/pdf,image/*", page(kind="image/png; q=1"), 1, 1),
        ("type:application/pdf", page(), 0, 0),
    ],
)
def test_scorers_value_words_urls_and_types(
    scorer: str, read: PageRead, least: float, most: float
) -> None:
    assert least <= value(scorer, read) <= most


def test_likeness_is_that_of_the_most_similar_example(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.html", "b.html")]
    files[0].write_text(HARBOURS)
    files[1].write_text("<p>mountains and valleys")
    scorer = f"likeness:{files[0]},{files[1]}"
    assert value(scorer, page(HARBOURS)) == pytest.approx(1)
    assert 0.4 < value(scorer, page("<p>mountains and lakes")) < 0.9
    assert value(scorer, page("<p>nothing")) == 0


def test_a_page_in_a_wanted_language_has_value_1() -> None:
    pytest.importorskip("py3langid")
    german = page("<p>Der Hafen der Stadt liegt am Meer, und die Boote fahren am Morgen hinaus.")
    assert value("language:de,fr", german) == 1
    assert value("language:en", german) == 0


@pytest.mark.parametrize(
    ("scorer", "named"),
    [
        ("words", "words:harbour"),
        ("url:(", "url:("),
        ("url", "url:/"),
        ("type", "type:"),
        ("likeness:/none.html", "/none.html"),
        ("beauty:9", "beauty"),
    ],
)
def test_an_invalid_scorer_is_refused(scorer: str, named: str) -> None:
    with pytest.raises(UsageError) as refused:
        scorers_of([scorer])
    assert named in str(refused.value)
