"""The page of settings, and the stub with the types of the arguments of `Settings.of`."""

from minicrawl.config.declaration import Setting, differs
from minicrawl.config.table import SECTIONS, TABLE
from tests.reference.markdown import page, prose


def settings_page() -> str:
    """Describe the settings, section by section."""
    return page(
        "Settings",
        "Flags override variables, which override minicrawl.toml, which overrides the settings in "
        "the store, which override the defaults. `minicrawl config` prints each value and "
        "where it came from. In Python, `Settings.of` takes them as arguments.",
        "The names of a setting are its flag, its variable, its key in minicrawl.toml, and its "
        "argument in Python. Those that define a crawl are stored: a resumed crawl "
        "uses them again. The others hold for one run.",
        "A minicrawl.toml that `--config` does not name, a store and the terms of a cluster may "
        "come from a stranger: [what counts of them](../explanation/settings-and-resuming.md"
        "#what-a-stranger-may-not-set).",
        *(
            part
            for name in SECTIONS
            for part in (
                f"## Section {name}",
                f"In minicrawl.toml these settings are in `[{name}]`.",
                *(_setting(row) for row in TABLE if row.section.name == name),
            )
        ),
    )


def _setting(row: Setting) -> str:
    names = [f"`{_flag(row)}`", *([f"`{row.off}`"] if row.off else [])]
    names += [f"`{row.variable}`", f"`{row.key}`", f"`{row.argument}=`"]
    facts = {
        "Names": ", ".join(names),
        "Default": f"`{_default(row)}`",
        "Stored": "yes" if row.stored else "no",
    }
    if row.weakens is not None:
        facts["From a stranger"] = "no" if row.weakens is differs else "only what does no harm"
    return "\n\n".join(
        [
            f"### {row.name}",
            prose(row.help[:1].upper() + row.help[1:]),
            "\n".join(f"- {name}: {value}" for name, value in facts.items()),
        ]
    )


STUB = '''\
# Written by `python -m tests.reference --write`: edit config/parts, not this file.
"""Arguments of `Settings.of`, one per setting. Text is parsed as on the command line."""

from collections.abc import Sequence
from os import PathLike
from typing import Literal, TypeAlias, TypedDict

Time: TypeAlias = float | str
"""Seconds, or text such as `1h30m`."""
Size: TypeAlias = int | str
"""Bytes, or text such as `10MB`."""

class SettingArguments(TypedDict, total=False):
'''


def arguments_stub() -> str:
    """Return a stub with the types of the arguments of `Settings.of`."""
    return STUB + "".join(f"    {row.argument}: {row.kind.accepts}\n" for row in TABLE)


def _flag(row: Setting) -> str:
    return f"{row.flag} {row.kind.metavar}".strip()


def _default(row: Setting) -> str:
    match row.default:
        case None | ():
            return "none"
        case bool(on):
            return "on" if on else "off"
        case int(number):
            return f"{number:,}"
        case float(number):
            return f"{number:g}"
        case tuple(words):
            return ",".join(words)
        case word:
            return str(word)
