"""The form shows the settings of a crawl, and becomes options, or errors of single fields."""

import asyncio
from contextlib import closing, suppress
from pathlib import Path

import pytest

from minicrawl import Loaded, MinicrawlError, Settings
from minicrawl.cli import main
from minicrawl.config import load
from minicrawl.config.parts.storage import DEMO_PAGES
from minicrawl.config.table import BY_NAME
from minicrawl.crawl.start.settings import keep_settings
from minicrawl.dashboard.crawl_form import FIELDS, CrawlForm, in_words
from minicrawl.dashboard.launcher import Launcher
from minicrawl.demo.settings import demo_settings
from minicrawl.errors import FormError
from minicrawl.store.writer import StoreWriter
from tests.stores import filled_store

NOWHERE = Path("/nowhere/crawl.db")


def arguments_of(form: dict[str, object], store: Path = NOWHERE) -> tuple[list[str], list[str]]:
    return CrawlForm(store).arguments(form)


def wrong_in(form: dict[str, object], store: Path = NOWHERE) -> dict[str, str]:
    with pytest.raises(FormError) as refused:
        arguments_of(form, store)
    return refused.value.fields


def strict_store(path: Path) -> Path:
    """Make a store with settings that all differ from the defaults."""
    flags: dict[str, object] = {
        "robots": False,
        "scope": "host",
        "deny": ("x", "y"),
        "keep": "none",
        "delay": "250ms",
        "contact": "a@b.example",
        "max_depth": "3",
        "strategy": "greedy",
    }
    filled_store(path)
    with closing(StoreWriter.open(path)) as store:
        keep_settings(store, load(flags, {}, None))
    return path


def test_a_form_becomes_options_and_seeds() -> None:
    form = {
        "seeds": "# mine\nhttps://a.example/\n\nb.example\n",
        "scope": "host",
        "pages": "100",
        "workers": 2,
        "delay": "2s",
        "robots": False,
        "deny": "\\.pdf$\n\n \\.zip$ ",
        "contact": "",
    }
    options, seeds = arguments_of(form)
    assert seeds == ["https://a.example/", "https://b.example/"]
    assert options == [
        *("--scope=host", r"--deny=\.pdf$", r"--deny=\.zip$", "--pages=100"),
        *("--workers=2", "--delay=2s", "--ignore-robots"),
    ]


@pytest.mark.parametrize("rule", ["90%", "60% guaranteed"])
def test_the_form_takes_each_form_of_a_stop_rule_and_calls_it_so(rule: str) -> None:
    assert arguments_of({"seeds": "a.example", "until": rule})[0] == [f"--until={rule}"]
    shown = CrawlForm(NOWHERE, lambda: Settings.given(until=rule)).shown({})
    assert (shown["labels"]["until"], shown["values"]["until"]) == ("Stop rule", rule)
    assert "“Stop rule” '60% guaranteed' needs" in in_words("--until '60% guaranteed' needs links")


def test_an_untouched_form_shows_the_settings_of_the_store_and_gives_no_option(
    path: Path,
) -> None:
    form = CrawlForm(strict_store(path))
    shown = form.shown({})
    assert shown["values"] == {
        "scope": "host",
        "max-depth": "3",
        "allow": "",
        "deny": "x\ny",
        **dict.fromkeys(("pages", "for", "bytes", "until"), ""),
        "workers": "auto",
        "concurrency": "64",
        "delay": "1s",  # a store can neither shorten the delay nor switch robots.txt off
        "contact": "a@b.example",
        "robots": True,
        "keep": "none",
    }
    assert shown["others"] == ["strategy greedy"]
    assert form.arguments(shown["values"]) == ([], [])
    usual = form.shown({"fresh": True})["values"]
    assert (usual["scope"], usual["robots"], usual["keep"]) == ("any", True, "pages")


def test_a_value_unlike_that_of_the_store_becomes_an_option_even_if_it_is_the_default(
    path: Path,
) -> None:
    store = strict_store(path)
    form = CrawlForm(store).shown({})["values"]
    wanted = {"robots": True, "scope": "any", "keep": "pages", "deny": "", "contact": ""}
    options, _ = arguments_of(form | wanted | {"delay": "", "max-depth": " "}, store)
    assert options == [
        *("--scope=any", "--max-depth=none", "--deny=none"),
        *("--contact=none", "--keep=pages"),
    ]


def test_values_of_the_environment_are_shown_and_can_be_set_back_to_the_default() -> None:
    def base() -> Loaded:
        return load({}, {"MINICRAWL_PAGES": "7", "MINICRAWL_ALLOW": "a\nb"}, None)

    form = CrawlForm(NOWHERE, base)
    shown = form.shown({})["values"]
    assert (shown["pages"], shown["allow"]) == ("7", "a\nb")
    seeds = {"seeds": "a.example"}
    assert form.arguments(shown | seeds)[0] == []
    changed = shown | seeds | {"pages": "", "allow": ""}
    assert form.arguments(changed)[0] == ["--allow=none", "--pages=none"]


def test_the_form_of_a_demo_shows_its_defaults_and_ignores_the_environment() -> None:
    base = load({}, {"MINICRAWL_SCOPE": "host", "MINICRAWL_DELAY": "9"}, None)
    form = CrawlForm(NOWHERE, lambda: base)
    shown = form.shown({"demo": True, "demo-pages": 300})["values"]
    settings = demo_settings(base, 300, "127.0.0.1:1").settings
    for name in FIELDS:
        if name != "concurrency":
            read = BY_NAME[name].kind.read(shown[name] or "none")
            assert read == settings.value(BY_NAME[name]), name
    options, _ = form.arguments(shown | {"demo": True, "demo-pages": 300})
    assert options == ["--demo", "--demo-pages=300"]
    assert form.shown({"demo": True, "demo-pages": -5})["values"]["pages"] == str(DEMO_PAGES)


def test_the_form_shows_that_a_store_is_of_the_demo(tmp_path: Path) -> None:
    store = tmp_path / "demo.db"
    wanted = ["--demo", "--demo-pages", "150", "--pages", "3", "--quiet", "--store", str(store)]
    assert main(["crawl", *wanted]) == 0
    shown = CrawlForm(store).shown({})
    assert (shown["demo"], shown["demo-pages"]) == (True, 150)


def test_the_form_of_an_unreadable_store_gives_the_reason_and_shows_the_defaults(
    path: Path,
) -> None:
    path.write_bytes(b"no database" * 100)
    shown = CrawlForm(path).shown({})
    assert shown["why"]
    assert "--fresh" not in shown["why"]
    assert shown["values"]["scope"] == "any"


def test_each_wrong_field_has_its_own_error_without_names_of_options() -> None:
    seeds: dict[str, object] = {"seeds": "a.example\nnot a url"}
    found = wrong_in(seeds | {"pages": "many", "delay": "-1", "deny": "(\nx", "workers": "9999"})
    assert set(found) == {"seeds", "pages", "delay", "deny", "workers"}
    assert "line 2: not a url" in found["seeds"]
    assert found["pages"].startswith("many: ")
    assert found["deny"].startswith("(: ")
    demo: dict[str, object] = {"demo": True, "demo-pages": 1}
    every = wrong_in(demo | dict.fromkeys(FIELDS, "\x00"))
    assert set(every) == {*FIELDS, "demo-pages"}
    assert not any("--" in said for said in every.values())


def test_a_message_of_the_command_line_is_translated_into_names_of_fields() -> None:
    for name, field in FIELDS.items():
        for flag in filter(None, (BY_NAME[name].flag, BY_NAME[name].off)):
            said = in_words(f"minicrawl: {flag} x and --no-such: contradict; leave out --fresh")
            assert field in said
            assert f"{flag} " not in said
            assert "--fresh" not in said
            assert "--no-such" in said, "an option without a field keeps its name"


@pytest.mark.slow
def test_a_crawl_that_refuses_to_start_becomes_an_error_of_the_field(path: Path) -> None:
    # Each value is valid. Only the crawl itself finds that it cannot keep links without --links.
    base = load({"links": False}, {}, None)
    launcher = Launcher(path, lambda: base, ("--no-links",))
    for ask in (launcher.start, launcher.dry_run):
        with pytest.raises(MinicrawlError) as refused:
            asyncio.run(ask({"keep": "links", "seeds": "a.example"}))
        assert "--keep" not in str(refused.value)
        assert FIELDS["keep"] in str(refused.value)


def test_a_new_crawl_needs_a_seed_and_a_resumed_one_needs_none(filled: Path) -> None:
    assert wrong_in({}).keys() == {"seeds"}
    assert wrong_in({"fresh": True}, filled).keys() == {"seeds"}
    assert arguments_of({}, filled) == ([], [])


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("value", ["--help", "-x", "; rm -rf /", "$(id)", "\x00", "a\nb", [], {}])
def test_no_value_becomes_another_option(name: str, value: object) -> None:
    with suppress(FormError):
        options, _ = arguments_of({name: value, "seeds": "a.example"})
        assert all(option.startswith(f"{BY_NAME[name].flag}=") for option in options)


@pytest.mark.parametrize("pages", [0, 99, -5, 10**9, "many", None, 1.5, True])
def test_a_demo_has_a_sensible_size(pages: object) -> None:
    if pages in (0, None):  # the default size
        assert arguments_of({"demo": True, "demo-pages": pages})
    else:
        assert "demo-pages" in wrong_in({"demo": True, "demo-pages": pages})
