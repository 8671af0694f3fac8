"""Exact priority queues of pages in bounded memory: over all pages, of one host, by host, by site.

A heap of all pages would need more memory than the pages. A heap here holds *candidates* only:
pages at or above a *floor*. A page whose key grows past the floor is pushed. No page below the
floor can be the richest while a candidate is left. When none is left, the floor is lowered and the
heap is filled again from the flat arrays.

A page whose key grows is pushed again instead of moved. Its older entries become stale; they are
dropped when they reach the top, or all at once when they make up most of the heap. So a change
costs O(1) amortised.

Example with keys 9, 5, 7, 1 of the pages 0 to 3 and a floor at 5: the heap has the entries of 0, 2
and 1. Page 3 grows to 8 and is pushed, page 2 grows to 10 and is pushed again. `take` returns 2, 0
and 3, drops the older entry of page 2 and returns 1. Then the floor is lowered.

entry   page - (key << 32): one integer that sorts by key, richest first, then by page. It needs a
        third of the memory of a tuple and compares faster.
floor   worst entry that is a candidate: a page with a larger entry changes nothing
front   entry of a host's best page in the heap over all hosts (see `by_host.ByHost`)

candidate_heap   over all pages; pseudo-random keys
host_queue       of one host
by_host          over the ready hosts, and over the best sites
sibling_members  the best member of each group of siblings
eligible_items   items: groups, and pages that belong to no group
group_queue      the waiting groups
by_group         the sibling order over the ready hosts, also by expected value
"""
