"""A form becomes the options of a crawl, or says at its fields what is wrong."""

from contextlib import suppress

import pytest

from minicrawl.dashboard.launching import FIELDS, arguments_of
from minicrawl.errors import FormError


def wrong_in(**form: object) -> dict[str, str]:
    named = {name.replace("_", "-"): value for name, value in form.items()}
    with pytest.raises(FormError) as refused:
        arguments_of(named, has_store=False)
    return refused.value.fields


def test_a_form_becomes_options_and_seeds() -> None:
    form = {
        "seeds": "# mine\nhttps://a.example/\n\nb.example\n",
        "scope": "host",
        "pages": "100",
        "workers": 2,
        "delay": "2s",
        "robots": True,
        "deny": [r"\.pdf$"],
        "contact": "",
    }
    options, seeds = arguments_of(form, has_store=False)
    assert seeds == ["https://a.example/", "https://b.example/"]
    assert options == [
        *("--scope=host", r"--deny=\.pdf$", "--pages=100"),
        *("--workers=2", "--delay=2s"),
    ]


def test_what_is_wrong_is_said_at_each_field() -> None:
    found = wrong_in(
        seeds="a.example\nnot a url", pages="many", delay="-1", deny=["("], workers="9999"
    )
    assert set(found) == {"seeds", "pages", "delay", "deny", "workers"}
    assert found["seeds"] == "not a URL: line 2: not a url"
    assert found["pages"].startswith("--pages many: ")


def test_a_new_crawl_needs_a_seed_and_one_that_goes_on_needs_none() -> None:
    assert wrong_in() == {"seeds": "give a URL to start from"}
    assert wrong_in(fresh=True) == {"seeds": "give a URL to start from"}
    assert arguments_of({}, has_store=True) == ([], [])
    assert arguments_of({"demo": True, "demo-pages": 300}, has_store=False) == (
        ["--demo", "--demo-pages=300"],
        [],
    )


def test_manners_are_left_out_only_when_the_user_says_so() -> None:
    options, _ = arguments_of({"seeds": "a.example", "robots": False}, has_store=False)
    assert options == ["--ignore-robots"]


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("value", ["--help", "-x", "; rm -rf /", "$(id)", "\x00", "a\nb"])
def test_no_value_becomes_another_option(name: str, value: str) -> None:
    with suppress(FormError):
        options, _ = arguments_of({name: value, "seeds": "a.example"}, has_store=False)
        assert options in ([], [f"--{name}={value}"])


@pytest.mark.parametrize("pages", [0, 99, -5, 10**9, "many", None, 1.5])
def test_a_demo_has_a_sensible_size(pages: object) -> None:
    if pages in (0, None):  # the usual one
        assert arguments_of({"demo": True, "demo-pages": pages}, has_store=False)
    else:
        assert "demo-pages" in wrong_in(demo=True, demo_pages=pages)
