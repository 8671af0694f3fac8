"""URLs that lead to the same page: rules that content has proven.

Laws: no rule loses a page: a twin stands for one that is known from then on and has its turn. A
rule holds when `same_pages` pages have shown it and none has refuted it; a rule about a parameter
needs as many values of it, because a page without the parameter may equal the page of its first
value. Rules that were not used lately are forgotten, and must be shown again. The time for a URL is
proportional to its length, whatever it contains, and memory is bounded.

rule     difference that does not matter for the pages of a place: the order of the parameters; one
         of them; or the host, where one host repeats another path by path
place    origin and path without its numbers; for hosts, the origin alone
proof    hash of the difference between two pages that show a rule: a value, a path
rewrite  replace a URL by the one that a rule makes of it
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import NamedTuple
from zlib import crc32

from minicrawl.web.url_shapes import (
    MOST_PARAMETERS,
    parameter_values,
    parameters,
    program,
    with_sorted_parameters,
    without_parameter,
)
from minicrawl.web.urls import split

MOST_RULES = 1 << 14
MOST_PROOFS = 1 << 18
LONGEST_PLACE = 255
LONGEST_NAME = 64
"""Longest place and parameter name of a rule, in characters."""
MOST_OF_A_PLACE = 8
"""Limit of needless parameters per place; the oldest is forgotten first."""
_ORDER = "the order of its parameters changes nothing"


class EquivalenceRule(NamedTuple):
    """Place of a rule and its text; `name` is the parameter that it is about, if any."""

    place: str
    says: str
    name: str | None = None


class UrlEquivalence:
    """Learns rules, and rewrites URLs by them."""

    def __init__(
        self,
        limit: int | None,
        differ: Callable[[str, str], bool],
        most_rules: int = MOST_RULES,
        most_proofs: int = MOST_PROOFS,
    ) -> None:
        """Set up; `differ` tells whether the pages of two URLs were both read and differ."""
        self._limit, self._most_rules, self._most_proofs = limit, most_rules, most_proofs
        self._differ = differ
        self._proofs: OrderedDict[EquivalenceRule, set[int] | None] = OrderedDict()  # None: refuted
        self._proofs_in_all = 0
        self._needless: dict[
            str, OrderedDict[str, EquivalenceRule]
        ] = {}  # by place and name, unless refuted
        self._mirrors: dict[str, str] = {}

    def saw_copy(self, lesser: str, other: str) -> None:
        """Learn from two pages with the same content; the host of the second one matters more."""
        if self._limit is None:
            return
        (origin, target), (other_origin, other_target) = split(lesser), split(other)
        if max(len(origin), len(other_origin)) > LONGEST_PLACE:
            return
        if origin == other_origin:
            for rule, proof in _shown(origin, target, other_target):
                self._show(rule, proof)
        elif target == other_target and not self._holds(_mirror(other_origin, origin)):
            self._show(_mirror(origin, other_origin), target)
            self._choose(origin, other_origin)
            self._doubt_mirror(origin, "/")  # compare front pages, too

    def saw_original(self, url: str) -> None:
        """Learn from a page with content of its own."""
        if self._limit is None or not (self._mirrors or "?" in url):
            return
        origin, target = split(url)
        self._doubt_mirror(origin, target)
        place = _place(origin, target)
        if place is None:
            return
        if target.count("&") >= MOST_OF_A_PLACE:
            rules = self._rules_of(place, target)
        else:  # of a page with few parameters, also rules that were not shown yet
            short = (name for name in sorted(parameters(target)) if len(name) <= LONGEST_NAME)
            doubted = (*(_about(place, name) for name in short), EquivalenceRule(place, _ORDER))
            rules = [rule for rule in doubted if self._proofs.get(rule, ()) is not None]
        for rule in rules:
            original = _rewritten(target, rule.name)
            if original != target and self._differ(origin + target, origin + original):
                self._put(rule, None)

    def original(self, url: str) -> tuple[str, str] | None:
        """Return the URL that replaces this one, and why, or None. Its rule counts as used."""
        for rule, target in self._rewrites(url) if self._proofs else ():
            self._proofs.move_to_end(rule)
            return target, f"{rule.says}: seen on {self._limit} pages"
        return None

    def _holds(self, rule: EquivalenceRule) -> bool:
        return self._limit is not None and len(self._proofs.get(rule) or ()) >= self._limit

    def _rewrites(self, url: str) -> Iterator[tuple[EquivalenceRule, str]]:
        origin, target = split(url)
        if (other := self._mirrors.get(origin)) and self._holds(rule := _mirror(origin, other)):
            yield rule, other + target
        place = _place(origin, target)
        if place is None:
            return
        for rule in self._rules_of(place, target):
            if self._holds(rule) and (original := _rewritten(target, rule.name)) != target:
                yield rule, origin + original

    def _rules_of(self, place: str, target: str) -> list[EquivalenceRule]:
        """Return the rules about the URL's parameters that were shown and not refuted."""
        known = self._needless.get(place)
        rules = []
        if known is not None:
            rules = [known[name] for name in sorted(known.keys() & parameters(target))]
        order = EquivalenceRule(place, _ORDER)
        return [*rules, order] if self._proofs.get(order) else rules

    def _doubt_mirror(self, origin: str, target: str) -> None:
        other = self._mirrors.get(origin)
        if other is not None and self._differ(origin + target, other + target):
            self._put(_mirror(origin, other), None)

    def _choose(self, origin: str, other: str) -> None:
        """Note that `origin` repeats `other`, unless it repeats the host noted before more."""
        known = _mirror(origin, self._mirrors.get(origin, other))
        repeated = self._proofs.get(_mirror(origin, other)) or ()
        if len(repeated) >= len(self._proofs.get(known) or ()):
            self._mirrors[origin] = other

    def _show(self, rule: EquivalenceRule, proof: str) -> None:
        proofs = self._proofs.setdefault(rule, set())
        if proofs is not None and not self._holds(rule):
            code = crc32(proof.encode())
            self._proofs_in_all += code not in proofs
            proofs.add(code)
        self._put(rule, proofs)

    def _put(self, rule: EquivalenceRule, proofs: set[int] | None) -> None:
        if proofs is None:
            self._drop_proofs(rule)
        elif rule.name is not None:
            of_place = self._needless.setdefault(rule.place, OrderedDict())
            of_place[rule.name] = rule
            of_place.move_to_end(rule.name)
            if len(of_place) > MOST_OF_A_PLACE:
                self._forget(next(iter(of_place.values())))
        self._proofs[rule] = proofs
        self._proofs.move_to_end(rule)
        while len(self._proofs) > self._most_rules or self._proofs_in_all > self._most_proofs:
            self._forget(next(iter(self._proofs)))

    def _forget(self, rule: EquivalenceRule) -> None:
        self._drop_proofs(rule)
        del self._proofs[rule]
        other = self._mirrors.get(rule.place)
        if other is not None and rule == _mirror(rule.place, other):
            del self._mirrors[rule.place]

    def _drop_proofs(self, rule: EquivalenceRule) -> None:
        self._proofs_in_all -= len(self._proofs.get(rule) or ())
        of_place = self._needless.get(rule.place)
        if of_place is not None and rule.name is not None:
            of_place.pop(rule.name, None)
            if not of_place:
                del self._needless[rule.place]


def _place(origin: str, target: str) -> str | None:
    """Return the place of rules about the URL's parameters; None if it is too long for rules."""
    path, question, query = target.partition("?")
    if not question or query.count("&") >= MOST_PARAMETERS:
        return None
    return origin + program(path) if len(origin) + len(path) <= LONGEST_PLACE else None


def _rewritten(target: str, name: str | None) -> str:
    """Return the target without the parameter; without a name, with its parameters sorted."""
    return with_sorted_parameters(target) if name is None else without_parameter(target, name)


def _shown(origin: str, target: str, other: str) -> Iterator[tuple[EquivalenceRule, str]]:
    """Yield the rules by which one target becomes the other, each with its proof.

    The targets differ by the parameters of one name, or by the order of all.
    """
    place, other_place = _place(origin, target), _place(origin, other)
    most = max(target.count("&"), other.count("&"))
    if (place is None and other_place is None) or most >= MOST_PARAMETERS:
        return
    names, other_names = parameters(target), parameters(other)
    different = names ^ other_names
    ordered, other_ordered = with_sorted_parameters(target), with_sorted_parameters(other)
    if not different and place is not None and target != other and ordered == other_ordered:
        yield EquivalenceRule(place, _ORDER), ordered
    if len(different) != 1:
        return
    (name,) = different
    longer, shorter = (ordered, other_ordered) if names > other_names else (other_ordered, ordered)
    place = place if names > other_names else other_place
    if (
        place is not None
        and len(name) <= LONGEST_NAME
        and without_parameter(longer, name) == shorter
    ):
        yield _about(place, name), parameter_values(longer, name)


def _mirror(origin: str, other: str) -> EquivalenceRule:
    return EquivalenceRule(origin, f"its host repeats {other}")


def _about(place: str, name: str) -> EquivalenceRule:
    return EquivalenceRule(place, f"the parameter {name} changes nothing", name)
