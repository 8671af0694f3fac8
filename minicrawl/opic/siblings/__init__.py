"""The order by siblings: pages are judged by what became known together with them.

groups    pages of one host that became known together
rounds    the means that the order needs, as it looks them up
families  how much sites that the user did not name may have read
posted    what was posted and is not counted yet
shown     what the members of all groups have shown so far, and what waiting pages are worth by it
by_group  the best page among the hosts that may be asked now
"""
