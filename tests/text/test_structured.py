"""Structured data of pages in the form that extruct returns, compared on these pages."""

import json

import pytest

pytest.importorskip("selectolax")

from minicrawl.text.metadata import data, structured

URL = "http://a.example/news/1"
PERSON = "http://schema.org/Person"


def item(kind: str, properties: object, **more: object) -> dict[str, object]:
    return {"type": kind, **more, "properties": properties}


def script(text: str) -> str:
    return f'<script type="application/ld+json">{text}</script>'


JSON_LD = [
    pytest.param('{"a": 1}', [{"a": 1}], id="object"),
    pytest.param('[{"a": [1]}, {}, null]', [{"a": [1]}], id="list"),
    pytest.param('{"a": "b\nc\td"}', [{"a": "b\nc\td"}], id="control characters"),
    pytest.param('// x\n{"a": "http://b"}', [{"a": "http://b"}], id="line comment"),
    pytest.param('<!-- x -->{"a": 1 /* b */,}', [{"a": 1}], id="comments and a comma"),
    pytest.param('//<![CDATA[\n{"a": 1}\n//]]>', [{"a": 1}], id="CDATA"),
    pytest.param('{"a": "/* no */ \\" // ,}", "b": 1,}', [{"a": '/* no */ " // ,}', "b": 1}],
                 id="signs in strings"),
    pytest.param('{"a":', None, id="broken"),
    pytest.param("[" * 100_000, None, id="deep"),
    pytest.param("null", None, id="nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), JSON_LD)
def test_json_ld_is_read_with_common_mistakes(text: str, expected: object) -> None:
    assert structured(script(text), URL).get("json-ld") == expected


def test_a_broken_script_does_not_affect_others() -> None:
    assert structured(script("{") + script('{"a": 1}'), URL) == {"json-ld": [{"a": 1}]}


def test_open_graph_properties_of_known_namespaces_are_read_from_the_head() -> None:
    markup = """<html prefix="my: http://my.example/"><head><meta property=og:title content=T>
    <meta property=og:image content=1><meta property=og:image content=2>
    <meta property=my:x content=""><meta property=fb:y content=3></head>
    <body><meta property=og:url content=u></body>"""
    names = {"my": "http://my.example/", "og": "http://ogp.me/ns#"}
    properties = [("og:title", "T"), ("og:image", "1"), ("og:image", "2"), ("my:x", "")]
    assert structured(markup, URL) == {
        "opengraph": [{"namespace": names, "properties": properties}]
    }


MICRODATA = [
    pytest.param(
        f"<p itemscope itemtype={PERSON} itemid=' urn:1 '><b itemprop='name n'> Ann \n Bee</b>"
        "<b itemprop=name>A</b>",
        [item(PERSON, {"name": ["Ann Bee", "A"], "n": "Ann Bee"}, id="urn:1")],
        id="text, two names, two values",
    ),
    pytest.param(
        "<div itemscope itemtype=X><a itemprop=a href=/x>y</a><img itemprop=i src=i.png>"
        "<meta itemprop=m content=c><data itemprop=d value=5>five</data>"
        "<time itemprop=t datetime=2026-11-26>today</time><b itemprop=p content=9>nine</b></div>",
        [item("X", {"a": "http://a.example/x", "i": "http://a.example/news/i.png", "m": "c",
                    "d": "5", "t": "2026-11-26", "p": "9"})],
        id="values in attributes",
    ),
    pytest.param(
        "<div itemscope itemtype=X><div itemprop=o itemscope itemtype='Y Z'><b itemprop=p>1</b>"
        "</div><div itemscope itemtype=W><b itemprop=q>2</b></div></div>",
        [{"type": "X", "properties": {"o": {"type": ["Y", "Z"], "properties": {"p": "1"}}}},
         item("W", {"q": "2"})],
        id="items in items",
    ),
    pytest.param(
        "<div itemscope itemref='a b'></div><p id=a><i itemprop=n>A</i></p>"
        "<div id=b itemprop=band itemscope itemref=c></div><p id=c><i itemprop=n>J</i></p>",
        [{"properties": {"n": "A", "band": {"properties": {"n": "J"}}}}],
        id="references",
    ),
    pytest.param(
        "<div itemscope id=a itemprop=x itemref=b></div><div itemscope id=b itemprop=y itemref=a>",
        [{"properties": {"y": {"value": ""}}}],
        id="references in a circle",
    ),
    pytest.param("<p itemscope><b itemprop=n>Ann<style>b { color: red }</style> <i>Bee</i>"
                 "<script>let a</script></b>",
                 [{"properties": {"n": "Ann Bee"}}], id="scripts and styles are no text"),
    pytest.param("<p itemscope itemtype=X>only text", [{"type": "X", "value": "only text"}],
                 id="no property"),
]  # fmt: skip


@pytest.mark.parametrize(("markup", "expected"), MICRODATA)
def test_microdata_has_each_item_once(markup: str, expected: object) -> None:
    assert structured(markup, URL) == {"microdata": expected}


RDFA = [
    pytest.param(
        "<div vocab='http://schema.org/'><p typeof=Person resource=#a><b property=name>Ann</b>"
        "<a property=url href=/a>x</a><i property=age content=7>seven</i>"
        "<span property=home typeof=Place><u property=name>B</u></span></p></div>",
        [item(PERSON, {"name": "Ann", "url": "http://a.example/a", "age": "7",
                       "home": item("http://schema.org/Place", {"name": "B"})}, id="#a")],
        id="vocab",
    ),
    pytest.param("<p prefix='s: http://schema.org/' typeof=s:Person><b property=s:name>A",
                 [item(PERSON, {"s:name": "A"})], id="prefix"),
    pytest.param("<p typeof='schema:Person x:Y'>A",
                 [{"type": [PERSON, "x:Y"], "value": "A"}], id="known prefix, and unknown"),
]  # fmt: skip


@pytest.mark.parametrize(("markup", "expected"), RDFA)
def test_rdfa_lite_has_the_form_of_microdata(markup: str, expected: object) -> None:
    assert structured(markup, URL) == {"rdfa": expected}


def test_urls_are_resolved_against_the_base() -> None:
    links = "<a itemprop=a href=d></a><a itemprop=a href=//[></a>"
    markup = f"<base href=//b.example/c/><p itemscope>{links}"
    (found,) = structured(markup, URL)["microdata"]
    assert found["properties"]["a"] == ["http://b.example/c/d", "//["]


def test_depth_and_number_of_items_are_limited() -> None:
    for markup in ("<div itemscope itemprop=a>" * 3000, "<p itemscope>" * 3000):
        assert len(json.dumps(structured(markup, URL))) < 1 << 20
    deep = "<i>" * 300 + "<b typeof=X>"
    assert structured(f"<div vocab=http://s/>{deep}", URL)["rdfa"][0]["type"] == "X"


def test_the_column_is_json_or_empty() -> None:
    assert json.loads(data(script('{"a": 1}'), URL)) == {"json-ld": [{"a": 1}]}
    assert data("<p>x", URL) == ""
