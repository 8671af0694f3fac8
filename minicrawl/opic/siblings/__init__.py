"""The sibling order: a page is ranked by what pages discovered together with it have revealed.

groups    groups of siblings in flat arrays; statistics of what their members revealed; the values
          of waiting pages
families  read budgets of sites that the user did not name; gifts posted but not yet counted; the
          running means that the order uses
members   the best unleased member of a group; the items (groups and lone pages) in host queues
queue     the queue of groups, and the best page among the ready hosts
"""
