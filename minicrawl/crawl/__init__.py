"""A crawl, from the first page to the last.

The way of a page: schedule.dispatch leases it -> turns.turn.decide says what to do with it ->
turns.page_turns has it fetched and parsed by workers -> settle.outcome decides how the turn ends ->
settle.settler makes a step of that -> settle.recorder applies it to the frontier.

loop            when turns begin, and when the crawl ends
parts           the parts that all of these share; functions of a Python program: a filter, a call
                for each page, a stop
schedule        which page is next?
turns           what is done with it?
hosts           when may this host be asked, and how?
traps           is there no end of pages like this one?
workers         which process does it?
settle          what came of it, and what changes?
start           how does a crawl begin, or resume?
shards          one shard of several, or the whole crawl
steering        what the user changes while the crawl runs
events          what listeners hear; how far the crawl has come
progress        what listeners hear; how far the crawl has come
refinement      converged ranks beside the store; when they are computed
fresh_ranks     converged ranks beside the store; when they are computed
cookies         one cookie jar for all workers
recorded        a crawl whose responses come from WARC files
process_memory  memory of a long crawl
"""
