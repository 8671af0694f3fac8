"""A crawl in the browser: watch it and steer it.

serving     the address, the token, and the server
guard       who may ask for what
routes      what can be asked for, and the events that follow a crawl
views       what the page shows, from the store and from the crawl
launching   a form becomes a crawl
searching   the page of `search --serve`, with a server of its own
search_answers   what a search answers, there and in the dashboard

page/ and search_page/ are the pages themselves. They are not imported but sent.
"""
