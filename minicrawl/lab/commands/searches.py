"""`minicrawl lab searches`: compares an order of results on all judged searches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from minicrawl.cli.output import NONE, show_facts, show_json, show_list
from minicrawl.cli.store_options import json_option, store_with_pages_option
from minicrawl.errors import UsageError
from minicrawl.lab.commands.judgements import SHOWN, Judgement, file_of, kept
from minicrawl.lab.commands.ranking_options import order_options
from minicrawl.lab.commands.search_agreement import JudgedSearch, SearchAgreement, compared
from minicrawl.search.commands.ranking_options import RankingChoice
from minicrawl.search.searching import Finder
from minicrawl.wording import counted

_HEADINGS = ("nDCG then", "now", "first then", "now", "no verdict", "search")


@click.command()
@order_options
@json_option
@store_with_pages_option
def searches(store: Path, choice: RankingChoice, as_json: bool) -> None:
    """Compare the results of an order with the results shown earlier, on all judged searches.

    Without --by, --score and --weight, this is the default order.
    """
    judged = kept(store)
    if not judged:
        raise UsageError(f"no searches are judged in {file_of(store)}: run `minicrawl lab judge`")
    found = compared(choice.finder(store), judged.values(), choice.request(SHOWN))
    if as_json:
        show_json(found)
        return
    show_list(
        _HEADINGS,
        map(_search_line, sorted(found.searches, key=lambda search: search.change)),
        texts=1,
    )
    click.echo()
    show_facts(_facts(found))


def _search_line(search: JudgedSearch) -> tuple[str, ...]:
    then, now = search.then, search.now
    return (
        _number(then.ndcg),
        _number(now.ndcg),
        str(then.first or "-"),
        str(now.first or "-"),
        str(now.unjudged),
        search.query,
    )


def _facts(found: SearchAgreement) -> Iterator[tuple[str, str]]:
    verdicts = counted(sum(one.verdicts for one in found.searches), "verdict")
    yield "judged", f"{counted(len(found.searches), 'search', 'searches')}, {verdicts}"
    yield "nDCG@10", _change(found.mean_ndcg(now=False), found.mean_ndcg(now=True))
    yield "MRR@10", _change(found.mean_reciprocal(now=False), found.mean_reciprocal(now=True))
    same = len(found.searches) - found.better - found.worse
    yield "searches", f"{found.better} better, {found.worse} worse, {same} as before"
    yield "by chance", f"{found.by_chance:.3f}, by a sign test"


def tell_of_all_judged(store: Path, finder: Finder, choice: RankingChoice) -> None:
    """Print the quality of this ranking on all judged searches, if there are any."""
    if judged := kept(store):
        found = compared(finder, judged.values(), choice.request(SHOWN))
        means = _change(found.mean_ndcg(now=False), found.mean_ndcg(now=True))
        queries = counted(len(judged), "judged search", "judged searches")
        click.echo(f"{queries}: nDCG@10 {means}, {found.better} better, {found.worse} worse")


def what_was_said(judged: Judgement | None, url: str) -> str:
    """Return a page's earlier verdict and place; empty if the query was not judged."""
    if judged is None:
        return ""
    said = judged.verdicts.get(url)
    was = f"was at place {judged.shown.index(url) + 1}" if url in judged.shown else "is new"
    return f"{f'judged {said}' if said else 'not judged'}, {was}"


def _change(then: float | None, now: float | None) -> str:
    return f"{_number(then)} -> {_number(now)}"


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"
