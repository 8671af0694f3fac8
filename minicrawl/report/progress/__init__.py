"""A crawl, finished or running.

crawl_status      its progress, as it counted itself
mirrors           hosts that serve the pages of another host
activity          busiest hosts, latest requests, and requests over time
stored_parts      what the store holds, part by part

samples           figures of the crawl at moments, in the file of derived data
link_log          growth of the link graph, read from the log
live_sampler      samples of a running crawl, from that graph
sampling_process  begins and ends the process that samples
history           stored samples, or samples recomputed from the log
"""
