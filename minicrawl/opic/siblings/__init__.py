"""The order by siblings: pages are judged by what became known together with them.

groups    pages of one host that became known together
rounds    the means that the order needs, as it looks them up
families  how much sites that the user did not name may have read
posted    gifts that were posted and are not counted yet
shown     what the members of all groups have shown so far
values    what waiting pages are worth by that
members   the best members of a group that are not on lease
waiting   what waits in the queues of hosts: groups and lone pages
group_queue  groups that wait, each with the key of its best member
by_group  the best page among the hosts that may be asked now
"""
