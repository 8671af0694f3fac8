"""`minicrawl lab searches`: compares an order of results on all judged searches."""

from collections.abc import Iterator
from pathlib import Path

import click

from minicrawl.cli.output import NONE, show_facts, show_json, show_list
from minicrawl.cli.store_options import json_option, store_with_pages_option
from minicrawl.errors import UsageError
from minicrawl.lab.commands.judgements import SHOWN, Judgement, file_of, kept
from minicrawl.lab.commands.ranking_options import order_options
from minicrawl.lab.commands.search_agreement import SearchAgreement, compared
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
    agreement = compared(choice.finder(store), judged.values(), choice.request(SHOWN))
    if as_json:
        show_json(agreement)
        return
    lines = (
        (
            *(_number(search.then.ndcg), _number(search.now.ndcg)),
            *(str(search.then.first or "-"), str(search.now.first or "-")),
            str(search.now.unjudged),
            search.query,
        )
        for search in sorted(agreement.searches, key=lambda search: search.change)
    )
    show_list(_HEADINGS, lines, texts=1)
    click.echo()
    show_facts(_facts(agreement))


def _facts(agreement: SearchAgreement) -> Iterator[tuple[str, str]]:
    verdicts = counted(sum(search.verdicts for search in agreement.searches), "verdict")
    yield "judged", f"{counted(len(agreement.searches), 'search', 'searches')}, {verdicts}"
    yield "nDCG@10", _change(agreement.mean_ndcg(now=False), agreement.mean_ndcg(now=True))
    yield (
        "MRR@10",
        _change(agreement.mean_reciprocal(now=False), agreement.mean_reciprocal(now=True)),
    )
    same = len(agreement.searches) - agreement.better - agreement.worse
    yield "searches", f"{agreement.better} better, {agreement.worse} worse, {same} as before"
    yield "by chance", f"{agreement.by_chance:.3f}, by a sign test"


def tell_of_all_judged(store: Path, finder: Finder, choice: RankingChoice) -> None:
    """Print the quality of this ranking on all judged searches, if there are any."""
    if judged := kept(store):
        agreement = compared(finder, judged.values(), choice.request(SHOWN))
        means = _change(agreement.mean_ndcg(now=False), agreement.mean_ndcg(now=True))
        queries = counted(len(judged), "judged search", "judged searches")
        click.echo(
            f"{queries}: nDCG@10 {means}, {agreement.better} better, {agreement.worse} worse"
        )


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
