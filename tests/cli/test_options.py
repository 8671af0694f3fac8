"""Options of the table of settings: what a command gets, what its help says, what is refused."""

import re
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from minicrawl.cli import main, root
from minicrawl.cli.crawl.command import crawl
from minicrawl.cli.options import CommandWithSettings, settings_options
from minicrawl.config import Budget, Order, Politeness, Scope, Settings
from minicrawl.config.table import TABLE
from tests import readme
from tests.cli.calls import Captured, printed
from tests.stores import filled_store

Act = Callable[..., Settings]


@pytest.fixture
def act(monkeypatch: pytest.MonkeyPatch) -> Act:
    """Function that runs a command with all settings, and returns those that it got."""
    got: list[Settings] = []

    @click.command(cls=CommandWithSettings)
    @click.argument("seeds", nargs=-1)
    @click.option("--odd", hidden=True, expose_value=False)
    @settings_options()
    def act(seeds: tuple[str, ...], settings: Settings) -> None:
        """Do something."""
        assert seeds == ("seed",)
        got.append(settings)

    monkeypatch.setitem(root.commands, "act", act)

    def run(*arguments: str) -> Settings:
        assert main(["act", "seed", *arguments]) == 0
        return got.pop()

    return run


class TestValues:
    def test_options_of_all_shapes(self, act: Act) -> None:
        found = act(
            *("--pages", "5", "--for", "1h30m", "--bytes", "10GB", "--continuous"),
            *("--score", "url:a", "--focus", "b=2", "--refresh", "0.25"),
            *("--weight-internal", "0.5"),
            *("--scope", "host", "--deny", "x", "--deny", "y", "--sitemaps"),
            *("--ignore-robots", "--delay", "250ms"),
        )
        assert found == Settings(
            budget=Budget(pages=5, seconds=5400, body_bytes=10**10, continuous=True),
            order=Order(refresh=0.25, score=("url:a", "url:b"), weight_internal=0.5),
            scope=Scope(scope="host", deny=("x", "y"), sitemaps=True),
            politeness=Politeness(robots=False, delay_s=0.25),
        )

    def test_a_flag_turns_off_what_the_environment_turned_on(
        self, act: Act, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MINICRAWL_SITEMAPS", "yes")
        assert act().scope.sitemaps
        assert not act("--no-sitemaps").scope.sitemaps

    def test_a_named_file_takes_its_place(self, act: Act, monkeypatch: pytest.MonkeyPatch) -> None:
        Path("minicrawl.toml").write_text("[budget]\npages = 7\n", encoding="utf-8")
        Path("other.toml").write_text("[politeness]\ndelay = 7\n", encoding="utf-8")
        other = Settings(politeness=Politeness(delay_s=7))
        assert act("--config", "other.toml") == other
        monkeypatch.setenv("MINICRAWL_CONFIG", "other.toml")
        assert act() == other


class TestOptions:
    def test_every_setting_has_its_options_and_they_come_in_the_order_of_the_table(
        self, act: Act, capsys: Captured
    ) -> None:
        act()
        shown = printed(capsys, "act", "--help")
        places = [shown.index(f"\n  {setting.flag} ") for setting in TABLE]
        assert places == sorted(places)
        assert all(f"/ {setting.off}" in shown for setting in TABLE if setting.off)

    @pytest.mark.usefixtures("act")
    def test_help_lists_them_by_section_with_their_defaults(self, capsys: Captured) -> None:
        shown = " ".join(printed(capsys, "act", "--help").split())
        assert "Options: --config FILE" in shown
        for option, default in (
            ("Budget: --pages N", "none"),
            ("--endowment N", "1000"),
            ("--weight-internal WEIGHT|NAME", "1"),
            ("Politeness: --robots / --ignore-robots", "on"),
            ("--delay TIME|auto", "1s"),
            ("--store FILE", "data/crawl.db"),
        ):
            text = rf" {re.escape(option)} [^\[]+ \[default: {re.escape(default)}\]"
            assert re.search(text, shown), option

    def test_a_command_may_have_some_sections_only_and_gets_all_settings(
        self, monkeypatch: pytest.MonkeyPatch, capsys: Captured
    ) -> None:
        @click.command()
        @settings_options("store", "scope")
        def act(settings: Settings) -> None:
            click.echo(settings.budget.pages)

        monkeypatch.setitem(root.commands, "act", act)
        monkeypatch.setenv("MINICRAWL_PAGES", "7")
        assert printed(capsys, "act", "--scope", "host") == "7\n"
        options = readme.long_options(act)
        assert {"--store", "--scope", "--config"} <= options
        assert "--pages" not in options

    @pytest.mark.parametrize(
        ("option", "typed", "completed"),
        [
            ("--window", "i", ["interpolation", "improved-fixed"]),
            ("--scope", "", ["any", "domain", "host", "prefix"]),
            ("--pages", "", []),
        ],
    )
    def test_names_are_completed(
        self, act: Act, option: str, typed: str, completed: list[str]
    ) -> None:
        command = root.commands["act"]
        (parameter,) = (param for param in command.params if option in param.opts)
        found = parameter.shell_complete(click.Context(command), typed)
        assert [item.value for item in found] == completed


def test_a_list_that_is_given_again_is_longer(path: Path, act: Act, capsys: Captured) -> None:
    found = act("--types", "pdf", "--types", "text,html")
    assert found.scope.types == ("html", "pdf", "text")
    store = filled_store(path)
    names = ["--columns", "url", "--columns", "state,url"]
    shown = printed(capsys, "pages", "--store", store, *names, "--csv")
    assert shown.splitlines()[0] == "url,state"


class TestSections:
    """Help of a crawl: its usual options first, the others by section."""

    def flags(self, text: str) -> set[str]:
        return set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE))

    def test_the_usual_options_fit_on_few_screens(self, capsys: Captured) -> None:
        text = printed(capsys, "crawl", "--help")
        assert self.flags(text) > {"--pages", "--scope", "--store"}
        assert len(text.splitlines()) < 80
        assert "--help SECTION" in text

    def test_all_sections_together_have_all_options(self, capsys: Captured) -> None:
        whole = printed(capsys, "crawl", "--help", "all")
        assert isinstance(crawl, CommandWithSettings)
        sections = [name.lower() for name in crawl.sections(click.Context(crawl))]
        shown = [self.flags(printed(capsys, "crawl", "--help", name)) for name in sections]
        assert all(shown)
        assert set().union(*shown) == self.flags(whole) > {row.flag for row in TABLE}

    def test_an_unknown_section_is_refused(self, capsys: Captured) -> None:
        assert main(["crawl", "--help", "netwrk"]) == 2
        assert "choose one of options, budget, order" in capsys.readouterr().err
