"""Parser of the documents for users: the commands that they name and the output that they show.

Glossary: a *block* is fenced by three backticks and has a language; a *span* is code within a
sentence; a *mention* is a line of either that calls minicrawl; an *example* is a console block
whose first line is `$ minicrawl ...` and whose other lines are what that prints to stdout.

The examples of one document run one after the other in one folder. An example below the comment
`<!-- numbers vary -->` shows stderr as well, and only its words are compared, not its numbers, the
width of its columns or the order of its lines. A shown line `...` stands for any number of lines.
A document with the comment `<!-- the web is example.org -->` runs on the web of
`tests.example_org`, and its examples may end with an exit code, which is shown as `# exit code 1`
in the line of the command.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType

import click

from minicrawl.cli import PROGRAM, root
from tests.example_org import SEEDS, serving_example_org

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
MANUAL = tuple(
    path
    for kind in ("tutorial", "how-to", "explanation")
    for path in sorted((ROOT / "docs" / kind).glob("*.md"))
)
"""Pages of the manual that people wrote; the reference is generated."""

DEMO_STORE = "data/demo.db"
_MAKE_DEMO = "crawl --demo --demo-pages 100 --pages 5000"

_BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"\]\(([^()\s]+)\)")
_PROMPT = "$ "
_NUMBERS_VARY = "<!-- numbers vary -->"
_ANY_LINES = "..."
_ON_EXAMPLE_ORG = "<!-- the web is example.org -->"
_EXIT_CODE = re.compile(r"  # exit code (\d+)$")
_ABOVE = f"{_NUMBERS_VARY}\n"
_SHELL_LANGUAGES = {"", "sh", "console"}
# What ends one command and starts the next, once shlex has set it apart.
_BETWEEN_COMMANDS = {"&&", "||", "|", ";", "&", "$(", ")", ">", ">>", "<", "<("}
# Stands for what the user writes there: COMMAND, <file>, [OPTIONS], ... and the like.
_PLACEHOLDER = re.compile(r"\.\.\.|…|[A-Z]+|[<\[].*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    language: str
    body: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    command: str
    shown: str
    start: int
    end: int
    numbers_vary: bool = False

    def printed(self, folder: Path, variables: Mapping[str, str] | None = None) -> str:
        """Run the command in `folder`, with `variables` and none of ours; return its output."""
        code = _EXIT_CODE.search(self.command)
        words = shlex.split(_EXIT_CODE.sub("", self.command))[1:]
        printed = _run(
            words,
            folder,
            with_stderr=self.numbers_vary,
            variables=variables or {},
            exit_code=int(code[1]) if code else 0,
        )
        return _tidy(printed)

    def is_shown_by(self, printed: str) -> bool:
        """Whether the document shows what was printed."""
        shown, found = self.shown, printed
        if self.numbers_vary:
            shown, found = _without_numbers(shown), _without_numbers(found)
            if _ANY_LINES not in shown.splitlines():  # requests end in another order under load
                return sorted(shown.splitlines()) == sorted(found.splitlines())
        lines = (
            "(?:.*\n)*?" if line == _ANY_LINES else re.escape(f"{line}\n")
            for line in shown.splitlines()
        )
        return re.fullmatch("".join(lines), found) is not None


def blocks(text: str) -> Iterator[Block]:
    for found in _BLOCK.finditer(text):
        yield Block(
            language=found["language"],
            body=found["body"],
            start=found.start("body"),
            end=found.end("body"),
        )


def spans(text: str) -> list[str]:
    """Return the code within sentences; a table writes the bar of a pipe as `\\|`."""
    return [span.replace(r"\|", "|") for span in _SPAN.findall(_BLOCK.sub("", text))]


def shell_lines(text: str) -> list[str]:
    """Return each line of code that a reader may type: spans, and blocks without their output."""
    typed = [
        line.removeprefix(_PROMPT)
        for block in blocks(text)
        if block.language in _SHELL_LANGUAGES
        for line in block.body.splitlines()
        if block.language != "console" or line.startswith(_PROMPT)
    ]
    return [*typed, *spans(text)]


def examples(text: str) -> list[Example]:
    return [
        Example(
            command=command.removeprefix(_PROMPT),
            shown=_tidy(shown),
            start=block.end - len(shown),
            end=block.end,
            numbers_vary=text[: block.start].removesuffix("```console\n").endswith(_ABOVE),
        )
        for block in blocks(text)
        if block.language == "console"
        for command, _, shown in [block.body.partition("\n")]
        if command.startswith(f"{_PROMPT}{PROGRAM} ")
    ]


def web_of(text: str, folder: Path) -> AbstractContextManager[Mapping[str, str]]:
    """Serve the web of a document for examples in a folder. Yields the variables for minicrawl."""
    if _ON_EXAMPLE_ORG not in text:
        return nullcontext({})
    (folder / "seeds.txt").write_text(SEEDS, encoding="utf-8")
    return serving_example_org()


def with_fresh_output(text: str, folder: Path) -> str:
    """Return the text with the present output of each example."""
    found = examples(text)
    with web_of(text, folder) as variables:
        outputs = [example.printed(folder, variables) for example in found]
    # From the last to the first, so that the offsets of earlier examples stay valid.
    for example, printed in zip(reversed(found), reversed(outputs), strict=True):
        if not example.is_shown_by(printed):
            text = text[: example.start] + printed + text[example.end :]
    return text


def linked_files(text: str) -> list[str]:
    """Return the files that a document links to, as written there."""
    links = _LINK.findall(_SPAN.sub("", _BLOCK.sub("", text)))
    return [link.partition("#")[0] for link in links if not link.startswith(("#", "https://"))]


def needs_the_demo(text: str) -> bool:
    """Return whether examples read the store of a demo crawl that the page does not make."""
    commands = [example.command for example in examples(text)]
    return bool(commands) and DEMO_STORE in " ".join(commands) and " --demo" not in commands[0]


def make_demo(folder: Path) -> None:
    """Run the demo crawl of the manual in a folder."""
    _run(_MAKE_DEMO.split(), folder, with_stderr=True)


def copy_demo(made: Path, folder: Path) -> None:
    shutil.copytree(made / "data", folder / "data")


def mentions(line: str) -> list[list[str]]:
    """Return the words after `minicrawl` for each call in a line of shell."""
    return [
        words[1:]
        for call in _calls(line)
        for words in [_without_launcher(call)]
        if words and f"/{words[0]}".endswith(f"/{PROGRAM}")
    ]


def mistakes(words: list[str], tree: click.Command = root) -> list[str]:
    """Return a complaint for each command or option in `words` that does not exist."""
    command, path, rest, wrong = tree, PROGRAM, iter(words), []
    for word in rest:
        if word.startswith("-") and word != "-":
            name, _, value = word.partition("=")
            option = _options(command).get(name)
            if option is None:
                wrong.append(f"{path} has no option {name}")
            elif not value and _takes_value(option):
                next(rest, None)
        elif isinstance(command, click.Group) and not _PLACEHOLDER.fullmatch(word):
            child = subcommands(command).get(word)
            if child is None:
                return [*wrong, f"{path} has no command {word}"]
            command, path = child, f"{path} {word}"
    return wrong


def subcommands(group: click.Group) -> dict[str, click.Command]:
    context = click.Context(group)
    resolved = (group.resolve_command(context, [name]) for name in group.list_commands(context))
    return {name: command for name, command, _ in resolved if name and command}


def command_tree(command: click.Command = root, path: str = PROGRAM) -> dict[str, click.Command]:
    """Return all commands by full path (`minicrawl lab order`), deferred ones imported."""
    tree = {path: command}
    if isinstance(command, click.Group):
        for name, child in subcommands(command).items():
            tree |= command_tree(child, f"{path} {name}")
    return tree


def long_options(command: click.Command) -> set[str]:
    return {name for name in _options(command) if name.startswith("--")}


def context_of(command: click.Command, path: str | None = None) -> click.Context:
    """Return the context of a call: click remembers the --help names that it sees first."""
    settings = {"help_option_names": ["-h", "--help"], **command.context_settings}
    return click.Context(command, info_name=path, **settings)


def _options(command: click.Command) -> dict[str, click.Parameter]:
    return {
        name: parameter
        for parameter in command.get_params(context_of(command))
        if isinstance(parameter, click.Option) and not parameter.hidden
        for name in (*parameter.opts, *parameter.secondary_opts)
    }


def _takes_value(option: click.Parameter) -> bool:
    return isinstance(option, click.Option) and not (option.is_flag or option.count)


def _calls(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(line.replace("$(", " && "), posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:  # an unbalanced quote: a sentence, or code of another language
        return
    while words:
        call = list(takewhile(lambda word: word not in _BETWEEN_COMMANDS, words))
        yield call
        words = words[len(call) + 1 :]


def _without_launcher(call: list[str]) -> list[str]:
    while call and re.fullmatch(r"\w+=.*", call[0]):
        call = call[1:]
    if call[1:2] == ["-m"] and "python" in call[0]:
        call = call[2:]
    return call


def _tidy(output: str) -> str:
    """Strip the blanks at the ends of lines, as editors do."""
    return "".join(f"{line.rstrip()}\n" for line in output.rstrip().splitlines())


def _without_numbers(output: str) -> str:
    """Replace numbers, ages, URLs and the titles behind them by placeholders.

    On a busy machine an age may be minutes instead of seconds, and another page may be the best.
    """
    counted = re.sub(r"\d[\d,.:]*", "#", re.sub(r"https?://.*", "URL", output))
    return re.sub(r"[ \t]+", " ", re.sub(r"# (s|min|h) old", "# s old", counted))


def _run(
    arguments: list[str],
    folder: Path,
    *,
    with_stderr: bool,
    variables: Mapping[str, str] = MappingProxyType({}),
    exit_code: int = 0,
) -> str:
    ours = {name for name in os.environ if name.startswith(("MINICRAWL_", "FORCE_COLOR"))}
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    done = subprocess.run(
        [sys.executable, "-m", PROGRAM, *arguments],
        cwd=folder,
        env=environment | {"NO_COLOR": "1", "COLUMNS": "80", "PYTHONUTF8": "1", **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if with_stderr else None,
        text=True,
        encoding="utf-8",
        check=not exit_code,
    )
    assert done.returncode == exit_code, arguments
    return done.stdout
