"""The quality of a replay: shares of text and picture, the worst pages first."""

from minicrawl.archive.replay import DrawnPage, Replayed
from minicrawl.report.archived.replay_quality import PageQuality, html, quality, worst_first


def replayed(name: str, text: str, difference: float = 0.0, failed: int = 0) -> Replayed:
    recorded = DrawnPage("one two three four", b"before", ())
    lost = tuple(f"http://a.example/?<{number}>" for number in range(failed))
    drawing = DrawnPage(text, b"after", lost)
    return Replayed(f"http://a.example/{name}", recorded, drawing, difference)


def test_text_and_picture_are_compared_with_what_was_recorded() -> None:
    same = quality(replayed("same", "four three\ntwo one"))
    half = quality(replayed("half", "one two six seven", 0.25, 3))
    none = quality(replayed("none", ""))
    assert same == PageQuality("http://a.example/same", 1.0, 1.0, 0)
    assert half == PageQuality("http://a.example/half", 0.5, 0.75, 3)
    assert none.text == 0.0
    blank = DrawnPage("", b"", ())
    assert quality(Replayed("http://a.example/", blank, blank, 0.0)).text == 1.0


def test_the_worst_page_comes_first_and_nothing_of_it_is_markup() -> None:
    pages = [
        replayed("fine", "one two three four"),
        replayed("lacks", "one two three four", failed=2),
        replayed("looks<b>", "one two three four", 0.9),
        replayed("reads", "one"),
    ]
    rated = worst_first(pages)
    names = [row.url.rpartition("/")[2] for row, _ in rated]
    assert names == ["looks<b>", "reads", "lacks", "fine"]
    page = "".join(html(rated))
    assert page.index("looks&lt;b&gt;") < page.index("/reads") < page.index("/fine")
    assert "<b>" not in page
    assert page.count("<img ") == 2 * len(pages)
    assert page.count("<li>") == 2
    assert "http" not in page.replace("http://a.example/", "")
