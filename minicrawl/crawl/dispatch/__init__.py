"""Decide what happens to the page that the schedule has chosen.

dispatcher     chooses the page or the host that has the next turn, and begins the turn
host_turns     turns of hosts: address, robots.txt and sitemaps come before the first page
skipped_pages  closes pages without a request, and reopens them
"""
