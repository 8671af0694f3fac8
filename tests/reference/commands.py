"""The page of commands: every command with its usage and options."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set

import click

from minicrawl.cli.options import OWN_OPTIONS, SettingOption
from tests.readme import command_tree, context_of
from tests.reference.markdown import anchor, page, paragraphs, prose

COMMON = 4
"""An option that means the same for this many commands is described once, above all commands."""


def commands_page() -> str:
    """Describe every command with its arguments and options."""
    tree = command_tree()
    options = {path: _options(command, path) for path, command in tree.items()}
    counts = Counter(line for lists in options.values() for line in lists.get(OWN_OPTIONS, ()))
    # Of two meanings of a name, the usual one; an argument has no description.
    usual = {line.partition(": ")[0]: line for line, _ in reversed(counts.most_common())}
    common = {line for name, line in usual.items() if name != line and counts[line] >= COMMON}
    return page(
        "Commands",
        "Every command and every option. Common options, `--help` among them, come first; "
        "[Settings](settings.md) describes each setting, with its variable and its key in "
        "minicrawl.toml.",
        "\n".join(
            f"- [`{path}`](#{anchor(path)}): {prose(_summary(command))}"
            for path, command in tree.items()
        ),
        "## Common options",
        "\n".join(line for line in counts if line in common),
        *(_command(path, command, options[path], common) for path, command in tree.items()),
    )


def _summary(command: click.Command) -> str:
    return command.get_short_help_str(limit=200)


def _command(
    path: str, command: click.Command, options: Mapping[str, Sequence[str]], common: Set[str]
) -> str:
    usage = " ".join([path, *command.collect_usage_pieces(context_of(command, path))])
    return "\n\n".join(
        [
            f"## `{path}`",
            f"```text\n{usage}\n```",
            *([paragraphs(command.help)] if command.help else []),
            *_option_lists(options, common),
        ]
    )


def _options(command: click.Command, path: str) -> dict[str, list[str]]:
    """Return a line for each option, by the section of its setting."""
    context = context_of(command, path)
    lists: dict[str, list[str]] = {}
    for option in command.get_params(context):
        record = option.get_help_record(context)
        if record is not None:
            written, does = record
            if isinstance(option, SettingOption):
                name = option.opts[0].removeprefix("--")
                lists.setdefault(option.heading, []).append(f"[`{written}`](settings.md#{name})")
            else:
                line = f"- `{written}`: {prose(does)}" if does else f"- `{written}`"
                lists.setdefault(OWN_OPTIONS, []).append(line)
    return lists


def _option_lists(options: Mapping[str, Sequence[str]], common: Set[str]) -> Iterator[str]:
    own = [line for line in options.get(OWN_OPTIONS, ()) if line not in common]
    shared = [
        line.removeprefix("- ").partition(": ")[0]
        for line in options.get(OWN_OPTIONS, ())
        if line in common and "`-h, --help`" not in line
    ]
    if own:
        yield f"**{OWN_OPTIONS}**"
        yield "\n".join(own)
    if shared:
        yield f"[Common options](#common-options): {', '.join(shared)}."
    for heading, links in options.items():
        if heading != OWN_OPTIONS:
            yield f"**{heading}**: {', '.join(links)}."
