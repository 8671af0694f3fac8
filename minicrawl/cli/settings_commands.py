"""Commands about settings: control a running crawl, show its settings, tell servers about it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from minicrawl.cli.options import (
    STEER,
    CommandWithSettings,
    cluster_door,
    json_option,
    loaded_options,
    settings_options,
    store_option_for,
)
from minicrawl.cli.output import show_facts, show_json
from minicrawl.config import Loaded, Politeness, Settings
from minicrawl.config.settings import as_document, as_toml, told_ignored
from minicrawl.control import CHANGEABLE, MOST_URLS, ControlRequest, Reply, Verb, ask
from minicrawl.errors import UsageError
from minicrawl.wording import visible

if TYPE_CHECKING:
    from minicrawl.fetch.signing import SigningKey

_ACTIONS = ("show", "pause", "resume", "stop", *CHANGEABLE, "add")


@click.command(cls=CommandWithSettings)
@click.argument("action", type=click.Choice(_ACTIONS), metavar="ACTION")
@click.argument("values", nargs=-1, metavar="[VALUE]...")
@json_option
@settings_options("cluster", "insecure")
@store_option_for(STEER)
@click.pass_context
def control(  # click passes arguments by name
    context: click.Context,
    action: str,
    values: tuple[str, ...],
    store: Path,
    settings: Settings,
    as_json: bool,
) -> None:
    """Pause, stop or adjust a running crawl.

    \b
    show            show the state of the crawl
    pause           stop sending requests
    resume          send requests again
    stop            finish the requests in flight, then end
    workers N       run N worker processes
    concurrency N   allow N requests in flight
    delay T         wait T between two requests to a host; Crawl-delay still applies
    max-rate RATE   limit requests or bytes per second; none for no limit
    hours HOURS     send requests only in these hours; none for all day
    pages N         stop after N pages; none for no limit
    small-edge S    divide share S of a page's cash among all pages equally
    add URL...      also crawl these URLs

    Only the user who started the crawl can control it. The crawl logs each change.

    With --cluster, show, pause, resume, stop and pages control the crawl of all nodes.
    """
    request = _request(action, values)
    is_store = context.get_parameter_source("store") is ParameterSource.COMMANDLINE
    if settings.cluster.url is not None and not is_store:
        cluster_door().steer(settings, action, request, as_json=as_json)
        return
    _show(ask(store, request), as_json=as_json)


def _show(found: Reply, *, as_json: bool) -> None:
    if as_json:
        show_json(found)
    else:
        show_facts(_facts(found))


def _request(action: str, values: tuple[str, ...]) -> ControlRequest:
    if action in CHANGEABLE:
        if len(values) != 1:
            raise UsageError(f"control {action} needs one value")
        return ControlRequest(verb=Verb.SET, values={action: values[0]})
    if action == Verb.ADD:
        if not values:
            raise UsageError(f"control add takes from 1 to {MOST_URLS:,} URLs")
        return ControlRequest(verb=Verb.ADD, urls=values)
    if values:
        raise UsageError(f"control {action} takes no value: {values[0]!r}")
    return ControlRequest(verb=Verb(action))


def _facts(found: Reply) -> list[tuple[str, str]]:
    settings: dict[str, Any] = found["settings"]
    return [
        ("crawl", f"{found['state']}, process {found['pid']}"),
        ("requests", f"{found['in_flight']:,} in flight"),
        ("workers", f"{found['workers']:,}"),
        ("concurrency", f"{settings['concurrency']:,}"),
        ("delay", _delay(settings["delay"])),
        ("max-rate", settings["max-rate"] or "no limit"),
        ("hours", settings["hours"] or "all day"),
        ("pages", "no limit" if settings["pages"] is None else f"{settings['pages']:,}"),
        ("small-edge", f"{settings['small-edge']:g}"),
    ]


def _delay(delay: float | str) -> str:
    return delay if isinstance(delay, str) else f"{delay:g} s"


# ================================================================ config


@click.command(cls=CommandWithSettings)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@loaded_options()
def config(loaded: Loaded, as_json: bool) -> None:
    """Show all settings and where they come from.

    Flags override MINICRAWL_* variables, which override minicrawl.toml, which overrides the
    settings in the store, which override the defaults. The output is a valid minicrawl.toml. If
    the store exists, the settings are those with which its crawl would resume.
    """
    from minicrawl.crawl.start.opening import with_stored_settings

    in_file = loaded.ignored
    loaded = with_stored_settings(loaded)
    in_store = [place for name, place in loaded.ignored.items() if in_file.get(name) != place]
    if line := told_ignored(in_store):
        click.echo(f"minicrawl: {visible(line)}", err=True)
    if as_json:
        show_json(as_document(loaded))
    else:
        click.echo(as_toml(loaded), nl=False)


# ================================================================ about
#
# `minicrawl about`: the page that the owner of a server should find at the crawler's contact.


@click.command(cls=CommandWithSettings)
@click.option(
    "--new-key",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Make a key for --sign-requests in this new file, readable by you only.",
)
@click.option(
    "--directory",
    "shows_directory",
    is_flag=True,
    help="Print the key directory, to publish at its URL.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@settings_options("agent", "contact", "robots", "delay", "user-agent", "sign-requests")
def about(settings: Settings, new_key: Path | None, shows_directory: bool, as_json: bool) -> None:
    """Describe the crawler to the owners of servers: name, contact, how to block it, key.

    The output is text for the page at --contact. With --sign-requests it names the key directory,
    which --directory prints: serve it there as application/http-message-signatures-directory+json.
    """
    from minicrawl.fetch.access import user_agent

    if shows_directory and as_json:
        raise click.UsageError("--directory is JSON already: leave out --json")
    key, key_url = _key(settings, new_key)
    if shows_directory:
        if key is None:
            raise click.UsageError("--directory needs --sign-requests or --new-key")
        show_json({"keys": [key.jwk]})
        return
    facts = {
        "agent": settings.politeness.agent,
        "user_agent": user_agent(settings.politeness, settings.access).decode(),
        "contact": settings.politeness.contact,
        "obeys_robots": settings.politeness.robots,
        "delay": settings.politeness.delay_s,
        "key_id": None if key is None else key.id,
        "key_directory": key_url,
    }
    if as_json:
        show_json(facts)
    else:
        click.echo(_page(facts, settings.politeness))


def _key(settings: Settings, new_key: Path | None) -> tuple[SigningKey | None, str | None]:
    """Return the key, which may be a new one, and the URL of its directory."""
    from minicrawl.fetch.signing import SigningKey, key_directory

    file = settings.access.sign_requests
    if new_key is not None and file is not None:
        raise UsageError("--new-key and --sign-requests: give one of them")
    if new_key is not None:
        where = key_directory(settings.politeness.contact)  # refuses before the file is made
        return SigningKey.create(new_key), where
    if file is not None:
        return SigningKey.read(file), key_directory(settings.politeness.contact)
    return None, None


_PAGE = """\
# {agent}

This crawler sends

    User-Agent: {user_agent}

Its contact: {contact}

## Block it or slow it down

{blocking}

It waits at least {delay:g} s between two requests to a host, and longer if a
response says so by Retry-After.

## Verify it

{signing}"""
_BY_ROBOTS = """\
It obeys robots.txt, which it reads before the first page of a host and again
after a day. To block it:

    User-agent: {agent}
    Disallow: /

To have it wait 10 s between requests:

    User-agent: {agent}
    Crawl-delay: 10"""
_BY_CONTACT = "It does not obey robots.txt: write to its contact."
_SIGNED = """\
It signs its requests (Web Bot Auth, RFC 9421). The key ID and directory:

    {key_id}
    {key_directory}"""
_UNSIGNED = "It does not sign its requests: others can use its name."


def _page(facts: Mapping[str, object], politeness: Politeness) -> str:
    auto = isinstance(politeness.delay_s, str)
    shown = {
        **facts,
        "contact": facts["contact"] or "none (--contact)",
        "delay": politeness.min_delay_s if auto else politeness.delay_s,
    }
    blocking = _BY_ROBOTS if politeness.robots else _BY_CONTACT
    signing = _UNSIGNED if facts["key_id"] is None else _SIGNED
    return _PAGE.format(**shown, blocking=blocking.format(**shown), signing=signing.format(**shown))
