"""State of the siblings order, computed from the steps of a crawl.

Law: the state is a fold over the steps, like the books: a crawl that resumes after a crash loads
the last checkpoint and applies the steps after it.

A turn counts for its group if the page was waiting and its host was asked. A page that is closed
without a request says nothing about its siblings; neither does a page that is read again, whose
links count only as cash.

A store that was begun in another order has no state: its pages get no group, and its seeds are
trusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minicrawl.frontier.urls import UrlTable
from minicrawl.model import State
from minicrawl.opic.ledger import Ledger, Plan, Step, StepKind
from minicrawl.opic.siblings import UNKNOWN_NOVELTY, Siblings

_NOT_ASKED = frozenset(
    (
        State.TWIN,
        State.ROBOTS,
        State.SCOPE,
        State.DEPTH,
        State.HOST_BUDGET,
        State.FOCUS,
        State.ADDRESS,
        State.TRAP,
        State.ALLOWANCE,
    )
)


class SiblingSteps:
    """Fold from steps to the state of the siblings order."""

    def __init__(self, ledger: Ledger, urls: UrlTable) -> None:
        self.shown = Siblings(ledger, urls.host_of, urls.sites)

    def load(self, state: Mapping[str, bytes], pages: int) -> None:
        """Resume from a checkpoint with this many pages."""
        self.shown.restore(state, pages)

    def begin(self, pages: int, seeds: Sequence[int]) -> None:
        """Start from the checkpoint of another order."""
        self.shown.vouch(seeds)
        self.shown.introduce(range(pages))

    def apply(self, step: Step, state: int, plans: Sequence[Plan], *, waited: bool) -> None:
        """Apply one more step with its plans. `waited`: its page was waiting."""
        shown, links = self.shown, step.spending.links
        known = len(shown.ledger.key)
        new = range(known - step.born, known)
        match step.kind:
            case StepKind.VISIT | StepKind.FORWARD | StepKind.DEAD_END:
                if state == State.MOVED and step.page in shown.seeds:
                    shown.vouch(links)
                if waited and state not in _NOT_ASKED:
                    shown.end_turn(plans[0], new, leads_on=step.kind is not StepKind.FORWARD)
                    return
                if new:
                    shown.introduce(new, UNKNOWN_NOVELTY, step.page)
                shown.spend_again(plans[0])
            case StepKind.REPLAY:
                for plan in plans:
                    shown.spend_again(plan)
            case StepKind.ENDOWED:
                shown.vouch(links)
            case StepKind.BORN if step.amount:
                shown.introduce(new, min(step.born / step.amount, 1.0), step.page)
                shown.foretell(step.page, new)
            case StepKind.BORN if new:
                shown.introduce(new)
