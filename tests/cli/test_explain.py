"""`minicrawl backlinks` and `minicrawl links`."""

import pytest

from tests.cli.calls import Captured, as_json, printed
from tests.stores import DEEP, MOVED, A, B

pytestmark = pytest.mark.usefixtures("filled")


def test_people_see_the_number_of_pages_and_the_best(capsys: Captured) -> None:
    lines = printed(capsys, "backlinks", MOVED, "--n", "1").splitlines()
    assert lines[:3] == [f"url         {MOVED}", f"stands for  {A}", "pages       2"]
    assert lines[4].split() == ["importance", "state", "url"]
    assert lines[5].split()[2:] == ["fetched", B]
    assert len(lines) == 6


def test_a_page_without_links_has_no_list(capsys: Captured) -> None:
    assert printed(capsys, "links", DEEP) == f"url    {DEEP}\npages  0\n"


def test_json_has_all_pages(capsys: Captured) -> None:
    found = as_json(capsys, "links", A)
    pages = found.pop("pages")
    assert found == {"url": A, "stands_for": None, "count": 2}
    assert {page["url"] for page in pages} == {B, DEEP}
    assert set(pages[0]) == {"url", "importance", "state"}


def test_raw_backlinks_name_the_redirect_to_which_they_link(capsys: Captured) -> None:
    columns, *rows = printed(capsys, "backlinks", A, "--raw", "-n", "0").splitlines()
    assert columns.split() == ["state", "source", "target"]
    assert [A, MOVED] in [row.split()[1:] for row in rows]
