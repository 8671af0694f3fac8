"""Commands that manage crawls and data.

control  pauses, stops or adjusts a running crawl
config   all settings and where they come from
about    the page for owners of servers
imports  a store from WARC files or a graph file
forget   take-downs, and the space of old versions
archive  the files of kept pages, and a store in another place
"""
