"""The documents tell the truth: what they name exists, and what they show is what is printed."""

import re
import subprocess
from pathlib import Path

import click
import pytest

from minicrawl import __version__
from tests import readme
from tests.readme import MANUAL, README, ROOT
from tests.readme_output import refresh

TEXT = README.read_text(encoding="utf-8")
CI_RUN = ROOT / ".ci" / "run"
MOST_LINES = 120

# FOR_USERS name only options of minicrawl; the other documents also those of other programs.
FOR_USERS = (README, *MANUAL)
DOCUMENTS = (
    *FOR_USERS,
    *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md")),
    *(ROOT / "docs" / name for name in ("speed.md", "hostile.md")),
)
COMPARISONS = [path for path in MANUAL if path.name.startswith("coming-from-")]
_OTHER_PROGRAM = re.compile(r"^\|.*?(?<!\\)\|", re.MULTILINE)
"""First column of a table: what the other program calls it."""
ON_EXAMPLE_ORG = [path for path in MANUAL if "the web is example.org" in path.read_text()]
WITH_EXAMPLES = [path for path in FOR_USERS if readme.examples(path.read_text(encoding="utf-8"))]

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


def name_of(document: Path) -> str:
    return str(document.relative_to(ROOT))


def _known_options() -> set[str]:
    commands = readme.command_tree().values()
    return {name for command in commands for name in readme.long_options(command)}


def _options_of_others(document: Path) -> set[str]:
    """Return the options in the first column of a page for users of another program."""
    if document not in COMPARISONS:
        return set()
    cells = "".join(_OTHER_PROGRAM.findall(document.read_text(encoding="utf-8")))
    return {re.split(r"[ =]", span)[0] for span in readme.spans(cells)}


def test_the_readme_is_read_in_a_few_minutes() -> None:
    assert len(TEXT.splitlines()) <= MOST_LINES


class TestCommandsAndOptions:
    @pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
    def test_every_command_and_option_that_is_shown_exists(self, document: Path) -> None:
        text = document.read_text(encoding="utf-8")
        mentioned = [words for line in readme.shell_lines(text) for words in readme.mentions(line)]
        assert [mistake for words in mentioned for mistake in readme.mistakes(words)] == []

    @pytest.mark.parametrize("document", FOR_USERS, ids=name_of)
    def test_every_option_named_on_its_own_belongs_to_some_command(self, document: Path) -> None:
        text = document.read_text(encoding="utf-8")
        named = {re.split(r"[ =]", span)[0] for span in readme.spans(text) if span[:2] == "--"}
        assert named - _options_of_others(document) <= _known_options()

    @pytest.mark.parametrize("document", COMPARISONS, ids=name_of)
    def test_what_another_program_maps_to_exists(self, document: Path) -> None:
        text = _OTHER_PROGRAM.sub("|", document.read_text(encoding="utf-8"))
        words = {word for span in readme.spans(text) for word in span.split()}
        assert {word.rstrip(",") for word in words if word[:2] == "--"} <= _known_options()


class TestTasks:
    """A page that runs on example.org runs whatever it tells to type, with few commands a task."""

    @pytest.mark.parametrize("document", ON_EXAMPLE_ORG, ids=name_of)
    def test_each_command_with_its_store_is_run_in_its_order(self, document: Path) -> None:
        text = document.read_text(encoding="utf-8")
        named = [
            span for span in readme.spans(text) if re.fullmatch(r"minicrawl .* --store \S+", span)
        ]
        run = [example.command.partition("  # exit code")[0] for example in readme.examples(text)]
        assert named in ([], run)

    @pytest.mark.parametrize("document", ON_EXAMPLE_ORG, ids=name_of)
    def test_a_task_has_three_commands_at_most(self, document: Path) -> None:
        text = document.read_text(encoding="utf-8")
        rows = re.findall(r"^\|.*", text, re.MULTILINE)
        tasks = re.findall(r"^\*\*.*?(?=^\*\*|^## |\Z)", text, re.MULTILINE | re.DOTALL)
        commands = [re.findall(r"(?:`|\$ )minicrawl ", task) for task in (*rows, *tasks)]
        assert max(map(len, commands)) <= 3


class TestLinks:
    @pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
    def test_every_link_leads_to_a_file(self, document: Path) -> None:
        linked = readme.linked_files(document.read_text(encoding="utf-8"))
        # The reference is generated, and `test_reference` compares it with the code.
        places = [document.parent / name for name in linked if "reference/" not in name]
        assert [place for place in places if not place.exists()] == []

    @pytest.mark.parametrize("document", MANUAL, ids=name_of)
    def test_pages_of_the_manual_link_to_no_file_outside_it(self, document: Path) -> None:
        linked = readme.linked_files(document.read_text(encoding="utf-8"))
        places = [(document.parent / name).resolve() for name in linked]
        assert [place for place in places if not place.is_relative_to(ROOT / "docs")] == []


@pytest.mark.documents
class TestShownOutput:
    @pytest.fixture(scope="class")
    def demo(self, tmp_path_factory: pytest.TempPathFactory) -> Path:
        made = tmp_path_factory.mktemp("demo")
        readme.make_demo(made)
        return made

    @pytest.mark.parametrize("document", WITH_EXAMPLES, ids=name_of)
    def test_an_example_shows_what_its_command_prints(
        self, document: Path, demo: Path, tmp_path: Path
    ) -> None:
        text = document.read_text(encoding="utf-8")
        if readme.needs_the_demo(text):
            readme.copy_demo(demo, tmp_path)
        with readme.web_of(text, tmp_path) as variables:
            for example in readme.examples(text):
                printed = example.printed(tmp_path, variables)
                if not example.is_shown_by(printed):  # pytest shows how they differ
                    assert printed == example.shown, "python -m tests.readme_output renews it"


class TestParser:
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
        ("line", "mistakes"),
        [
            ("lab order --nodes 5", []),
            ("--log-file top lab order --help", []),
            ("top --no-json -v example.org", []),
            ("COMMAND --help", []),
            ("rank", ["minicrawl has no command rank"]),
            ("lab top", ["minicrawl lab has no command top"]),
            ("lab order --node=5", ["minicrawl lab order has no option --node"]),
            ("top -x", ["minicrawl top has no option -x"]),
        ],
    )
    def test_a_missing_command_or_option_is_named(self, line: str, mistakes: list[str]) -> None:
        assert readme.mistakes(line.split(), SMALL_TREE) == mistakes

    def test_numbers_may_vary_only_where_a_comment_above_says_so(self) -> None:
        block = "```console\n$ minicrawl status\nread  7 pages\n```\n"
        exact, loose = readme.examples(f"{block}\n<!-- numbers vary -->\n{block}")
        assert loose.is_shown_by("read     1,024 pages\n")
        (aged,) = readme.examples(f"<!-- numbers vary -->\n{block.replace('pages', 's old')}")
        assert aged.is_shown_by("read 1 min old\n")
        assert not loose.is_shown_by("read 7 hosts\n")
        two_lines = block.replace("7", "7 pages\n1")
        (both,) = readme.examples(f"<!-- numbers vary -->\n{two_lines}")
        assert both.is_shown_by("1 pages\nread 7 pages\n")
        assert exact.is_shown_by("read  7 pages\n")
        assert not exact.is_shown_by("read  8 pages\n")

    @pytest.mark.parametrize(
        ("printed", "is_shown"),
        [("a\nz\n", True), ("a\nb\nc\nz\n", True), ("a\nb\n", False), ("b\nz\n", False)],
    )
    def test_a_line_of_three_dots_stands_for_any_lines(self, printed: str, is_shown: bool) -> None:
        (example,) = readme.examples("```console\n$ minicrawl top\na\n...\nz\n```\n")
        assert example.is_shown_by(printed) is is_shown


class TestRenewal:
    def test_stale_output_is_renewed_and_all_else_stays(self, tmp_path: Path) -> None:
        page = "Before.\n```console\n$ minicrawl --version\n{}```\nBetween `code`.\n"
        file = tmp_path / "README.md"
        file.write_text(page.format("stale\nlines\n") + page.format(""), encoding="utf-8")
        refresh(file)
        fresh = page.format(f"minicrawl {__version__}\n")
        assert file.read_text(encoding="utf-8") == fresh + fresh
