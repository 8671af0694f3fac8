"""The order by siblings: pages are judged by what became known together with them.

groups    pages of one host that became known together; what the members of all groups have shown
          so far; what waiting pages are worth by that
families  how much sites that the user did not name may have read; gifts that were posted and are
          not counted yet; the means that the order needs, as it looks them up
members   the best members of a group that are not on lease; what waits in the queues of hosts:
          groups and lone pages
queue     the best page among the hosts that may be asked now; groups that wait, each with the key
          of its best member
"""
