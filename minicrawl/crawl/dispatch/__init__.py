"""Decide what happens to the page that the schedule has chosen.

dispatcher  chooses the page or the host that has the next turn; begins the turn, or closes the page
host_turns  turns of hosts: address, robots.txt and sitemaps come before the first page
"""
