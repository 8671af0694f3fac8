"""A crawl, from the first page to the last.

The path of a page: loop leases it and decides what to do with it -> page_turns has it fetched
and parsed by workers -> settle.outcome decides how the turn ends -> settle.settler turns that into
a step -> settle.recorder applies the step to the frontier.

loop            leases pages, decides what to do with each, and begins their turns; closes, parks
                and reopens pages that are not requested; ends the crawl
page_turns      takes one page through its turn: request, parse, settle, record; keeps large pages
                and sitemaps from delaying others
parts           parts that the turns share; hooks of a Python program: a filter, a call for each
                page, a stop rule
schedule        chooses the next page
hosts           decides when, and how, a host may be contacted
scope_and_traps decides which known pages are never requested: scope, limits, endless sets
novelty         finds where a host repeats itself under new URLs
quotas          pages that hosts, sites and networks may have, by the cash that they earned
workers         processes that fetch and parse
rendering       browsers that run the scripts of pages
settle          decides what a response means, and records what it changes
start           begins a crawl, or resumes one
shards          protocols between a crawl and other shards, with trivial answers on one machine
steering        the socket of a running crawl, and changes that the user makes through it
events          events that listeners get
progress        progress of a crawl, and its budgets of bytes and importance
refinement      computes converged ranks beside the store, during a crawl and when it ends
imports         a crawl whose responses come from WARC files; the store of a graph file
"""
