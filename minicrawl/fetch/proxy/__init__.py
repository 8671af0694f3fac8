"""Proxies: where they are configured, which ones a host uses, and connections through them.

configuration  settings, files, the environment
proxies        the proxies of a host
handshakes     make a proxy connect to a host
dialing        opens connections through the proxies of a host, and checks them before the crawl
"""
