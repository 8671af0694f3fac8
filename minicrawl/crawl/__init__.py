"""A crawl, from the first page to the last.

The way of a page: `schedule` chooses it -> `dispatch` decides what to do with it -> a turn in
`turns` has `workers` fetch and parse it, and `rendering` run its scripts -> `settle` decides how
the turn ends, and what that changes -> `record` applies the change and commits it. On the way,
`hosts` says when its host may be contacted, and `admission` whether the page may be requested.

loop        begins turns while the budget allows it; ends the crawl
parts       parts that the turns share, wired together
hooks       hooks of a Python program: a filter, a call for each page, a stop rule
shards      protocols between a crawl and other shards, with trivial answers on one machine
events      events that listeners get
progress    progress of a crawl, and its budgets of bytes and importance

start       begins a crawl, or resumes one
schedule    chooses the next page
dispatch    closes, parks, requests or gives back the page; gives hosts their turns
admission   decides which known pages are never requested: scope, traps, quotas
hosts       decides when, and how, a host may be contacted
turns       take one page through: request, parse, settle, record
workers     processes that fetch and parse
rendering   browsers that run the scripts of pages
settle      decides what a response means, and makes a step of it
record      applies steps to the frontier; keeps responses; commits both in batches
refinement  computes converged ranks beside the store, during a crawl and when it ends
steering    the socket of a running crawl, and changes that the user makes through it
imports     a crawl whose responses come from WARC files; the store of a graph file
"""
