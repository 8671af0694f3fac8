"""`minicrawl about`: the page that the owner of a server should find at the crawler's contact."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minicrawl.cli.options import CommandWithSettings, settings_options
from minicrawl.cli.output import show_json, warn_of_exposure
from minicrawl.config import Politeness, Settings
from minicrawl.config.values.kinds import key_file
from minicrawl.errors import UsageError

if TYPE_CHECKING:
    from minicrawl.fetch.access.signing import SigningKey


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
    from minicrawl.fetch.access.headers import user_agent

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
        only_asked = key_file(settings.access.sign_requests or "")[1]
        click.echo(_page(facts, settings.politeness, only_asked=only_asked))


def _key(settings: Settings, new_key: Path | None) -> "tuple[SigningKey | None, str | None]":
    """Return the key, which may be a new one, and the URL of its directory."""
    from minicrawl.fetch.access.signing import SigningKey, key_directory

    given = settings.access.sign_requests
    if new_key is not None and given is not None:
        raise UsageError("--new-key and --sign-requests: give one of them")
    if new_key is not None:
        where = key_directory(settings.politeness.contact)  # refuses before the file is made
        return SigningKey.create(new_key), where
    if given is not None:
        file = key_file(given)[0]
        warn_of_exposure(file)
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
It signs {signed} (Web Bot Auth, RFC 9421). The key ID and directory:

    {key_id}
    {key_directory}"""
_ONLY_ASKED = "requests to servers that ask"
_UNSIGNED = "It does not sign its requests: others can use its name."


def _page(facts: Mapping[str, object], politeness: Politeness, *, only_asked: bool) -> str:
    auto = isinstance(politeness.delay_s, str)
    shown = {
        **facts,
        "contact": facts["contact"] or "none (--contact)",
        "delay": politeness.min_delay_s if auto else politeness.delay_s,
        "signed": _ONLY_ASKED if only_asked else "its requests",
    }
    blocking = _BY_ROBOTS if politeness.robots else _BY_CONTACT
    signing = _UNSIGNED if facts["key_id"] is None else _SIGNED
    return _PAGE.format(**shown, blocking=blocking.format(**shown), signing=signing.format(**shown))
