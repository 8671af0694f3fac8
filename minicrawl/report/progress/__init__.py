"""A crawl, finished or running.

crawl_status      its progress, as it counted itself, and what the store holds
mirrors           hosts that serve the pages of another host
activity          busiest hosts, latest requests, and requests over time

samples           figures of the crawl at moments, and the process that takes them
link_log          growth of the link graph, read from the log
live_sampler      samples of a running crawl, from that graph
history           stored samples, or samples recomputed from the log
"""
