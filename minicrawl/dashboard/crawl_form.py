"""A form that starts a crawl, and the settings that the crawl would have.

Laws: the form starts with the settings of the store, the environment and minicrawl.toml. A crawl
does what the form shows: a field whose value differs becomes an option, and an empty field means
the default. A field is checked by the table of settings, and an error is shown at its field, in the
words of the form. The crawl is a process of its own: it continues when the dashboard ends, and
nothing from the form reaches a shell.
"""

import re
import shlex
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from minicrawl.config import Loaded, Settings, load
from minicrawl.config.declaration import Setting
from minicrawl.config.parts.storage import DEMO_PAGES, DEMO_USUAL, FEWEST_DEMO_PAGES
from minicrawl.config.settings import DEFAULT
from minicrawl.config.table import BY_NAME, STORED
from minicrawl.config.values.kinds import NONE, InvalidValue
from minicrawl.config.writing import as_text, plain
from minicrawl.crawl.start.settings import with_stored_settings
from minicrawl.errors import FormError, MinicrawlError
from minicrawl.store import tables
from minicrawl.store.reader import reading
from minicrawl.web.urls import read_seeds

FIELDS = {
    "scope": "Scope",
    "max-depth": "Maximum depth, in links",
    "allow": "Only URLs that match, one regex a line",
    "deny": "No URLs that match, one regex a line",
    "pages": "Pages",
    "for": "Time",
    "bytes": "Download",
    "until": "Stop rule",
    "workers": "Worker processes",
    "concurrency": "Requests at once",
    "delay": "Delay between two requests to a host",
    "contact": "Contact",
    "robots": "Obey robots.txt",
    "keep": "What to keep of each page",
}
"""Settings in the form, with their labels."""
_OTHERS = {
    "fresh": "Start a new crawl",
    "demo": "Crawl the demo web",
    "demo-pages": "Pages of the demo web",
}
_BY_FLAG = {
    flag: setting
    for setting in map(BY_NAME.__getitem__, FIELDS)
    for flag in (setting.flag, setting.off)
}
_PAGES_OF_DEMO = re.compile(r"--demo-pages[= ](\d+)")
_FLAG = re.compile(r"--[a-z][a-z-]*")
_SHOWN_COMPLAINTS = 5
_SHOWN = 60  # characters of a wrong value
_MOST_DEMO_PAGES = 1_000_000

Form = Mapping[str, Any]


def unset() -> Loaded:
    """Return the settings of a crawl for which nothing is set."""
    return load({}, {}, None)


class CrawlForm:
    def __init__(self, store: Path, base: Callable[[], Loaded] = unset) -> None:
        """`base` returns the settings of a crawl without options."""
        self._store, self._base = store, base

    def shown(self, form: Form) -> dict[str, Any]:
        """Return labels, defaults and untouched values of the fields, by `fresh` and `demo`."""
        why = ""
        try:
            loaded = self._in_effect(form)
        except MinicrawlError as error:
            why = in_words(str(error))
            loaded = self._in_effect({**form, "fresh": True})
        return {
            "labels": FIELDS,
            "values": {name: _shown(loaded.settings, BY_NAME[name]) for name in FIELDS},
            "defaults": {name: _shown(Settings(), BY_NAME[name]) for name in FIELDS},
            "others": [
                f"{setting.name} {as_text(setting.kind.masked(plain(loaded.settings, setting)))}"
                for setting in STORED
                if loaded.is_given(setting) and setting.name not in FIELDS
            ],
            "why": why,
            **self._demo_of_store(),
        }

    def arguments(self, form: Form) -> tuple[list[str], list[str]]:
        """Return the options and the seeds of the crawl. Raises FormError."""
        wrong: dict[str, str] = {}
        demo = list[str]()
        if form.get("demo"):
            pages = form.get("demo-pages") or DEMO_PAGES
            if not _fits_demo(pages):
                least, most = FEWEST_DEMO_PAGES, _MOST_DEMO_PAGES
                wrong["demo-pages"] = f"must be from {least} to {most:,} pages"
            demo = ["--demo", f"--demo-pages={pages}"]
        seeds = [] if demo else self._seeds(form, wrong)
        given = {name: _wanted(name, form, wrong) for name in FIELDS if name in form}
        if wrong:
            raise FormError(wrong)
        settings = self._in_effect(form).settings
        options = [
            option
            for name, value in given.items()
            if value != settings.value(BY_NAME[name])
            for option in _options(BY_NAME[name], form[name], value)
        ]
        return [*options, *(["--fresh"] if form.get("fresh") else []), *demo], seeds

    def _in_effect(self, form: Form) -> Loaded:
        """Return the settings that this crawl has without the options of the form's fields."""
        loaded = self._base()
        if form.get("demo"):  # which ignores environment and files
            pages = form.get("demo-pages")
            size = {"pages": pages if _fits_demo(pages) else DEMO_PAGES}
            usual = Settings().with_values(DEMO_USUAL | size)
            loaded = Loaded(settings=usual, origins=dict.fromkeys(BY_NAME, DEFAULT))
        settings = loaded.settings.with_values({"store": self._store})
        loaded = Loaded(settings=settings, origins=loaded.origins)
        return loaded if form.get("fresh") else with_stored_settings(loaded)

    def _demo_of_store(self) -> dict[str, Any]:
        """Return whether the store has a crawl of the demo web, and the pages of that web."""
        words: list[str] = []
        if self._store.is_file():
            with suppress(MinicrawlError), reading(self._store) as connection:
                words = shlex.split(str(tables.counters(connection).get(tables.COMMAND) or ""))
        pages = _PAGES_OF_DEMO.search(" ".join(words))
        return {"demo": "--demo" in words, "demo-pages": int(pages[1]) if pages else DEMO_PAGES}

    def _seeds(self, form: Form, wrong: dict[str, str]) -> list[str]:
        lines = str(form.get("seeds") or "").splitlines()
        complaints: list[str] = []
        seeds = list(
            read_seeds(lines, lambda number, text: complaints.append(f"line {number}: {text[:60]}"))
        )
        if complaints:
            more = len(complaints) - _SHOWN_COMPLAINTS
            shown = ", ".join(complaints[:_SHOWN_COMPLAINTS])
            wrong["seeds"] = f"not a URL: {shown}{f' and {more} more' if more > 0 else ''}"
        elif not seeds and (form.get("fresh") or not self._store.exists()):
            wrong["seeds"] = "give a URL to start from"
        return seeds


def _shown(settings: Settings, setting: Setting) -> object:
    """Return the value as its field shows it, in a form that reads back as the same value."""
    value = settings.value(setting)
    if isinstance(value, bool):
        return value
    if setting.kind.many:
        return "\n".join(value)
    if value is None:
        return ""
    shown = setting.kind.show(value)
    return shown if setting.kind.read(shown) == value else str(plain(settings, setting))


def _wanted(name: str, form: Form, wrong: dict[str, str]) -> object:
    """Return the value of a field. An empty field has the default."""
    setting, value = BY_NAME[name], _given(form[name])
    try:
        return setting.default if value in ("", [], None) else setting.kind.read(value)
    except InvalidValue as unfit:
        text = str(unfit.value)
        wrong[name] = f"{text if len(text) <= _SHOWN else f'{text[:_SHOWN]}…'}: {unfit.wanted}"
        return None


def _given(value: object) -> object:
    """Return the value without surrounding blanks; a text of several lines becomes a list."""
    if isinstance(value, str):
        lines = [line.strip() for line in value.splitlines() if line.strip()]
        return lines if len(lines) > 1 else "".join(lines)
    return value


def _options(setting: Setting, value: object, read: object) -> list[str]:
    if isinstance(read, bool):
        return [setting.flag if read else setting.off]
    given = _given(value)
    if given in ("", [], None):
        given = _shown(Settings(), setting) or NONE
    return [f"{setting.flag}={value}" for value in (given if isinstance(given, list) else [given])]


def _fits_demo(pages: object) -> bool:
    return type(pages) is int and FEWEST_DEMO_PAGES <= pages <= _MOST_DEMO_PAGES


def in_words(message: str) -> str:
    """Translate a message of the command line into the words of the form."""

    def quoted(match: re.Match[str]) -> str:
        flag = match[0]
        name = _BY_FLAG[flag].name if flag in _BY_FLAG else flag.removeprefix("--")
        label = {**FIELDS, **_OTHERS}.get(name)
        return flag if label is None else f"“{label}”"

    return _FLAG.sub(quoted, message.removeprefix("minicrawl: "))


def failed(message: str) -> MinicrawlError:
    """Return the error of a crawl that did not start, at its field if it names only one."""
    line = message.splitlines()[-1] if message else "the crawl ended at once"
    named = {_BY_FLAG[flag].name for flag in _FLAG.findall(line) if flag in _BY_FLAG}
    return (
        FormError({named.pop(): in_words(line)})
        if len(named) == 1
        else MinicrawlError(in_words(line))
    )
