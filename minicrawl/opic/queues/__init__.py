"""Exact priority queues of pages in bounded memory. Pure.

candidate_heap   over all pages; pseudo-random keys
host_queue       of one host
by_host          over the ready hosts
by_site          over the hosts of the best sites
sibling_members  the best member of each group of siblings
eligible_items   items: groups, and pages that belong to no group
group_queue      the waiting groups
by_group         the sibling order over the ready hosts
by_value         the sibling order, weighted by expected value
"""
