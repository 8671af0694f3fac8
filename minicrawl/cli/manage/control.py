"""`minicrawl control`: pause, stop or adjust a running crawl."""

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from minicrawl.cli.companions import cluster_door
from minicrawl.cli.options import CommandWithSettings, settings_options
from minicrawl.cli.output import show_facts, show_json
from minicrawl.cli.store_options import STEER, json_option, store_option_for
from minicrawl.config import Settings
from minicrawl.control import CHANGEABLE, MOST_URLS, ControlRequest, Verb, ask
from minicrawl.errors import UsageError

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
    reply = ask(store, request)
    if as_json:
        show_json(reply)
        return
    current: dict[str, Any] = reply["settings"]
    delay = current["delay"]
    show_facts(
        [
            ("crawl", f"{reply['state']}, process {reply['pid']}"),
            ("requests", f"{reply['in_flight']:,} in flight"),
            ("workers", f"{reply['workers']:,}"),
            ("concurrency", f"{current['concurrency']:,}"),
            ("delay", delay if isinstance(delay, str) else f"{delay:g} s"),
            ("max-rate", current["max-rate"] or "no limit"),
            ("hours", current["hours"] or "all day"),
            ("pages", "no limit" if current["pages"] is None else f"{current['pages']:,}"),
            ("small-edge", f"{current['small-edge']:g}"),
        ]
    )


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
