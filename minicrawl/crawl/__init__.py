"""A crawl, from the first page to the last.

The path of a page: schedule.dispatch leases it -> turns.turn.decide says what to do with it ->
turns.page_turns has it fetched and parsed by workers -> settle.outcome decides how the turn ends ->
settle.settler turns that into a step -> settle.recorder applies the step to the frontier.

loop            begins turns, and ends the crawl
parts           parts that the turns share; hooks of a Python program: a filter, a call for each
                page, a stop rule
schedule        chooses the next page
turns           takes one page, or one host, through its turn
hosts           decides when, and how, a host may be contacted
trap_detector   detects endless sets of pages
quotas          pages that hosts, sites and networks may have, by the cash that they earned
workers         processes that fetch and parse
rendering       browsers that run the scripts of pages
settle          decides what a response means, and records what it changes
start           begins a crawl, or resumes one
shards          protocols of one shard of several; the only shard of a crawl on one machine
steering        changes that the user makes while the crawl runs
events          events that listeners get
progress        progress of a crawl, and its budgets of time, bytes and importance
refinement      computes converged ranks beside the store
fresh_ranks     decides when converged ranks are computed, during a crawl and at its end
cookies         one cookie jar for all workers
recorded        a crawl whose responses come from WARC files
"""
