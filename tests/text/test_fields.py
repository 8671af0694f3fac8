"""Fields of pages by selectors: by hand, in exports of every format, and in `page --field`."""

import csv
import io
import json
from pathlib import Path

import pytest

pytest.importorskip("selectolax")

from minicrawl.errors import UsageError
from minicrawl.text.fields import field
from tests.cli.calls import Captured, printed, refusal
from tests.text.stores import URLS, store_of

URL = URLS[0]
PAGE = """<title>T</title><meta property=og:title content="Green tea">
<script type="application/ld+json">{"@graph": [{"@type": "Product", "sku": 17,
"offers": [{"price": " "}, {"price": "4.90"}], "brand": {"name": "Hills"}}]}</script>
<div id=a><p class=price> 4.90  EUR <p>second</div><img class=photo src="/tea.png">
<p class=price>other</p><b>$<i>4</i>.90</b><script class=x>x = 1</script>
<ul><li>one<li>two<script>x = 2</script><li>more</ul>
<dl><div>$<i>12</i>.50</div>now<p>$9</p>left</dl>"""


@pytest.mark.parametrize(
    ("selector", "value"),
    [
        (".price", "4.90 EUR"),
        ("img.photo@src", "http://a.example/tea.png"),
        ("//div[@id='a']/p[2]", "second"),
        ("//p[contains(@class, 'pri')]/text()", "4.90 EUR"),
        ("/html/body//img/@class", "photo"),
        ("jsonld:offers.price", "4.90"),
        ("jsonld:sku", "17"),
        ("jsonld:brand", "Hills"),
        ("meta:og:title", "Green tea"),
        ("img, img ~ .price", "other"),
        (".absent", ""),
        ("jsonld:absent.price", ""),
        ("meta:absent", ""),
        ("b", "$4.90"),
        ("ul", "one two more"),
        ("dl", "$12.50 now $9 left"),
        ("script.x", "x = 1"),
    ],
)
def test_a_selector_means_the_first_text_that_it_finds(selector: str, value: str) -> None:
    assert field(selector)(PAGE, URL) == value


BAD = [
    "",
    "h1::text",
    "xpath://h1",
    "div >",
    "..x",
    "//div[last()]",
    "//p/following-sibling::p",
    "/",
    "jsonld:",
    "meta:",
    "jsonld:a[0]",
]


@pytest.mark.parametrize("selector", BAD)
def test_a_selector_that_cannot_be_read_is_refused(selector: str) -> None:
    with pytest.raises(UsageError, match=r"write CSS|use CSS|as meta:|such as jsonld:"):
        field(selector)


def test_broken_structured_data_is_skipped() -> None:
    broken = "<script type=application/ld+json>{</script>" + PAGE
    deep = f"<script type=application/ld+json>{'[' * 100_000}</script>"
    assert field("jsonld:sku")(deep + broken, URL) == "17"
    nested = "[" * 30 + '{"sku": 1}' + "]" * 30
    assert field("jsonld:sku")(f"<script type=application/ld+json>{nested}</script>", URL) == ""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return store_of(tmp_path, PAGE.encode())


FORMULA = '\'=HYPERLINK("//evil", now)'
FIELDS = ("--field", "price=.price", "--field", "sku=jsonld:sku")


def test_every_format_of_rows_has_fields_as_columns_of_text(
    store: Path, tmp_path: Path, capsys: Captured
) -> None:
    export = ("export", "-", "--store", store, *FIELDS, "--format")
    read, unread = csv.DictReader(io.StringIO(printed(capsys, *export, "csv")))
    assert (read["price"], read["sku"], unread["price"]) == ("4.90 EUR", "17", "")
    rows = map(json.loads, printed(capsys, *export, "jsonl").splitlines())
    assert [(row["price"], row["sku"]) for row in rows] == [("4.90 EUR", "17"), (None, None)]
    duckdb = pytest.importorskip("duckdb")
    place = tmp_path / "pages.parquet"
    printed(capsys, "export", place, "--store", store, *FIELDS)
    assert duckdb.sql(f"SELECT price, sku FROM '{place}' ORDER BY rank").fetchall() == [
        ("4.90 EUR", "17"),
        (None, None),
    ]


def test_fields_are_as_harmless_in_spreadsheets_as_other_text(
    tmp_path: Path, capsys: Captured
) -> None:
    store = store_of(tmp_path, b'<h1>=HYPERLINK("//evil", now)</h1>')
    export = ("export", "-", "--store", store, "--format", "csv", "--field", "name=h1")
    for row in csv.DictReader(io.StringIO(printed(capsys, *export, "--with", "h1"))):
        assert row["name"] == row["h1"] == ("" if row["state"] == "unread" else FORMULA)


def test_a_page_shows_what_its_fields_would_be(store: Path, capsys: Captured) -> None:
    assert printed(capsys, "page", URL, "--store", store, *FIELDS) == "price: 4.90 EUR\nsku: 17\n"


@pytest.mark.parametrize(
    "written", ["price", "=.price", "url=.price", "main=p", "a b=p", "price=..x"]
)
def test_bad_fields_are_refused(written: str, store: Path, capsys: Captured) -> None:
    export = ("export", "-", "--store", store, "--field", written)
    assert refusal(capsys, *export)
    assert "--edges" in refusal(capsys, *export[:4], "--edges", "--field", "a=p")
