"""Pages that are another one by their URL, once content has proven it.

Laws: no rule loses a page: what is folded stands for a page that is known from then on and has its
turn. A rule holds when so many pages have shown it (`--same-pages`) and none the contrary; of a
parameter it takes as many values, for its first one may be what a page shows without it. Rules
that nobody needed lately are forgotten, and have to be shown anew.

rule    what changes nothing in the pages of a place: the order of parameters; one of them; or the
        host, where one repeats another path by path
place   an origin and a path without its numbers; for hosts the origin alone
proof   what tells two pages that show a rule apart: a value, a path
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import NamedTuple

from minicrawl.web.traps import in_order, parameters, program, values, without
from minicrawl.web.urls import split

MOST_RULES = 1 << 14
_ORDER = "the order of its parameters changes nothing"


class Rule(NamedTuple):
    """Where it holds and what it says, in words."""

    place: str
    says: str


class Folded(NamedTuple):
    """What a URL stands for, and why."""

    url: str
    reason: str


class Twins:
    """Learns rules, and folds URLs by them."""

    def __init__(self, limit: int | None, differ: Callable[[str, str], bool]) -> None:
        """`differ` says of two URLs whether the pages of both were read and are not the same."""
        self._limit = limit
        self._differ = differ
        self._proofs: OrderedDict[Rule, set[str] | None] = OrderedDict()  # None: it is refuted
        self._mirrors: dict[str, str] = {}

    def saw_copy(self, lesser: str, other: str) -> None:
        """These pages have the same content; the host of the second one matters more."""
        if self._limit is None:
            return
        (origin, target), (other_origin, other_target) = split(lesser), split(other)
        if origin == other_origin and ("?" in target or "?" in other_target):
            for rule, proof in (
                *_shown(origin, target, other_target),
                *_shown(origin, other_target, target),
            ):
                self._show(rule, proof)
        elif (
            origin != other_origin
            and target == other_target
            and not self._holds(_mirror(other_origin, origin))
        ):
            self._show(_mirror(origin, other_origin), target)
            self._choose(origin, other_origin)
            self._doubt(f"{origin}/")  # hosts that share some pages have other front pages

    def saw_original(self, url: str) -> None:
        """The page at `url` has content of its own."""
        if self._limit is not None and (self._mirrors or "?" in url):
            self._doubt(url)

    def original(self, url: str) -> Folded | None:
        """What the URL stands for."""
        for rule, target in self._folds(url) if self._proofs else ():
            if self._holds(rule):
                self._proofs.move_to_end(rule)
                return Folded(target, f"{rule.says}: --same-pages {self._limit}")
        return None

    def _holds(self, rule: Rule) -> bool:
        return self._limit is not None and len(self._proofs.get(rule) or ()) >= self._limit

    def _choose(self, origin: str, other: str) -> None:
        """Of several hosts that it may repeat the one that it repeats most."""
        known = _mirror(origin, self._mirrors.get(origin, other))
        repeated = self._proofs[_mirror(origin, other)] or ()
        if len(repeated) >= len(self._proofs.get(known) or ()):
            self._mirrors[origin] = other

    def _doubt(self, url: str) -> None:
        for rule, target in self._folds(url):
            if self._proofs.get(rule, ()) is not None and self._differ(url, target):
                self._put(rule, None)

    def _folds(self, url: str) -> Iterator[tuple[Rule, str]]:
        """What it would be by each rule that may hold."""
        origin, target = split(url)
        if other := self._mirrors.get(origin):
            yield _mirror(origin, other), other + target
        if "?" in target:
            for name in sorted(parameters(target)):
                yield _needless(origin, target, name), origin + without(target, name)
            if (ordered := in_order(target)) != target:
                yield _order(origin, target), origin + ordered

    def _show(self, rule: Rule, proof: str) -> None:
        proofs = self._proofs.get(rule, set())
        if proofs is not None and not self._holds(rule):
            proofs.add(proof)
        self._put(rule, proofs)

    def _put(self, rule: Rule, proofs: set[str] | None) -> None:
        self._proofs[rule] = proofs
        self._proofs.move_to_end(rule)
        if len(self._proofs) > MOST_RULES:
            forgotten, _ = self._proofs.popitem(last=False)
            self._mirrors.pop(forgotten.place, None)


def _shown(origin: str, target: str, other: str) -> Iterator[tuple[Rule, str]]:
    """The rules by which the first of two becomes the other, and what proves them."""
    ordered, other_ordered = in_order(target), in_order(other)
    if target != other and ordered == other_ordered:
        yield _order(origin, target), ordered
    for name in parameters(target) - parameters(other):
        if without(ordered, name) == other_ordered:
            yield _needless(origin, target, name), values(target, name)


def _mirror(origin: str, other: str) -> Rule:
    return Rule(origin, f"its host repeats {other}")


def _order(origin: str, target: str) -> Rule:
    return Rule(origin + program(target), _ORDER)


def _needless(origin: str, target: str, name: str) -> Rule:
    return Rule(origin + program(target), f"the parameter {name} changes nothing")
