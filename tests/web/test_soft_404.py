"""Soft 404s are recognized by their likeness to the missing pages of their folder."""

from collections.abc import Callable, Iterable
from os import environ

import pytest

from minicrawl.web.responses.soft_404 import (
    MissingPage,
    asks_for_password,
    is_missing_sibling,
    missing_siblings,
)
from tests.linear_time import TIMES, expect_linear
from tests.shared import Absent
from tests.web.soft_404.figures import by_kind, judged, precision, recall
from tests.web.soft_404.made import Case, cases
from tests.web.soft_404.recorded import manuals, pages

FOLDER = "http://a.example/"
OTHERS = {
    f"{FOLDER}{name}": f"Shop\nContact\nImprint\nA {name}" for name in ("lamp", "chair", "rug")
}
ONE, OTHER = missing_siblings(FOLDER)


def missing_page(text: str, home: str = "", others: Iterable[dict[str, str]] = ()) -> MissingPage:
    """Return a missing page with a text in which {url}, {name} and {number} vary."""
    missing = {
        url: text.format(url=url, name=url.rpartition("/")[2], number=number)
        for number, url in enumerate((ONE, OTHER))
    }
    return MissingPage(missing, home, others or [OTHERS])


MISSING = "Shop\nThis page does not exist.\n{name} was not found\nAt 10:0{number}\nImprint"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Shop\nThis page  does not EXIST.\nold-offer was not found\nAt 9:15\nContact", True),
        ("Shop\nOld offer\nThis page does not exist.\nOld offer was not found\nAt 1:30", True),
        ("Shop\nThis page does not exist.\n/a/old_offer.html was not found\nAt 1:30", True),
        ("Shop\nContact\nImprint", False),
        ("Shop\nThis page does not exist. Or does it? An essay.\nContact", False),
        ("This page does not exist.\nAt 9:15\n" + "an essay about it " * 5, False),
        ("This page does not exist.\nAt 9:15\n" + "これは長い文章です。" * 5, False),
        ("At 9:15\nThe clock of the shop", False),
        ("", False),
    ],
)
def test_pages_like_the_missing_page_are_soft_404s(text: str, expected: bool) -> None:
    assert missing_page(MISSING).is_like(f"{FOLDER}old-offer.html", text) is expected


@pytest.mark.parametrize("text", ["Shop\nContact\nImprint", "Shop\n{name}", "Shop\nOh", "{url}"])
def test_a_missing_page_without_words_of_its_own_proves_nothing(text: str) -> None:
    page = missing_page(text)
    assert not page.is_like(f"{FOLDER}gone", text.format(url=f"{FOLDER}gone", name="gone"))


def test_a_soft_404_has_the_first_line_of_the_missing_page() -> None:
    popular = "\n".join(f"Read about {name}" for name in ("lamps", "chairs", "rugs", "beds"))
    page = missing_page(f"Shop\nNothing is here\n{popular}\nImprint")
    for first, expected in (("Nothing is here", True), ("What others read", False)):
        assert page.is_like(f"{FOLDER}list", f"Shop\n{first}\n{popular}\nImprint") is expected


def test_a_soft_404_may_have_as_many_other_words_as_missing_pages_vary() -> None:
    see = "\n".join(f"See {name} of oak" for name in ("lamps", "rugs", "mugs", "beds", "cups"))
    page = MissingPage({ONE: f"It is gone\n{see}", OTHER: "It is gone"}, "", [OTHERS])
    soft = see.replace("See", "Buy")
    assert page.is_like(f"{FOLDER}x", f"It is gone\n{soft}")
    assert not page.is_like(
        f"{FOLDER}x", f"It is gone\n{soft}\n{see.replace('See', 'An essay on')}"
    )


def test_a_home_page_in_place_of_missing_pages_proves_nothing() -> None:
    home = "Shop\nWelcome to the shop\nA lamp for you"
    assert not missing_page(home, home, [{FOLDER: home} | OTHERS]).is_like(f"{FOLDER}x", home)


def test_an_app_shell_for_a_whole_folder_proves_nothing() -> None:
    app = "Please enable JavaScript"
    of_folder = {f"{FOLDER}app/{name}": app for name in "abc"}
    assert not missing_page(app, "", [OTHERS, of_folder]).is_like(f"{FOLDER}app/d", app)


def test_a_soft_404_among_the_other_pages_is_still_one() -> None:
    soft = {f"{FOLDER}gone": "Shop\nThis page does not exist.\ngone was not found\nAt 9:15"}
    page = missing_page(MISSING, "", [OTHERS | soft])
    assert all(page.is_like(url, text) for url, text in soft.items())


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<input type=password name=word>", True),
        ("<INPUT name=word TYPE = 'Password'>", True),
        ("<input type=passwords>", False),
        ("<p>Choose a type of password", False),
    ],
)
def test_a_field_for_a_password_is_found(markup: str, expected: bool) -> None:
    assert asks_for_password(markup) is expected


def test_siblings_are_in_their_folder_and_differ() -> None:
    names = missing_siblings(FOLDER) + missing_siblings(f"{FOLDER}b/")
    assert all(name.startswith("http://a.example/no-such-page-") for name in names[:2])
    assert len({name.rpartition("/")[2] for name in names}) == len(names)
    assert missing_siblings(FOLDER) == [ONE, OTHER]
    assert all(map(is_missing_sibling, names))
    assert not is_missing_sibling(FOLDER)


HOSTILE: dict[str, tuple[int, str, Callable[[int], str]]] = {
    "lines": (1000, "x", lambda n: "a new line\n" * n),
    "different lines": (2500, "x", lambda n: "\n".join(f"{chr(0x4E00 + i)} x" for i in range(n))),
    "one line": (2500, "x", lambda n: "word " * n),
    "one word": (12_000, "a-a", lambda n: "a" * n),
    "the name": (2500, "-".join("a" * 999), lambda n: "a -- " * n),
    "marks": (12_000, "x", lambda n: "\0" * n),
}


@pytest.mark.parametrize(("count", "name", "text"), HOSTILE.values(), ids=HOSTILE)
def test_comparing_pages_takes_linear_time(
    count: int, name: str, text: Callable[[int], str]
) -> None:
    def work(size: int) -> None:
        page = text(size)
        MissingPage({ONE: page, OTHER: page}, page, [{FOLDER: page}]).is_like(FOLDER + name, page)

    expect_linear(lambda: work(count), lambda: work(TIMES * count))


LEAST_PRECISION, LEAST_RECALL = 0.98, 0.9


def of_pages(half: str) -> Iterable[Case]:
    try:
        return list(pages(half, environ))
    except Absent as absent:
        pytest.skip(str(absent))


@pytest.mark.parametrize("half", ["1", "2"], ids=["develop", "held out"])
class TestFigures:
    """Precision and recall, which `python -m tests.web.soft_404.figures` prints by kind."""

    def test_made_sites(self, half: str) -> None:
        found = judged(cases(half))
        assert len(found) >= 300
        wrong = [one.case.name for one in found if one.case.is_soft != one.is_called_soft]
        figures = "\n".join([*by_kind(found), "wrong:", *wrong])
        assert precision(found) >= LEAST_PRECISION, figures
        # A copy of the home page, and a message unlike those of missing pages, are not recognized.
        by_text = [one for one in found if one.case.kind not in ("home", "other words")]
        assert recall(by_text) >= LEAST_RECALL, figures

    @pytest.mark.slow
    @pytest.mark.large
    @pytest.mark.parametrize("recorded", [manuals, of_pages])
    def test_recorded_pages(self, half: str, recorded: Callable[[str], Iterable[Case]]) -> None:
        found = judged(recorded(half))
        if not found:
            pytest.skip("no manuals here")
        figures = "\n".join(by_kind(found))
        assert precision(found) >= LEAST_PRECISION, figures
        assert recall(found) >= LEAST_RECALL, figures
