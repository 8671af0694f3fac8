"""The long proof of clusters: kills, cuts and moves while real manuals are crawled.

shelves   manuals of Debian packages as sites that link to each other, and the log of their server
servers   servers whose connections to each other and to nodes are relays that can be cut
upsets    kills, cuts and moves at random moments, and the wait for the recovery
judging   findings in the log of the web server: delays, repeated requests, pauses
proving   crawls, one after the other, until all upsets are done
"""
