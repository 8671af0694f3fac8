"""Who we are to servers: the headers of every request, and logins of some origins.

identity   the headers that all requests of one kind share, prepared once
origins    which headers and logins belong to which origin, from settings, seeds and .netrc
challenge  what a server asks for with 401, and digest authentication
logins     a transport that sends them, each to its origin only
"""
