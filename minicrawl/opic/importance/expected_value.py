"""Expected values of unread pages, by the values of pages that were read.

A scorer gives each page that is read a value from 0 to 1. Five signals say what the value of an
unread page is likely to be, each the mean over pages read, begun with two pages of mean value m:

    siblings   pages of its host that the same page made known
    links      pages that link to it
    host       pages of its host
    folder     pages with the same path up to the last slash
    word       pages with the same longest word in the rest of the URL

A logistic function adds them up, and learns their weights w from every page read:

    p = sigma(logit m + w0 + sum w_q (logit x_q - logit m))

Unread pages are ordered by key * p^(W t): their key in the sibling order, the weight W that the
user gives to the value, and the trust t in p. The gain s is the sum of d (v - a) over the pages
read, by what was known before each: d = ln p - ln p0, with p0 = sigma(logit m + w0) for a page that
no signal knows, and the plain mean a of the values, as m, which begins at .3, is too high for rare
values. If the value is noise, the variance of s is V, the sum of d^2 var v; but among few pages,
one lucky hit is many roots of V. Bennett's inequality holds for few as well, with b, the largest
|d| so far, and n = V / b^2. The second term makes it hold after each page: chance tries each time.

    z^2 = 2 n ((1 + u) ln(1 + u) - u) - 2.8 ln(1 + ln(1 + n)),   u = b s / V

So the fewer the pages, the more gain it takes. The trust is 0 up to z = 1.75, and 1 from 2.5 on.

Example: m is .1. Of a page's siblings 3 were read, worth 1, 1 and 0, so x = (.2 + 2) / 5 = .44 and
logit .44 - logit .1 = 1.96. The other signals know nothing. With weights of .3, logit p = -2.20 +
.3 * 1.96 = -1.61, so p is .167: with full trust and W = 2 the page comes before a page of the mean
value, p = .1, that has 2.7 times its key.

Laws: cash is read, never scaled. The estimate is a fold over the steps with values, so the log can
rebuild it. Memory is 7 bytes a page, and fixed tables for folders and words: hashes that share an
entry cost accuracy, not correctness.

value   16 bits of a share, as in the log
level   how far p^(W t) is below 1, in sixteenths of a factor of e: a byte in the queue
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from itertools import chain
from math import log, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from minicrawl.model import FULL_VALUE, PageId
from minicrawl.opic.ledger.ledger import Plan
from minicrawl.opic.siblings.groups import NO_GROUP, Pages
from minicrawl.opic.siblings.siblings import Siblings
from minicrawl.opic.siblings.values import LEVELS_A_FACTOR, MOST_LEVEL, Floats

WEIGHT = 2.0
SIGNALS = ("siblings", "links", "host", "folder", "word")

_PRIOR, _MEAN_AT_FIRST = 3, 0.3
_LEAST_MEAN, _MOST_MEAN = 0.001, 0.97
_PRIOR_OF_MEAN = 2
_FIRST_WEIGHT, _MOST_WEIGHT = 0.3, 1.5
_RATE, _ACCUMULATED = 0.05, 0.01
_NO_TRUST, _FULL_TRUST = 1.75, 2.5
_SLOTS = 1 << 16
_LOOKS = 2.8
"""The law of the iterated logarithm: Howard et al., Annals of Statistics 49 (2021), have 2.89."""
_NO_SIGNALS = (1.0, *[0.0] * len(SIGNALS))
_LINK_PARTS, _MOST_LINKS = 256, 255
"""Values of linking pages are summed in 256ths; beyond 255 pages, sum and number are halved."""
Levels = NDArray[np.uint8]


class _Means:
    """Sum and number of the values of pages read, for dense keys."""

    __slots__ = ("counts", "sums")

    def __init__(self, keys: int = 0) -> None:
        self.sums, self.counts = array("d", bytes(8 * keys)), array("I", bytes(4 * keys))

    def add(self, key: int, value: float) -> None:
        missing = key + 1 - len(self.sums)
        if missing > 0:
            self.sums.frombytes(bytes(8 * missing))
            self.counts.frombytes(bytes(4 * missing))
        self.sums[key] += value
        self.counts[key] += 1

    def of(self, keys: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return sums and numbers; unknown and negative keys have none."""
        sums, counts = np.zeros(len(keys)), np.zeros(len(keys))
        (known,) = ((keys >= 0) & (keys < len(self.sums))).nonzero()
        sums[known] = np.frombuffer(self.sums)[keys[known]]
        counts[known] = np.frombuffer(self.counts, dtype=np.uint32)[keys[known]]
        return sums, counts


class ValueEstimate:
    """Estimate of the values of all pages, which learns from each page that is read."""

    def __init__(self, siblings: Siblings, traits: array[int]) -> None:
        """`traits` has hashes of folder and word for each page: see `traits_of`."""
        self._siblings, self._traits = siblings, traits
        self._link_sums, self._link_counts = array("H"), bytearray()
        self._means = {"groups": _Means(), "hosts": _Means()}
        self._means |= {"folders": _Means(_SLOTS), "words": _Means(_SLOTS)}
        self._read = self._sum = self._squares = self._gain = self._chance = self._farthest = 0.0
        self._weights = np.array([0.0] + [_FIRST_WEIGHT] * len(SIGNALS))
        self._gradients = np.full(1 + len(SIGNALS), _ACCUMULATED)

    def learn(self, value: int, plans: Iterable[Plan]) -> None:
        """Learn from the value of a page read for the first time; `plans` are those of its step."""
        for plan in plans:
            self._learn(plan.page, value / FULL_VALUE)
            self._link(plan, value)

    def _learn(self, page: PageId, value: float) -> None:
        alone = np.array([page], dtype=np.uint32)
        (signals,) = self._signals(alone).T
        expected, unknown = self._expected(np.column_stack((signals, _NO_SIGNALS))).tolist()
        if self._read:
            distance = log(expected) - log(unknown)
            # The variance has the pages that m begins with; without a value so far it would be 0.
            square = (_PRIOR * _MEAN_AT_FIRST + self._squares) / (_PRIOR + self._read)
            self._gain += distance * (value - self._sum / self._read)
            self._chance += distance**2 * max(square - self.mean**2, 0.0)
            self._farthest = max(self._farthest, abs(distance))
        gradients = (expected - value) * signals
        self._gradients += gradients**2
        self._weights -= _RATE * gradients / np.sqrt(self._gradients)
        np.clip(self._weights[1:], 0.0, _MOST_WEIGHT, out=self._weights[1:])
        self._read += 1
        self._sum += value
        self._squares += value**2
        host, traits = self._siblings.host_of[page], self._traits[page]
        if (group := self._siblings.groups.of_one(page, host)) != NO_GROUP:
            self._means["groups"].add(group, value)
        self._means["hosts"].add(host, value)
        self._means["folders"].add(traits & _SLOTS - 1, value)
        self._means["words"].add(traits >> 16, value)

    def _link(self, plan: Plan, value: int) -> None:
        """Count a link to each page that gets cash by the plan."""
        sums, counts = self._link_sums, self._link_counts
        missing = len(self._siblings.ledger.key) - len(counts)
        sums.frombytes(bytes(2 * missing))
        counts.extend(bytes(missing))
        part = round(value / FULL_VALUE * _LINK_PARTS)
        for page in chain(plan.links, (page for page, _ in plan.extras)):
            if counts[page] == _MOST_LINKS:
                counts[page] >>= 1
                sums[page] >>= 1
            counts[page] += 1
            sums[page] += part

    @property
    def mean(self) -> float:
        """m, the mean value of the pages read."""
        mean = (_PRIOR * _MEAN_AT_FIRST + self._sum) / (_PRIOR + self._read)
        return min(max(mean, _LEAST_MEAN), _MOST_MEAN)

    @property
    def trust(self) -> float:
        """t: 0 if the estimates are no better than chance, 1 if they surely are."""
        if not self._chance or self._gain <= 0:
            return 0.0
        pages, ratio = self._chance / self._farthest**2, self._farthest * self._gain / self._chance
        evidence = 2 * pages * ((1 + ratio) * log1p(ratio) - ratio)
        deviations = sqrt(max(evidence - _LOOKS * log1p(log1p(pages)), 0.0))
        return min(max((deviations - _NO_TRUST) / (_FULL_TRUST - _NO_TRUST), 0.0), 1.0)

    def expected(self, pages: Pages) -> Floats:
        return self._expected(self._signals(pages))

    def levels(self, pages: Pages, weight: float) -> Levels:
        """Return the levels of these pages if the value has this weight."""
        power = LEVELS_A_FACTOR * weight * self.trust
        if not power or not len(pages):
            return np.zeros(len(pages), dtype=np.uint8)
        levels = np.minimum(np.rint(-power * np.log(self.expected(pages))), MOST_LEVEL)
        return levels.astype(np.uint8)

    def signals_of(self, page: PageId) -> tuple[float, list[tuple[str, float, int]]]:
        """Return p for a page, and name, mean and pages of each signal that rests on any."""
        alone = np.array([page], dtype=np.uint32)
        signals = [
            (name, float(sums[0] / counts[0]), int(counts[0]))
            for name, (sums, counts) in zip(SIGNALS, self._known(alone), strict=True)
            if counts[0]
        ]
        return float(self.expected(alone)[0]), signals

    def _expected(self, signals: Floats) -> Floats:
        # No matrix product: its last bits may depend on the number of pages.
        total = _logit(self.mean) + (self._weights[:, None] * signals).sum(axis=0)
        chances: Floats = 1 / (1 + np.exp(-total))
        return chances

    def _signals(self, pages: Pages) -> Floats:
        """Return the distance of each signal from the mean, as logits; the first is constant."""
        rows, mean = np.ones((1 + len(SIGNALS), len(pages))), self.mean
        for place, (sums, counts) in enumerate(self._known(pages), 1):
            means = (sums + _PRIOR_OF_MEAN * mean) / (counts + _PRIOR_OF_MEAN)
            rows[place] = np.log(means / (1 - means)) - _logit(mean)
        return rows

    def _known(self, pages: Pages) -> list[tuple[Floats, Floats]]:
        """Return sum and number of the values that each signal knows of these pages."""
        hosts = np.frombuffer(self._siblings.host_of, dtype=np.uint32)[pages]
        traits = np.frombuffer(self._traits, dtype=np.uint32)[pages].astype(np.int64)
        sums, counts = np.zeros(len(pages)), np.zeros(len(pages))
        (linked,) = (pages < len(self._link_counts)).nonzero()
        sums[linked] = np.frombuffer(self._link_sums, dtype=np.uint16)[pages[linked]] / _LINK_PARTS
        counts[linked] = np.frombuffer(self._link_counts, dtype=np.uint8)[pages[linked]]
        return [
            self._means["groups"].of(self._siblings.groups.of(pages, hosts)),
            (sums, counts),
            self._means["hosts"].of(hosts.astype(np.int64)),
            self._means["folders"].of(traits & _SLOTS - 1),
            self._means["words"].of(traits >> 16),
        ]

    def state(self) -> dict[str, bytes]:
        numbers = self._read, self._sum, self._squares, self._gain, self._chance, self._farthest
        return {
            "value.numbers": array("d", numbers).tobytes(),
            "value.weights": self._weights.tobytes() + self._gradients.tobytes(),
            "value.links": bytes(self._link_counts),
            "value.link_sums": self._link_sums.tobytes(),
            **{
                f"value.{name}.{column}": getattr(means, column).tobytes()
                for name, means in self._means.items()
                for column in ("sums", "counts")
            },
        }

    def restore(self, state: Mapping[str, bytes]) -> None:
        """Continue from a saved state, if it has values."""
        if "value.numbers" not in state:
            return
        numbers = array("d", state["value.numbers"])
        self._read, self._sum, self._squares, self._gain, self._chance, *farthest = numbers
        # Older stores lack it. |d| is at most that of a page with p = 1 and the least mean.
        self._farthest = farthest[0] if farthest else -log(_LEAST_MEAN)
        self._weights, self._gradients = np.split(np.frombuffer(state["value.weights"]).copy(), 2)
        self._link_counts[:] = state["value.links"]
        self._link_sums = array("H", state["value.link_sums"])
        for name, means in self._means.items():
            means.sums = array("d", state[f"value.{name}.sums"])
            means.counts = array("I", state[f"value.{name}.counts"])


def _logit(share: float) -> float:
    return log(share / (1 - share))
