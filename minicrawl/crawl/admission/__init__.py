"""Decide which known pages are never requested: out of scope, over a limit, or in a trap.

scope         the gate: pages that the user's scope and limits admit
met_pages     refuses pages when a link to them is met
traps         why a page is skipped; learns from the pages that were read
equivalence   URLs that lead to the same page: rules that content has proven
novelty       finds where a host repeats itself under new URLs
quotas        pages that hosts, sites and networks may have
inbound_cash  cash that hosts, sites and networks get from others, and what that earns
"""
