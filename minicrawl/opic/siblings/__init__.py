"""The order by siblings: pages are judged by what became known together with them.

groups    pages of one host that became known together
rounds    the sums that the order needs, as it looks them up
shown     what the members of all groups have shown so far, and what waiting pages are worth by it
by_group  the best page among the hosts that may be asked now
"""
