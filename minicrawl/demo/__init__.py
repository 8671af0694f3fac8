"""A small web of our own, served on loopback, to try a crawl on.

web            all hosts, and the page behind each URL
sites          the ordinary hosts, and where each page stands
pages          what ordinary pages say and link to
special_hosts  hubs, and hosts that are difficult for crawlers
words          what all of them write about
server         the web on a socket
settings       the settings of a crawl of it
"""
