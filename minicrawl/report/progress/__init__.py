"""A crawl, finished or running.

crawl_status      its progress, as it counted itself, and what the store holds
mirrors           hosts that serve the pages of another host
activity          busiest hosts, latest requests, and requests over time

samples           figures of the crawl at moments
sampling_process  the process that takes them
link_log          growth of the link graph, read from the log
followed_graph    that graph and its figures
live_sampler      takes samples, in that process or at once
history           stored samples, or samples recomputed from the log
"""
