"""Guesses from the markup alone whether scripts would change a page."""

import pytest

from minicrawl.model import Scripting, ScriptKind
from minicrawl.web.html.page import parse_page
from minicrawl.web.html.scanner import ParseOptions

NONE, SOME, SHELL = ScriptKind
WORDS = "many words of an article that has enough to say. " * 10
ANCHORS = "".join(f'<a href="/{number}">page {number}</a>' for number in range(10))
SHELL_PAGE = '<title>app</title><div id="root"></div><script src="/app.js"></script>'


def read(markup: str) -> Scripting:
    options = ParseOptions(with_scripting=True)
    found = parse_page(markup.encode(), "http://a.example/", {}, options).scripting
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("markup", "kind"),
    [
        (f"<p>{WORDS}{ANCHORS}", NONE),
        ("<p>nothing", NONE),
        (SHELL_PAGE, SHELL),
        ("<script>location.href = '/there'</script>", SHELL),
        ("<body onload=\"location='/there'\">", SHELL),
        ('<script type="module">import "/app.js"</script>', SHELL),
        ('<script type="text/javascript; charset=utf-8">go()</script>', SHELL),
        ('<script type="application/ld+json">{}</script>', NONE),
        ('<script type="text/template"><a href="/x"></a></script>', NONE),
        ("<script></script>", NONE),
        (f'<p>{WORDS}{ANCHORS}<script src="/theme.js"></script>', NONE),
        (f'<p>{WORDS}{ANCHORS}<ul id="more"></ul><script src="/more.js"></script>', SOME),
        (f"<p>{WORDS}{ANCHORS}<my-list></my-list><script src=/l.js></script>", SOME),
        (f"<p>{WORDS}{ANCHORS}<script>fetch('/list').then(fill)</script>", SOME),
        (f"<p>{WORDS}{ANCHORS}<script>var count = 1</script>", NONE),
        (f"<p>{WORDS}<script src='/theme.js'></script>", NONE),
        (f"<p>{WORDS}<script>list.innerHTML = all</script>", SHELL),
        (f'<p>{WORDS}<div class="feed"> </div><script src="/f.js"></script>', SHELL),
        (f"<p>{ANCHORS}<script src='/theme.js'></script>", NONE),
        ('<script src="https://www.googletagmanager.com/gtag/js?id=1"></script>', NONE),
        ("<script>gtag('js'); document.createElement('script')</script>", NONE),
    ],
)
def test_scripts_count_only_if_they_may_change_the_page(markup: str, kind: ScriptKind) -> None:
    assert read(markup).kind is kind


def test_scripts_that_seem_to_add_nothing_have_a_signature_too() -> None:
    plain, themed, framed = (
        read(f"<p>{WORDS}{ANCHORS}{more}")
        for more in ("", "<script src='/theme.js'></script>", "<iframe srcdoc='&lt;script>'>")
    )
    assert (plain.kind, themed.kind, framed.kind) == (NONE, NONE, NONE)
    assert 0 == plain.signature != themed.signature != framed.signature != 0


def test_scripting_is_read_only_on_request() -> None:
    assert parse_page(SHELL_PAGE.encode(), "http://a.example/", {}).scripting is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/app.0a1b2c3d.js", "/app.99ffaa00.js"),
        ("/app.js?v=1", "/app.js?v=2"),
        ("/chunk-12.js", "/chunk-7.js"),
    ],
)
def test_versions_of_a_script_have_one_signature(one: str, other: str) -> None:
    pages = (f'<title>{name}</title><script src="{name}"></script>' for name in (one, other))
    assert len({read(page).signature for page in pages}) == 1


def test_pages_of_one_template_have_one_signature() -> None:
    pages = (f"<p>{word}<div id=a></div><script src=/a.js></script>" for word in ("one", "two"))
    assert len({read(page).signature for page in pages}) == 1


@pytest.mark.parametrize(
    "other",
    [
        SHELL_PAGE.replace("/app.js", "/other.js"),
        SHELL_PAGE + "<my-page></my-page>",
        SHELL_PAGE + "<script>start()</script>",
        f"<p>{WORDS}{ANCHORS}{SHELL_PAGE}",
    ],
)
def test_other_scripts_have_another_signature(other: str) -> None:
    assert read(other).signature != read(SHELL_PAGE).signature
