"""Known pages that are never requested: out of scope, over a limit, or in a trap.

A trap is an endless set of pages that say nothing new.

Laws: a skipped page stays known and ranked, and its turn ends with a reason that names the limit. A
seed is in no trap. Memory is bounded: nothing is kept for each known URL. A rule that a crawl has
forgotten, or that a new run does not know yet, is learned again by a few more requests.

To add a trap, check for it in `TrapDetector.skip_reason`; `read` and `found` learn from pages.

path           its path has too many segments, or repeats one too often
barren         its host repeats itself under URLs like its own
allowance      its host, site or network has had as many pages as it has earned
twin           content has proven that its URL leads to another page
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, cast
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from minicrawl import ext
from minicrawl.config import Scope, Traps as TrapLimits
from minicrawl.crawl.novelty import NoveltyTracker
from minicrawl.crawl.quotas import Quotas
from minicrawl.crawl.settle.contents import Duplicates
from minicrawl.crawl.settle.recorder import Recorder
from minicrawl.errors import MinicrawlError
from minicrawl.model import PageId, ParsedPage, State
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.store import tables
from minicrawl.web.responses import FROM_SEEDS, may_be_wanted, types_of, unwanted_endings
from minicrawl.web.scope import PROGRAMS, REACHES, ScopeRules, folders
from minicrawl.web.takedowns import NO_TAKEDOWNS, Takedowns
from minicrawl.web.urls import (
    MOST_PARAMETERS,
    most_repeats,
    parameter_values,
    parameters,
    program,
    segments,
    split,
    with_sorted_parameters,
    without_parameter,
)

# ================================================================ scope
#
# The gate: decides which pages may be fetched at all, by the user's scope and limits.

NO_ENDINGS: frozenset[str] = frozenset()
_ANY = "any"


class ScopeGate:
    """The user's scope and limits, and the filters of a package and of a Python program, if any."""

    def __init__(
        self,
        scope: Scope,
        seeds: Iterable[str],
        accept: Callable[[str], bool] | None = None,
        gone: Takedowns = NO_TAKEDOWNS,
    ) -> None:
        self._gone = gone
        self._scope, self._accept, self._filter = scope, accept, _filter(scope.scope)
        self._types = types_of(scope.types)
        self._of_seeds = self._types | FROM_SEEDS
        self._endings = unwanted_endings(self._types)
        self._endings_of_seeds = unwanted_endings(self._of_seeds) - PROGRAMS
        is_prefix = scope.scope == "prefix"  # the folder of a concealed URL is unknown
        self._folders = [url for url in seeds if not gone.covers(url)] if is_prefix else []
        self._rules = self._rules_for(self._folders if is_prefix else seeds)
        self._wider = self._rules_for(())
        self._led_to: list[str] = []
        self._max_depth = scope.max_depth
        self._per_host = scope.per_host_pages

    @property
    def has_filter(self) -> bool:
        """True if a program or a package filters URLs, too."""
        return self._accept is not None or self._filter is not None

    @property
    def folders(self) -> list[str]:
        """Folders that contain all pages in scope, if the scope is the folders of the seeds."""
        return folders((*self._folders, *self._led_to)) if self._folders else []

    def refusal(
        self, url: str, depth: int, pages_of_host: int, *, is_seed: bool = False
    ) -> State | None:
        """Return why the page is refused, or None."""
        types, endings = self._types, self._endings
        if is_seed:  # of a seed, and of the pages that it redirects to, more types are read
            types, endings = self._of_seeds, self._endings_of_seeds
        if not may_be_wanted(url, types, endings):
            return State.TYPE
        if not self._is_within(url):
            return State.SCOPE
        if self._accept is not None and not self._accept(url):
            return State.SCOPE
        if self._max_depth is not None and depth > self._max_depth:
            return State.DEPTH
        if self._per_host is not None and pages_of_host >= self._per_host:
            return State.HOST_BUDGET
        return None

    def refusal_of_file(self, url: str, depth: int) -> State | None:
        """Return why a file such as a sitemap is not requested; None if it is requested."""
        if not self._is_within(url):
            return State.SCOPE
        return State.DEPTH if self._max_depth is not None and depth > self._max_depth else None

    def refusal_of_part(self, url: str, *, in_scope: bool) -> State | None:
        """Return why a part or a link target of a page is not requested; None if it is.

        It is refused if it is denied, or if it must be within the scope and is not.
        """
        is_denied = self._rules.denies(url) or self._gone.covers(url)
        is_refused = is_denied or (in_scope and not self._is_within(url))
        return State.SCOPE if is_refused else None

    def _is_within(self, url: str) -> bool:
        is_reached = self._rules.allows(url) or self._wider.allows(url)
        return (
            is_reached
            and not self._gone.covers(url)
            and (self._filter is None or self._filter(url))
        )

    def widen(self, url: str) -> None:
        """Admit a URL that the user meant: the target of a seed's redirect, or a new seed."""
        if not (self._is_within(url) or self._gone.covers(url)):
            self._led_to.append(url)
            self._wider = self._rules_for(self._led_to)

    def _rules_for(self, seeds: Iterable[str]) -> ScopeRules:
        scope = self._scope
        reach = _ANY if self._filter else scope.scope
        return ScopeRules.of(reach, seeds, allow=scope.allow, deny=scope.deny, not_html=NO_ENDINGS)


def _filter(scope: str) -> Callable[[str], bool] | None:
    """Return the filter that a package adds as a scope; None for a built-in scope.

    A filter that raises ends the crawl: to guess would request what nobody asked for, or lose it.
    """
    if scope in REACHES:
        return None
    admits = cast(Callable[[str], bool], ext.required(ext.FILTERS, scope, "scope"))

    def is_admitted(url: str) -> bool:
        try:
            return bool(admits(url))
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            raise MinicrawlError(f"the filter {scope!r} raised {told} for {url}") from error

    return is_admitted


def gate_for(
    recorder: Recorder, scope: Scope, accept: Callable[[str], bool] | None = None
) -> ScopeGate:
    """Return the gate for the seeds, widened by the pages that they have redirected to so far.

    It denies the URLs that were taken down.
    """
    gate = ScopeGate(scope, recorder.seeds.urls(), accept, tables.taken_down(recorder.counters))
    for url in recorder.seeds.redirect_targets():
        gate.widen(url)
    return gate


# ================================================================ equivalence
#
# URLs that lead to the same page: rules that content has proven.
#
# Laws: no rule loses a page: a folded page stands for one that is known from then on and has its
# turn. A rule holds when `same_pages` pages have shown it and none has refuted it; a rule about a
# parameter needs as many values of it, because a page without the parameter may equal the page of
# its first value. Rules that were not used lately are forgotten, and must be shown again. The time
# for a URL is proportional to its length, whatever it contains, and memory is bounded.
#
# rule    difference that does not matter for the pages of a place: the order of the parameters; one
#         of them; or the host, where one host repeats another path by path
# place   origin and path without its numbers; for hosts, the origin alone
# proof   hash of the difference between two pages that show a rule: a value, a path
# fold    replace a URL by the one that a rule makes of it

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


class Folded(NamedTuple):
    """URL that another one is folded to, and the reason."""

    url: str
    reason: str


class UrlEquivalence:
    """Learns rules, and folds URLs by them."""

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
        if place is not None:
            for rule in self._to_doubt(place, target):
                folded = _folded(target, rule.name)
                if folded != target and self._differ(origin + target, origin + folded):
                    self._put(rule, None)

    def original(self, url: str) -> Folded | None:
        """Return the URL that this one is folded to, or None. Its rule counts as used."""
        for rule, target in self._folds(url) if self._proofs else ():
            self._proofs.move_to_end(rule)
            return Folded(target, f"{rule.says}: seen on {self._limit} pages")
        return None

    def _holds(self, rule: EquivalenceRule) -> bool:
        return self._limit is not None and len(self._proofs.get(rule) or ()) >= self._limit

    def _folds(self, url: str) -> Iterator[tuple[EquivalenceRule, str]]:
        """Yield the URLs that this one is folded to, by each rule that holds."""
        origin, target = split(url)
        if (other := self._mirrors.get(origin)) and self._holds(rule := _mirror(origin, other)):
            yield rule, other + target
        place = _place(origin, target)
        if place is None:
            return
        for rule in self._rules_of(place, target):
            if self._holds(rule) and (folded := _folded(target, rule.name)) != target:
                yield rule, origin + folded

    def _rules_of(self, place: str, target: str) -> list[EquivalenceRule]:
        """Return the rules about the URL's parameters that were shown and not refuted."""
        known = self._needless.get(place)
        rules = []
        if known is not None:
            rules = [known[name] for name in sorted(known.keys() & parameters(target))]
        order = EquivalenceRule(place, _ORDER)
        return [*rules, order] if self._proofs.get(order) else rules

    # ------------------------------------------------------------ doubts

    def _to_doubt(self, place: str, target: str) -> Iterable[EquivalenceRule]:
        """Return the rules that a page with content of its own may refute.

        For a page with few parameters, these include rules that were not shown yet.
        """
        if target.count("&") >= MOST_OF_A_PLACE:
            return self._rules_of(place, target)
        short = (name for name in sorted(parameters(target)) if len(name) <= LONGEST_NAME)
        rules = (*(_about(place, name) for name in short), EquivalenceRule(place, _ORDER))
        return [rule for rule in rules if self._proofs.get(rule, ()) is not None]

    def _doubt_mirror(self, origin: str, target: str) -> None:
        other = self._mirrors.get(origin)
        if other is not None and self._differ(origin + target, other + target):
            self._put(_mirror(origin, other), None)

    # ------------------------------------------------------------ proofs

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
            self._enter(rule, rule.name)
        self._proofs[rule] = proofs
        self._proofs.move_to_end(rule)
        while len(self._proofs) > self._most_rules or self._proofs_in_all > self._most_proofs:
            self._forget(next(iter(self._proofs)))

    def _enter(self, rule: EquivalenceRule, name: str) -> None:
        of_place = self._needless.setdefault(rule.place, OrderedDict())
        of_place[name] = rule
        of_place.move_to_end(name)
        if len(of_place) > MOST_OF_A_PLACE:
            self._forget(next(iter(of_place.values())))

    def _forget(self, rule: EquivalenceRule) -> None:
        self._drop_proofs(rule)
        del self._proofs[rule]
        other = self._mirrors.get(rule.place)
        if other is not None and rule == _mirror(rule.place, other):
            del self._mirrors[rule.place]

    def _drop_proofs(self, rule: EquivalenceRule) -> None:
        """Drop the proofs of a rule, which no longer holds."""
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


def _folded(target: str, name: str | None) -> str:
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


# ================================================================ detector

SHORT_CHAIN = 3
"""Number of consecutive redirects that healthy sites need: new scheme, new host, new path."""
_GROWTH, _FEWEST = 1.1, 100
"""Factor and number by which requests have to grow between two looks for pages to reopen."""


class SkipReason(NamedTuple):
    """End of a turn without a request; the page stands for the `original`, if there is one."""

    state: State
    detail: str = ""
    original: str | None = None


class PathLimits:
    """Refuses URLs by their paths alone."""

    def __init__(self, limits: TrapLimits) -> None:
        self._max_segments, self._max_repeats = limits.max_segments, limits.max_repeats
        self._fewest_slashes = min(self._max_segments, self._max_repeats) + len("//")

    def refusal(self, url: str) -> str | None:
        """Return why the URL need not be requested, or None."""
        if url.count("/") < self._fewest_slashes:
            return None
        _, target = split(url)
        most, repeats = self._max_segments, self._max_repeats
        if (found := segments(target)) > most:
            return f"its path has {found:,} segments: more than {most:,}"
        if (found := most_repeats(target)) > repeats:
            return f"a segment of its path occurs {found:,} times: more than {repeats:,}"
        return None


class TrapDetector:
    """Decides before each request whether the page is in a trap, and learns from responses."""

    def __init__(self, limits: TrapLimits, recorder: Recorder, gate: ScopeGate) -> None:
        frontier = recorder.frontier
        self.seeds = recorder.seeds.ids()
        self.seeds.update([frontier.books.stands_for(page) for page in self.seeds])
        self._recorder, self._frontier, self._gate = recorder, frontier, gate
        self._path_limits = PathLimits(limits)
        pages = limits.site_pages
        self.quotas = Quotas(pages, pages, frontier.urls.sites, frontier.urls.host_of)
        self.novelty = NoveltyTracker(limits.barren_pages)
        self._equivalence = UrlEquivalence(limits.same_pages, self._differ)
        self.copies = Duplicates(frontier, self.quotas.inbound_cash, self.seeds)
        self.due_at = 0.0
        """Number of requests at which to look for pages to reopen."""
        self.quotas.vouch(frontier.urls.host_of[page] for page in self.seeds)

    def restore(self, pages_by_host: Iterable[tuple[int, int]]) -> None:
        """Load the number of pages of these hosts that earlier runs read."""
        self.quotas.restore(pages_by_host)

    def importance_of_sites(self, endowment: float) -> NDArray[np.float64]:
        """Return for each host the cash that other sites and the user gave to its site."""
        return self.quotas.inbound_cash.to_sites(endowment)

    # ------------------------------------------------------------ before a request

    def skip_reason(self, page: PageId, host: int, url: str) -> SkipReason | None:
        """Return how the page's turn ends without a request; None if the page is requested."""
        if page in self.seeds or page in self.copies.compared:
            return None
        folded = self._equivalence.original(url)
        if folded is not None and self._may_stand_for(page, folded.url):
            return SkipReason(State.TWIN, folded.reason, folded.url)
        why = self._path_limits.refusal(url) or self.novelty.refusal(page, host, url)
        if why is not None:
            return SkipReason(State.TRAP, why)
        why = self.quotas.refusal(host)
        return None if why is None else SkipReason(State.ALLOWANCE, why)

    def _may_stand_for(self, page: PageId, target: str) -> bool:
        """Return whether the target was read or waits, on a host that matters no less."""
        if self._gate.refusal(target, 0, 0) is not None:
            return False
        host, of_target = (
            self._frontier.urls.host_of[page],
            self._recorder.host_at(split(target)[0]),
        )
        are_strangers = self.quotas.inbound_cash.are_strangers(host, of_target)
        if are_strangers and self.quotas.inbound_cash.overtakes(host, of_target):
            return False
        other = self._frontier.urls.find(target)
        if other is None:
            return True
        end = self._frontier.books.stands_for(other)
        state = State(self._frontier.state[end])
        return end != page and (state is State.UNREAD or state.was_read)

    # ------------------------------------------------------------ after a response

    def vouch(self, page: PageId) -> None:
        """Treat a page as a seed: the target of a seed's redirect, or one that the user adds."""
        self.seeds.add(page)
        self.quotas.vouch([self._frontier.urls.host_of[page]])

    def read(self, page: PageId, url: str, parsed: ParsedPage, first: int | None) -> bool:
        """Learn from a page. Return whether it says nothing new; `first` has the same content.

        Nothing is learned from a page that is read again: it repeats itself. A copy on another site
        does not count against a host.
        """
        if self._frontier.state[page] != State.UNREAD or page in self.copies.compared:
            return False
        is_strange = first is not None and self.copies.are_strangers(page, first)
        own = None if is_strange else first
        novelty = self.novelty.read(page, self._frontier.urls.host_of[page], url, parsed, own)
        other = first if is_strange else novelty.copy_of
        if other is not None:
            urls = url, self._recorder.pages.url_of(other)
            host_of = self._frontier.urls.host_of
            outranks = self.quotas.inbound_cash.outranks(host_of[page], host_of[other])
            self._equivalence.saw_copy(*(reversed(urls) if outranks else urls))
        elif novelty.is_new:
            self._equivalence.saw_original(url)
        return novelty.is_barren

    def redirected(self, page: PageId, url: str, hops: int, new: Sequence[int]) -> None:
        """Learn from a redirect to a new page, the last of `hops` consecutive redirects."""
        if hops > SHORT_CHAIN:
            self.novelty.led_on(page, self._frontier.urls.host_of[page], url)
        if hops >= SHORT_CHAIN:
            self.novelty.found((), new, is_barren=True)

    def found(
        self, page: PageId, pages: Sequence[int], new: Sequence[int], *, is_barren: bool
    ) -> None:
        """Learn from the links of a page; at its first reading, charge new pages to its host."""
        self.novelty.found(pages, new, is_barren=is_barren)
        if new and self._frontier.state[page] == State.UNREAD:
            self.quotas.spend_on_new(self._frontier.urls.host_of[page], new)

    def paid(self, page: PageId, plans: Sequence[Plan], links: Sequence[int]) -> None:
        """Count the cash that the page handed on along these links for the first time."""
        host = self._frontier.urls.host_of[page]
        self.quotas.inbound_cash.add(host, plans)
        for plan in plans:
            # A link to a copy pays the original, but counts as a gift to the copy: it could not
            # overtake the original otherwise.
            if plan.links is not links and (misled := self.copies.gifts.to_copies(plan, links)):
                self.quotas.inbound_cash.add(host, [Plan(page, 0, (), 0, misled, 0)])

    def received(self, pages: Sequence[int], atoms: Sequence[int]) -> None:
        """Count the cash that pages of other shards, so of other sites, gave to these pages."""
        self.quotas.inbound_cash.receive(pages, atoms)

    def located(self, host: int, address: str) -> None:
        """Note the address of a host: hosts at one address share a quota."""
        self.quotas.locate(host, address)

    def _differ(self, url: str, other: str) -> bool:
        known = [self._frontier.urls.find(name) for name in (url, other)]
        documents = [
            None if page is None else self._recorder.pages.document(page) for page in known
        ]
        return len({document.content for document in documents if document is not None}) > 1

    # ------------------------------------------------------------ pages to reopen

    def due(self, requests: float) -> list[int]:
        """Return pages to reopen, and set the next `due_at`; to be called when that is reached."""
        self.due_at = requests * _GROWTH + _FEWEST
        return self.earned()

    def earned(self) -> list[int]:
        """Return pages whose hosts have earned more, and copies that overtook their originals."""
        frontier, with_room = self._frontier, list[int]()
        if frontier.counts[State.ALLOWANCE]:
            with_room = self.quotas.with_room(np.flatnonzero(frontier.states() == State.ALLOWANCE))
        return [*with_room, *self.copies.take_overtaking()]
