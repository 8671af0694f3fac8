import pytest

from minicrawl.fetch.http.targets import Origin, Target, target


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://a.example/", Origin(False, "a.example", 80, "a.example")),
        ("https://a.example/", Origin(True, "a.example", 443, "a.example")),
        ("http://a.example:81/", Origin(False, "a.example", 81, "a.example:81")),
        ("http://a.example:80/", Origin(False, "a.example", 80, "a.example")),
        ("https://[::1]:8/", Origin(True, "::1", 8, "[::1]:8")),
        ("HTTP://A.Example/", Origin(False, "a.example", 80, "a.example")),
        ("http://0x7f.1/", Origin(False, "127.0.0.1", 80, "127.0.0.1")),
        (
            "http://bücher.example/",
            Origin(False, "xn--bcher-kva.example", 80, "xn--bcher-kva.example"),
        ),
        ("http://me:secret@a.example/", Origin(False, "a.example", 80, "a.example")),
        (r"http://a.example\@b.example/", Origin(False, "a.example", 80, "a.example")),
        ("http://a@b@c.example/", Origin(False, "c.example", 80, "c.example")),
    ],
)
def test_an_origin_is_that_of_the_url_standard(url: str, origin: Origin) -> None:
    found = target(url)
    assert found
    assert found.origin == origin


@pytest.mark.parametrize(
    "path", ["/", "/?", "/a%7Eb|c?d='%27[1]", r"/a\b", "//../x", '/<">{}^`', "/a?b?c"]
)
def test_a_path_is_requested_as_given(path: str) -> None:
    found = target(f"http://a.example{path}#there")
    assert found
    assert (found.path, found.url) == (path, f"http://a.example{path}")


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://a.example", "/"),
        ("http://a.example?b", "/?b"),
        ("http://a.example/é b", "/%C3%A9%20b"),
        ("http://a.example/\r\nEvil: 1", "/Evil:%201"),
        ("http://a.example/\0x", "/%00x"),
    ],
)
def test_a_path_that_is_invalid_in_a_request_is_serialized_by_the_url_standard(
    url: str, path: str
) -> None:
    assert target(url) == Target(
        Origin(False, "a.example", 80, "a.example"), path, f"http://a.example{path}"
    )
