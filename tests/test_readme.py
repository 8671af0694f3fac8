"""README tells the truth: it names every command, no other, and shows what they print."""

import subprocess
from pathlib import Path

import click
import pytest

from minicrawl.version import __version__
from tests import readme
from tests.readme import README, Example
from tests.readme_output import refresh

TEXT = README.read_text(encoding="utf-8")
CI_RUN = README.parent / ".ci" / "run"

SEE_IT = (
    "python3 -m venv --without-pip .venv"
    " && python3 -m pip --python .venv/bin/python install -q -e ."
    " && .venv/bin/minicrawl crawl --demo"
)
TEST_IT = (
    "python3 -m venv --without-pip .venv"
    " && python3 -m pip --python .venv/bin/python install -q -e '.[test]'"
    " && .venv/bin/python -m pytest"
)

SMALL_TREE = click.Group(
    "minicrawl",
    params=[click.Option(["--log-file"])],
    commands=[
        click.Group("lab", commands=[click.Command("order", params=[click.Option(["--nodes"])])]),
        click.Command(
            "top",
            params=[
                click.Option(["--json/--no-json"]),
                click.Option(["-v", "--verbose"], count=True),
                click.Argument(["host"], required=False),
            ],
        ),
    ],
)


class TestTheTwoCommands:
    def test_they_are_the_first_two_shell_blocks_and_one_line_each(self) -> None:
        shell = [block.body for block in readme.blocks(TEXT) if block.language == "sh"]
        assert shell[:2] == [f"{SEE_IT}\n", f"{TEST_IT}\n"]

    def test_the_checks_run_the_second_as_readme_has_it(self) -> None:
        found = subprocess.run(
            [CI_RUN, "--print-test-command"], capture_output=True, text=True, check=True
        )
        assert found.stdout == f"{TEST_IT}\n"


class TestCommandsAndOptions:
    def test_every_command_and_every_long_option_is_documented(self) -> None:
        tree = readme.command_tree()
        names = set(tree).union(*(readme.long_options(command) for command in tree.values()))
        assert [name for name in sorted(names) if not readme.is_named(name, TEXT)] == []

    def test_every_command_and_option_that_is_shown_exists(self) -> None:
        mentioned = [words for line in readme.shell_lines(TEXT) for words in readme.mentions(line)]
        assert mentioned
        assert [mistake for words in mentioned for mistake in readme.mistakes(words)] == []

    def test_every_option_named_on_its_own_belongs_to_some_command(self) -> None:
        named = {span.split()[0] for span in readme.spans(TEXT) if span.startswith("--")}
        known = {
            name
            for command in readme.command_tree().values()
            for name in readme.long_options(command)
        }
        assert named <= known


class TestShownOutput:
    @pytest.mark.parametrize("example", readme.examples(TEXT), ids=lambda example: example.command)
    def test_what_is_shown_is_what_the_command_prints(
        self, example: Example, tmp_path: Path
    ) -> None:
        assert example.printed(tmp_path) == example.shown, "python -m tests.readme_output renews it"


class TestReadingOfReadme:
    def test_mentions_are_found_wherever_a_command_may_stand(self) -> None:
        lines = readme.shell_lines(
            "Say `minicrawl top`, never `pip install minicrawl` or `minicrawl/opic/`.\n"
            "```sh\nA=1 .venv/bin/minicrawl lab && python -m minicrawl top | head\n```\n"
            "```console\n$ minicrawl lab order\nminicrawl output\n```\n"
            "```toml\nminicrawl = 1\n```\n"
            '| `eval "$(minicrawl top \\| head)"` | `it\'s` |\n'
        )
        found = [" ".join(words) for line in lines for words in readme.mentions(line)]
        assert sorted(found) == ["lab", "lab order", "top", "top"]

    @pytest.mark.parametrize(
        "line",
        [
            "",
            "lab order --nodes 5",
            "lab order --nodes=5",
            "--log-file top lab order",
            "top --no-json -v example.org",
            "top -",
            "lab -h",
            "lab order --help",
            "...",
            "COMMAND --help",
            "lab <experiment>",
        ],
    )
    def test_what_exists_is_no_mistake(self, line: str) -> None:
        assert readme.mistakes(line.split(), SMALL_TREE) == []

    @pytest.mark.parametrize(
        ("line", "mistake"),
        [
            ("rank", "minicrawl has no command rank"),
            ("lab top", "minicrawl lab has no command top"),
            ("lab order --node 5", "minicrawl lab order has no option --node"),
            ("--nodes 5 lab", "minicrawl has no option --nodes"),
            ("top -x", "minicrawl top has no option -x"),
        ],
    )
    def test_what_does_not_exist_is_named(self, line: str, mistake: str) -> None:
        assert mistake in readme.mistakes(line.split(), SMALL_TREE)

    def test_the_tree_of_commands_is_walked_to_its_leaves(self) -> None:
        tree = readme.command_tree(SMALL_TREE)
        assert list(tree) == ["minicrawl", "minicrawl lab", "minicrawl lab order", "minicrawl top"]
        assert readme.long_options(tree["minicrawl top"]) == {
            "--help",
            "--json",
            "--no-json",
            "--verbose",
        }

    @pytest.mark.parametrize(
        ("name", "text", "named"),
        [
            ("--node", "`--nodes`", False),
            ("--nodes", "`--nodes N`", True),
            ("--json", "`--no-json`, `--json-lines`", False),
            ("minicrawl lab", "minicrawl labels", False),
            ("minicrawl lab", "`minicrawl lab`", True),
        ],
    )
    def test_a_name_counts_only_as_a_whole(self, name: str, text: str, named: bool) -> None:
        assert readme.is_named(name, text) is named

    def test_only_console_blocks_that_call_minicrawl_are_examples(self) -> None:
        found = readme.examples(
            "```console\n$ ls\na\n```\n```sh\n$ minicrawl top\n```\n"
            "```console\n$ minicrawl top --n 2\none  \ntwo\n```\n"
        )
        assert [(e.command, e.shown) for e in found] == [("minicrawl top --n 2", "one\ntwo\n")]


class TestRenewal:
    def test_stale_output_is_renewed_in_place_and_all_else_is_left_alone(
        self, tmp_path: Path
    ) -> None:
        page = "Before.\n```console\n$ minicrawl --version\n{}```\nBetween `code`.\n"
        file = tmp_path / "README.md"
        file.write_text(page.format("stale\nlines\n") + page.format(""), encoding="utf-8")
        refresh(file)
        fresh = page.format(f"minicrawl {__version__}\n")
        assert file.read_text(encoding="utf-8") == fresh + fresh

    def test_a_command_that_fails_renews_nothing(self, tmp_path: Path) -> None:
        file = tmp_path / "README.md"
        file.write_text("```console\n$ minicrawl no-such\nshown\n```\n", encoding="utf-8")
        with pytest.raises(subprocess.CalledProcessError):
            refresh(file)
        assert "shown" in file.read_text(encoding="utf-8")
