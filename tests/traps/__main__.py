"""`python -m tests.traps`: a table of the traps, with the limits and without."""

import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.traps.crawl import OFF, SMALL, Outcome, crawl


def main() -> None:
    with TemporaryDirectory(prefix="traps-") as folder:
        _show("without limits", crawl(Path(folder, "off.db"), **OFF))
        _show("with limits", crawl(Path(folder, "on.db"), **SMALL))


def _show(title: str, outcome: Outcome) -> None:
    say = sys.stdout.write
    say(f"{title}: {outcome.healthy_share:.1%} of the healthy pages, ")
    say(f"{outcome.trapped_share:.1%} of {outcome.requests.total():,} requests in traps\n")
    for kind in sorted({*outcome.requests, *outcome.aside}):
        asked, aside = outcome.requests[kind], outcome.aside.get(kind, Counter())
        limits = ", ".join(f"{limit} ({count:,})" for limit, count in aside.most_common())
        say(f"  {kind:14}{asked:7,}{asked / outcome.requests.total():8.1%}  {limits}\n")


if __name__ == "__main__":
    main()
