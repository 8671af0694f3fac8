"""How far a crawl has come: what is known and what was done. It never guesses when a crawl ends."""

from __future__ import annotations

from dataclasses import dataclass

from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.frontier.gathered_importance import GatheredImportance
from minicrawl.model import State
from minicrawl.opic.money import UNIT
from minicrawl.ports import Clock
from minicrawl.store import tables

_COST_SHARE = 0.01
"""The share of the time that may be spent on adding up the importance of pages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The state of a crawl at one moment. Totals are over all its runs."""

    known: int
    unread: int
    fetched: int
    requests: int
    failed: int
    wire_bytes: int
    hosts: int
    running_s: float
    turns_of_cash: float  # G / M: how often all the cash has gone round
    importance_gathered: float  # the share that lies on pages that were read


class ProgressMeter:
    """Reads a running crawl. It adds up importance so seldom that this costs next to nothing."""

    def __init__(self, recorder: Recorder, clock: Clock) -> None:
        self._recorder = recorder
        self._clock = clock
        self._gathering = GatheredImportance(
            recorder.frontier, recorder.counters.number(tables.GATHERED)
        )
        self._due = 0.0

    def read(self) -> Progress:
        """The crawl as it is now."""
        recorder, ledger = self._recorder, self._recorder.frontier.ledger
        counts = recorder.frontier.counts
        return Progress(
            known=len(recorder.frontier),
            unread=ledger.unread,
            fetched=int(recorder.counters.number("fetched")),
            requests=int(recorder.counters.number("requests")),
            failed=sum(counts[state] for state in State if state.is_failure),
            wire_bytes=int(recorder.counters.number("wire_bytes")),
            hosts=len(recorder.frontier.urls.origins),
            running_s=recorder.counters.number("running_s"),
            turns_of_cash=ledger.recorded / max(ledger.minted, UNIT),
            importance_gathered=self._importance_gathered(),
        )

    def _importance_gathered(self) -> float:
        now = self._clock.now()
        if now >= self._due and len(self._recorder.frontier):
            if self._gathering.go_on():
                self._recorder.counters[tables.GATHERED] = self._gathering.share
            self._due = now + (self._clock.now() - now) / _COST_SHARE
        return self._gathering.share
