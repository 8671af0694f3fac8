"""A crawl as it goes on: what is shown to those who watch it.

activity  the busiest hosts, the latest requests, and how many there were over time
growth    the graph of a crawl, followed through the log of its store
sampling  samples of its figures, by a process of its own
sampling_process  starts that process, and reads its last sample
history   the same for a crawl that nobody watched, made again from its log
"""
