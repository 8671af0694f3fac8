"""Precision and recall of soft 404s by kind: `python -m tests.web.soft_404.figures`."""

import sys
from collections import defaultdict
from collections.abc import Iterable
from os import environ
from typing import NamedTuple

from minicrawl.web.responses.soft_404 import MissingPage
from tests.web.soft_404.made import Case, cases
from tests.web.soft_404.recorded import manuals, pages


class Judged(NamedTuple):
    case: Case
    is_called_soft: bool


def judged(some: Iterable[Case]) -> list[Judged]:
    """Return all cases with the judgments on them."""
    cases_of = defaultdict(list)
    for one in some:
        cases_of[id(one.host)].append(one)
    return [
        Judged(one, missing.is_like(one.url, one.text))
        for of_host in cases_of.values()
        for missing in [MissingPage(*of_host[0].host)]
        for one in of_host
    ]


def precision(some: Iterable[Judged]) -> float:
    """Return the share of soft 404s among the pages that were called soft 404s."""
    return _share([one.case.is_soft for one in some if one.is_called_soft])


def recall(some: Iterable[Judged]) -> float:
    return _share([one.is_called_soft for one in some if one.case.is_soft])


def by_kind(some: Iterable[Judged]) -> list[str]:
    """Return a line for each kind with its number of cases, and of those called soft 404s."""
    counts: dict[tuple[bool, str], list[bool]] = {}
    for case, is_called_soft in some:
        counts.setdefault((not case.is_soft, case.kind), []).append(is_called_soft)
    return [
        f"{'honest' if is_honest else 'soft':7}{kind:16}{sum(called):4} of {len(called):4}"
        for (is_honest, kind), called in sorted(counts.items())
    ]


def _share(of: list[bool]) -> float:
    return sum(of) / len(of)


if __name__ == "__main__":
    for half, name in (("1", "develop"), ("2", "held out")):
        found = judged([*cases(half), *manuals(half), *pages(half, environ)])
        shares = f"precision {precision(found):.3f}, recall {recall(found):.3f}"
        lines = [f"{name}: {len(found):,} cases; called soft 404:", *by_kind(found), shares]
        sys.stdout.write("\n".join(lines) + "\n\n")
