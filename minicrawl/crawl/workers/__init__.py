"""The processes that fetch and parse pages.

pool          the worker processes, and which of them fetches and parses a page; which pages of a
              busy worker the crawl's own process does
supervisor    starts a child process, carries calls to it, watches it and ends it
channel       carries pickled values between two processes
messages      the same for a process without an event loop
worker        the worker's own side of the channel; fetches one URL and hands its body to a
              parser; the settings of a visitor
parser        parses a body, here or in a child process; the child process that is killed if one
              page takes too long
parser_child  its own side of the channel
"""
