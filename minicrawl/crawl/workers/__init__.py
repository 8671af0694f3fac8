"""Fetch and parse pages in child processes.

pool            chooses the worker that fetches and parses a page, and the pages of a busy worker
                that the crawl process takes over
supervisor      starts a child process, carries calls to it, watches it and ends it
spares          forks such processes ahead, which is quicker than to start them
channel         a socket between two processes that carries pickled values
messages        reads and writes the same messages in a process without an event loop
blame_mark      number of the call that a child is busy with, in memory that both processes share

worker          the worker's side of its channel
visitor         fetches a URL and hands the body to a parser; settings for both, in any process
scoring         values that scorers give to pages

parser          parses a body, here or in a child process
parser_process  the child process, which is killed if a body takes too long
parser_child    the side of that child
loop_rounds     limits the pages that continue in one round of the event loop
"""
