"""The long proof of clusters: kills, cuts and moves while real manuals are crawled.

shelves   manuals of Debian packages as sites that link to each other, and the log of their server
servers   servers whose ways to each other, and to nodes, are relays that can be cut
upsets    what is done to a cluster at random moments, and when it has got over it
judging   what the log of the web server tells: delays, pages asked for again, pauses
proving   crawls, one after the other, until all upsets are done
"""
