"""Origin and path of the nodes of a graph, whose names may be URLs or any text."""

import pytest
from hypothesis import given, strategies as st

from minicrawl.web.urls import canonical, host_of, location


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("http://a.example/x?y", ("http://a.example", "/x?y")),
        ("HTTP://A.example:80", ("http://a.example", "/")),
        ("https://a.example/?utm_source=b", ("https://a.example", "/?utm_source=b")),
        ("www.a.example", ("www.a.example", "")),
        ("Åland Islands", ("Åland Islands", "")),
        ("17", ("17", "")),
        ("mailto:me@a.example", ("mailto:me@a.example", "")),
        ("http://", ("http://", "")),
        ("", ("", "")),
    ],
)
def test_a_url_is_split_and_any_other_name_is_an_origin(name: str, found: tuple[str, str]) -> None:
    assert location(name) == found


@pytest.mark.parametrize(
    ("origin", "found"),
    [
        ("https://a.example:8080", "a.example"),
        ("www.a.example", "www.a.example"),
        ("a:b", "a:b"),
        ("http://", ""),
        ("", ""),
    ],
)
def test_a_name_is_its_own_host(origin: str, found: str) -> None:
    assert host_of(origin) == found


@given(st.text() | st.text(alphabet="htps:/a.[]@%1 ").map("http://".__add__))
def test_origin_and_path_make_up_the_name(name: str) -> None:
    origin, path = location(name)
    url = canonical(name, strip_marks=False)
    assert origin + path == (name if url is None else url)
    assert location(origin + path) == (origin, path)
    assert (path == "") == (url is None)
    assert isinstance(host_of(origin), str)
