"""Decide when, and how, a host may be contacted.

politeness        when a host may be contacted, by all limits together; hosts that wait
host              rules, address, pauses and strikes of a host, which goes with its pages
costs             fairness: a host that costs more processor time than others waits longer
addresses         delay and number of requests of an address, whatever hosts it has
crawl_pace        pace of the whole crawl: requests and bytes per second, hours of the day
slots             slots of requests, for pages and for files of hosts
fair_lock         lock for one host at a time: the one that has cost least is next

onboarding        files of a host before its first page: robots.txt, sitemaps, usage preferences
robots            rules of robots.txt: in memory, in the store, or requested now
back_off          effect of a failure on the next requests to its host
side_requests     requests for files that are not pages, each at a time that suits its host
sitemap_queue     sitemaps of a host that wait to be read, and when they are read again
"""
