"""A crawl of hours on a web that is partly hostile: what grows, what stays, what slows down.

`python -m tests.soak --minutes 60` serves the demo web and hostile hosts on loopback, has a crawl
read them again and again, and says what held. Exit code 1: a limit was not kept.
"""
