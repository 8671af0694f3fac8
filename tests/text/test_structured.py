"""Structured data of pages in the form that extruct returns, compared on these pages."""

import json

import pytest

pytest.importorskip("selectolax")

from minicrawl.text.structured_data import data, structured

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
    assert structured(markup, URL)["opengraph"] == [{"namespace": names, "properties": properties}]


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


SCHEMA = "http://schema.org/"


def thing(identity: str, kind: str = "", **said: object) -> dict[str, object]:
    """Return a thing of schema.org; a text is a value, a set the IRI of another thing."""
    shown: dict[str, object] = {"@id": identity} | ({"@type": [SCHEMA + kind]} if kind else {})
    for name, values in said.items():
        each = values if isinstance(values, list) else [values]
        shown[SCHEMA + name] = [
            {"@id": next(iter(one))} if isinstance(one, set) else {"@value": one} for one in each
        ]
    return shown


USES = {"@id": URL, "http://www.w3.org/ns/rdfa#usesVocabulary": [{"@id": SCHEMA}]}
FOAF, OG = "http://xmlns.com/foaf/0.1/", "http://ogp.me/ns#"
# Expected values: what extruct 0.18 (RDFaExtractor) returns for these pages, with blank nodes
# renamed and lists in the order of the page.
RDFA = [
    pytest.param(
        "<div vocab='http://schema.org/'><p typeof=Person resource=#a><b property=name>Ann</b>"
        "<a property=url href=/a>x</a><i property=age content=7>seven</i></p></div>",
        [USES, thing(f"{URL}#a", "Person", name="Ann", url={"http://a.example/a"}, age="7")],
        id="vocab",
    ),
    pytest.param(
        "<div vocab='http://schema.org/' typeof=Person><b property=name>Ann</b>"
        "<span property=home typeof=Place><u property=name>B</u></span></div>",
        [USES, thing("_:b0", "Person", name="Ann", home={"_:b1"}),
         thing("_:b1", "Place", name="B")],
        id="nested",
    ),
    pytest.param(
        "<p prefix='s: http://schema.org/ x: http://x.example/' typeof='s:Person x:Y'>"
        "<b property='s:name x:n'>A",
        [{"@id": "_:b0", "@type": [PERSON, "http://x.example/Y"],
          f"{SCHEMA}name": [{"@value": "A"}], "http://x.example/n": [{"@value": "A"}]}],
        id="prefix",
    ),
    pytest.param(
        "<p typeof='schema:Person foaf:Agent u:V'><b property=SCHEMA:name>A</b><i property=lost>B",
        [{"@id": "_:b0", "@type": [PERSON, f"{FOAF}Agent", "u:V"],
          f"{SCHEMA}name": [{"@value": "A"}]}],
        id="known prefixes, unknown ones, no vocabulary",
    ),
    pytest.param(
        "<div vocab='http://schema.org/'><p typeof=Person resource=#a>"
        "<b property=knows resource=#b>x</b></p><p typeof=Person resource=#b>"
        "<b property=name>Bo</b></p></div>",
        [USES, thing(f"{URL}#a", "Person", knows={f"{URL}#b"}),
         thing(f"{URL}#b", "Person", name="Bo")],
        id="references",
    ),
    pytest.param(
        "<div vocab='http://schema.org/' typeof=X><img property=image src=i.png>"
        "<a property=url href='../p'>p</a><object property=o data=d.pdf></object>"
        "<b property=both resource=/r href=/h>t</b></div>",
        [USES, thing("_:b0", "X", image={"http://a.example/news/i.png"}, url={"http://a.example/p"},
                     o="", both={"http://a.example/r"})],
        id="src and href",
    ),
    pytest.param(
        "<div vocab='http://schema.org/' typeof=Event><time property=day datetime=2026-11-28>today"
        "</time><meta property=name content='E v'><i property=p content=''>q</i>"
        "<data property=v value=5>five</data></div>",
        [USES, thing("_:b0", "Event", day="today", name="E v", p="", v="five")],
        id="content, and attributes that RDFa 1.1 does not read",
    ),
    pytest.param(
        "<div vocab='http://schema.org/' typeof=Recipe><i property=part>b</i><i property=part>a</i>"
        "<i property=part>b</i></div>",
        [USES, thing("_:b0", "Recipe", part=["b", "a"])],
        id="each value once",
    ),
    pytest.param(
        "<html><head><meta property=og:title content=T></head>"
        "<body><p vocab='http://schema.org/'><b property=name>A</b></p>",
        [{"@id": URL, f"{OG}title": [{"@value": "T"}]} | USES | thing(URL, name="A")],
        id="the page itself",
    ),
    pytest.param(
        "<div vocab='http://schema.org/' typeof=Person><i vocab='http://xmlns.com/foaf/0.1/'>"
        "<b property=nick>n</b></i><i vocab=''><b property=lost>n</b></i></div>",
        [USES | {next(reversed(USES)): [{"@id": SCHEMA}, {"@id": FOAF}]},
         thing("_:b0", "Person") | {f"{FOAF}nick": [{"@value": "n"}]}],
        id="vocab in vocab",
    ),
    pytest.param(
        "<div vocab='http://schema.org/' typeof=Person><p property=address resource=urn:1 "
        "typeof=Address><i property=city>C</i></p><a property=friend typeof=Person href=/bo>"
        "<i property=name>Bo</i></a></div>",
        [USES, thing("_:b0", "Person", address={"urn:1"}, friend={"http://a.example/bo"}),
         thing("urn:1", "Address", city="C"), thing("http://a.example/bo", "Person", name="Bo")],
        id="things with names as values",
    ),
    pytest.param(
        "<html vocab=http://schema.org/ typeof=WebPage><title property=name>N</title>"
        "<a href=/bo><b property=name>Bo</b></a><b property=knows resource='[schema:z]'>"
        "<i property=name>inside</i></b><i about=/y property=name>M</i><u about=_:q property=n>",
        [USES | thing(URL, "WebPage", name=["N", "inside"], knows={f"{SCHEMA}z"}),
         thing("http://a.example/bo", name="Bo"), thing("http://a.example/y", name="M"),
         thing("_:q", n="")],
        id="subjects",
    ),
    pytest.param(
        "<p vocab=/v# typeof=''><b property=a>  x\n y </b></p>",
        [{"@id": URL, next(reversed(USES)): [{"@id": "http://a.example/v#"}]},
         {"@id": "_:b0", "http://a.example/v#a": [{"@value": "  x\n y "}]}],
        id="a vocabulary of the site, text as it is",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("markup", "expected"), RDFA)
def test_rdfa_lite_is_expanded_json_ld(markup: str, expected: object) -> None:
    assert structured(markup, URL)["rdfa"] == expected


def test_urls_are_resolved_against_the_base() -> None:
    links = "<a itemprop=a href=d></a><a itemprop=a href=//[></a>"
    markup = f"<base href=//b.example/c/><p itemscope>{links}"
    (found,) = structured(markup, URL)["microdata"]
    assert found["properties"]["a"] == ["http://b.example/c/d", "//["]


def test_depth_and_number_of_items_are_limited() -> None:
    for markup in ("<div itemscope itemprop=a>" * 3000, "<p itemscope>" * 3000):
        assert len(json.dumps(structured(markup, URL))) < 1 << 20


def test_a_vocabulary_reaches_elements_at_any_depth() -> None:
    deep = "<i>" * 300 + "<b typeof=X>"
    (thing,) = structured(f"<div vocab=http://s/>{deep}", URL)["rdfa"][1:]
    assert thing["@type"] == ["http://s/X"]


def test_the_column_is_json_or_empty() -> None:
    assert json.loads(data(script('{"a": 1}'), URL)) == {"json-ld": [{"a": 1}]}
    assert data("<p>x", URL) == ""
