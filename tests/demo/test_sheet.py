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


def test_a_sheet_is_written_as_html_without_empty_lists() -> None:
    assert html(SHEET) == WRITTEN


def test_the_anchors_of_a_sheet_are_in_page_order() -> None:
    assert [anchor.words for anchor in SHEET.anchors()] == ["Home", "A", "B", "Licence"]


def test_the_etag_changes_with_the_body() -> None:
    other = Sheet(site="Tidepool", title="Whelks")
    assert page(SHEET).headers["ETag"] == page(SHEET).headers["ETag"]
    assert page(SHEET).headers["ETag"] != page(other).headers["ETag"]


def test_errors_and_redirects_have_their_headers() -> None:
    assert refused(503, "Later.", Retry_After="1").headers["Retry-After"] == "1"
    assert moved(301, "http://b.example/").headers == {"Location": "http://b.example/"}
