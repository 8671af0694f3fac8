"""The picture of the README: frames of a recorded terminal, drawn as one SVG."""

from xml.etree import ElementTree

from tests.picture import PICTURE, frames

ERASE = "\r\x1b[2K\x1b[1A\x1b[2K"
RECORDED = (
    "\x1b[?25l\x1b[1;36mpages\x1b[0m  1 of 3\n"
    f"{ERASE}\x1b[1;36mpages\x1b[0m  2 of 3\n"
    f"{ERASE}\x1b[?25hthe budget is spent\n"
)


def test_a_recording_is_split_into_drawings_of_the_panel_and_the_final_output() -> None:
    assert frames(RECORDED) == [
        "\x1b[1;36mpages\x1b[0m  1 of 3",
        "\x1b[1;36mpages\x1b[0m  2 of 3",
        "the budget is spent",
    ]


def test_the_picture_fetches_nothing_from_elsewhere() -> None:
    picture = PICTURE.read_text(encoding="utf-8")
    ElementTree.fromstring(picture)
    assert picture.count("http://www.w3.org/2000/svg") == 1
    assert "url(http" not in picture
    assert "href" not in picture
