"""Do hostile hosts take the time of healthy ones?

Two processes serve healthy and hostile hosts on loopback, and one crawl reads both. The requests
that healthy hosts got are compared with those of a crawl without attackers.
"""
