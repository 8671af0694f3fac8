"""The long proof of clusters: kills, cuts, power failures and moves while real manuals are crawled.

shelves   manuals of Debian packages as sites that link to each other, and the log of their server
servers   servers whose connections to each other and to nodes are relays that can be cut
disks     disks that lose what was not synced
upsets    kills, cuts, power failures and moves at random moments, and the wait for the recovery
judging   findings in the log of the web server: delays, repeated requests, pauses
proving   crawls, one after the other, until all upsets are done
"""
