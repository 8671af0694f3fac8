"""Titles, links and headings of plain text and Markdown."""

import pytest

from minicrawl.web.documents.writing import read_markdown, read_text, tidy


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("see http://a.example/b.", ["http://a.example/b"]),
        ("(https://a.example/b_(c))", ["https://a.example/b_(c)"]),
        ("<http://a.example/>, HTTP://B.example/!", ["http://a.example/", "HTTP://B.example/"]),
        ("[x](http://a.example/y)", ["http://a.example/y"]),
        ("http://a.example/ http://a.example/", ["http://a.example/"]),
        ("ftp://a.example/ a.example mailto:a@a.example", []),
        ("http://", []),
        ("", []),
    ],
)
def test_the_urls_of_a_text_are_its_links(text: str, urls: list[str]) -> None:
    assert list(read_text(text).links) == urls


def test_the_first_line_of_a_text_is_its_title() -> None:
    assert read_text("\n\n  The\ttitle \nmore").title == "The title"
    assert read_text("a" * 1000).title == "a" * 300
    assert read_text("").title == ""


def test_a_line_is_cleaned_for_a_store() -> None:
    assert tidy("a\0b\n\ud800c") == "a b ?c"


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("[a b](/c)", {"/c": "a b"}),
        ("[a](/b 'title') [c](</d e> (t))", {"/b": "a", "/d e": "c"}),
        ("[a](/b_(c)) [d](/e\\)f)", {"/b_(c)": "a", "/e)f": "d"}),
        ("![a](/b.png)", {}),
        ("[![a](/b.png)](/c)", {"/c": "!a(/b.png)"}),
        ("a\nb](/c)", {"/c": ""}),
        ("[a] (/b) [c][d]", {}),
        ("[a]()", {}),
        (r"\[a](/b)", {"/b": ""}),
        ("[d]: /e 'f'\n [g]: <h i>", {"/e": "d", "h i": "g"}),
        ("[^1]: note", {}),
        ("<https://a.example/?a&b> <a@a.example>", {"https://a.example/?a&b": ""}),
        ("https://a.example/b.", {"https://a.example/b": ""}),
        ("<a class=x href='/y?a&amp;b'>z</a> <a name=n>", {"/y?a&b": ""}),
        ("`[a](/b)` [c](/d) ``[e](/f) ` `` `[g](/h)", {"/d": "c", "/h": "g"}),
        ("```\n[a](/b)\n~~~\n```\n[c](/d)", {"/d": "c"}),
        ("~~~ x\n[a](/b)\n~~~~\n[c](/d)", {"/d": "c"}),
        ("````\n```\n[a](/b)\n````\n[c](/d)", {"/d": "c"}),
        ("``` not ` a fence\n[c](/d)", {"/d": "c"}),
        ("a\n\n    [a](/b)\n\n    [a](/c)\n\n[d](/e)", {"/e": "d"}),
        ("- a\n\n    - [d](/e)\n    [f](/g)", {"/e": "d", "/g": "f"}),
        (f"[a](/{'b' * 9000})", {}),
        *(
            (nested * 20_000 + "[x](/x)", {"/x": "x"})
            for nested in ("> ", "- ", "> - ", "<ul><li>")
        ),
        ("[" * 20_000 + "x" + "](/x)" * 20_000, {"/x": "x"}),
    ],
)
def test_links_of_markdown_have_words(text: str, links: dict[str, str]) -> None:
    assert read_markdown(text).links == links


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# The *title* #\n\ntext", "The title"),
        ("The title\n=====\ntext", "The title"),
        ("text\n\n## `a` [b] \\*\n", "a b"),
        ('---\ntitle: "Front"\n---\n# Other', "Front"),
        ("---\nauthor: me\n---\n# Other", "Other"),
        ("---\n\n# Other", "Other"),
        ("text", ""),
        ("#hashtag", ""),
    ],
)
def test_the_first_heading_of_markdown_is_its_title(text: str, title: str) -> None:
    assert read_markdown(text).title == title


def test_headings_of_markdown_are_read() -> None:
    assert read_markdown("# A\nB\n---\n\n---\n###### C\n#\n").headings == ("A", "B", "C")
