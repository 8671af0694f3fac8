"""Fetch and parse pages in child processes.

pool          worker processes: which one fetches and parses a page, and which pages of a busy
              worker the crawl's own process takes over
supervisor    starts a child process, carries calls to it, watches it and ends it
channel       carries pickled values between two processes
messages      the same messages, for a process without an event loop
worker        worker's side of the channel; fetches a URL and hands the body to a parser; settings
              of a visitor
parser        parses a body, here or in a child process that is killed if a page takes too long;
              lets only some pages go on in each round of the event loop
parser_child  child's side of the channel
"""
