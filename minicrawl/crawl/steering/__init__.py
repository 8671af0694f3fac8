"""Let the user see and change a crawl while it runs.

steering        requests to a running crawl, handled between two turns of its loop
control_socket  the socket beside a store, on the side of its crawl
"""
