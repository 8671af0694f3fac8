"""Fetch and parse pages in child processes.

pool          chooses the worker that fetches and parses a page, and the pages of a busy worker that
              the crawl process takes over
supervisor    starts a child process, carries calls to it as pickled values, watches it and ends it
messages      reads and writes the same messages in a process without an event loop
worker        the worker's side of its channel; fetches a URL and hands the body to a parser
parser        parses a body, here or in a child process that is killed if a page takes too long;
              limits the pages that continue in each round of the event loop
parser_child  the side of a parser's child
"""
