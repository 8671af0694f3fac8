import pytest

from minicrawl.web.html.thin import ENOUGH, is_thin

WORDS = "words that say something of their own. " * 8
TITLE = "A page"


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        *(
            (page, True)
            for page in (
                *("", " \n" * 5000, "<p>" * 500, "short", "x" * (ENOUGH - 1), "&nbsp; " * 500),
                f"<script>{WORDS}</script><style>{WORDS}</style>",
                f"<SCRIPT type=x>{WORDS}</p>{WORDS}</SCRIPT >",
                *(f"<script>{WORDS}", f"<!-- {WORDS} --><template>{WORDS}</template>"),
                *(f"<!-- {WORDS}", f"<title>{WORDS}</title><p title='{WORDS}'>"),
                *(f"{WORDS}<body>few words", f"<p {WORDS}"),
            )
        ),
        *(
            (page, False)
            for page in (
                *(WORDS, "x" * ENOUGH, "x" * 5000, f"<title>t</title><body class=a>{WORDS}"),
                "".join(f"<li><a href=/{n}>item {n}</a></li>\n" for n in range(99)),
                *(f"<!-->{WORDS}<!-- -->", f"<!-- - -- x -->{WORDS}", f"< {WORDS}"),
                f"<script>1<2</script>{WORDS}",
                f"<style></style><script></script><stop>{WORDS}",
                f"{' ' * 100_000}{WORDS}",
            )
        ),
    ],
)
def test_a_page_with_few_characters_of_text_is_thin(page: str, expected: bool) -> None:
    assert is_thin(page, TITLE) is expected


HEADINGS_OF_ERRORS = [
    *("404 Not Found", "403 Forbidden", "Access denied", "502 Bad Gateway", "Index of /pub"),
    *("Welcome to nginx!", "Apache2 Ubuntu Default Page: It works", "Just a moment...", "404"),
    *("Page not found | My Shop", "Error 404", "Error 500: Internal Server Error", "It works!"),
    *("Site under construction", "Coming soon", "Under maintenance", "Account Suspended"),
    *("example.com is for sale", "This domain is parked", "The domain name a.b has expired"),
    *("Test Page for the Nginx", "CentOS HTTP Server Test Page", "IIS Windows Server"),
    *("Attention Required! | Cloudflare", "Directory listing for /", "503 Service Unavailable"),
]
HEADINGS_OF_PAGES = [
    *("404 recipes", "Not found in nature", "Forbidden Planet", "Error handling in Python"),
    *("Access denied: a history of locks in print", "Welcome to the club", "Index of authors"),
    *("500 years of books", "How to mend 502 Bad Gateway", "Coming soon to a theatre near you"),
    *("Loading docks", "Domain for sale: how to buy one", "", "1404 Crete", "Under the volcano"),
]


@pytest.mark.parametrize("heading", HEADINGS_OF_ERRORS)
def test_a_page_with_the_heading_of_an_error_is_thin(heading: str) -> None:
    assert is_thin(WORDS, heading)
    assert is_thin(f"<h1>{heading.replace(' ', '  ')}</h1>\n<p>| {WORDS}", "")
    assert not is_thin(f"{heading} {WORDS}", TITLE), "a title overrides the first line"


@pytest.mark.parametrize("heading", HEADINGS_OF_PAGES)
def test_a_heading_that_only_begins_like_an_error_is_not_thin(heading: str) -> None:
    assert not is_thin(WORDS, heading)


@pytest.mark.parametrize("tag", ["p", "li", "a href=/x", "h2 class=y"])
def test_a_few_paragraphs_or_links_are_enough(tag: str) -> None:
    text = f"<body><{tag}>{'many words ' * 12}" * 4
    assert not is_thin(text, TITLE)
    assert is_thin(f"<body><{tag}>few words", TITLE)
