from minicrawl.demo.small_web import Anchor, Sheet, html, moved, page, refused

SHEET = Sheet(
    site="Tidepool",
    title="Limpets",
    menu=(Anchor("/", "Home"),),
    prose=("They hold on.", "So should you."),
    lists=(
        ("More", (Anchor("/a", "A"), Anchor("http://b.example/", "B", nofollow=True))),
        ("", ()),
    ),
    footer=(Anchor("/licence", "Licence"),),
)

WRITTEN = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Limpets – Tidepool</title>
</head>
<body>
<header><a href="/">Home</a></header>
<main>
<h1>Limpets</h1>
<p>They hold on.</p>
<p>So should you.</p>
<h2>More</h2>
<ul>
<li><a href="/a">A</a></li>
<li><a href="http://b.example/" rel="nofollow">B</a></li>
</ul>
</main>
<footer><a href="/licence">Licence</a></footer>
</body>
</html>
"""


def test_a_sheet_is_written_as_plain_html_and_an_empty_list_not_at_all() -> None:
    assert html(SHEET) == WRITTEN


def test_the_links_of_a_sheet_come_in_the_order_of_the_page() -> None:
    assert [anchor.words for anchor in SHEET.anchors()] == ["Home", "A", "B", "Licence"]


def test_a_page_has_the_same_etag_as_long_as_its_body_is_the_same() -> None:
    other = Sheet(site="Tidepool", title="Whelks")
    assert page(SHEET).headers["ETag"] == page(SHEET).headers["ETag"]
    assert page(SHEET).headers["ETag"] != page(other).headers["ETag"]


def test_errors_and_redirects_say_what_they_must() -> None:
    assert refused(503, "Later.", Retry_After="1").headers["Retry-After"] == "1"
    assert moved(301, "http://b.example/").headers == {"Location": "http://b.example/"}
