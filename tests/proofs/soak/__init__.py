"""A crawl of hours on a partly hostile web: does anything leak, or slow down?

`python -m tests.proofs.soak --minutes 60` serves the demo web and hostile hosts on loopback, lets a
crawl read them again and again, and prints which limits were kept. It exits with 1 if one was not.
"""
