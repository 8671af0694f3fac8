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
