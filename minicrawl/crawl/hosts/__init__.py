"""Decide when, and how, a host may be contacted.

onboarding     address, robots.txt and sitemaps of a host, before its first page; back-off; rules of
               robots.txt in memory, and rules that earlier runs stored
side_requests  requests for robots.txt and sitemaps, which wait until their host may be contacted;
               sitemaps of a host that wait to be read
politeness     delays, pauses, strikes and costs of hosts
pacing         limits that hosts share: addresses, pace and hours of the crawl, request slots
"""
