"""Do hostile hosts take the time of healthy ones?

Healthy hosts and hostile ones are served on loopback by a process of their own; a crawl meets them
all. What the healthy hosts got of it is held against a crawl without attackers.
"""
