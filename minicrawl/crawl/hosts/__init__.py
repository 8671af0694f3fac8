"""Decide when, and how, a host may be contacted.

onboarding     address, robots.txt and sitemaps of a host, before its first page; back-off; rules of
               robots.txt in memory, and rules that earlier runs stored
side_requests  requests for robots.txt and sitemaps, which wait until their host may be contacted;
               sitemaps of a host that wait to be read
politeness     delays and connections of all hosts; state of one host, with its pauses and strikes
pacing         delays and connections of addresses, and the hosts that wait for them; requests and
               bytes a second of the whole crawl, and its hours of the day
fairness       delays hosts that cost more processor time than others; limits the requests of hosts
               that do not answer
"""
