"""A crawl in the browser: watch it and steer it.

serving    the address, the token, and the server; the page of `search --serve`, with a server of
           its own
routes     what can be asked for, and the events that follow a crawl; who may ask for what; what a
           search answers, there and in the dashboard
views      what the page shows, from the store and from the crawl
launching  a form becomes a crawl

page/ and search_page/ are the pages themselves. They are not imported but sent.
"""
