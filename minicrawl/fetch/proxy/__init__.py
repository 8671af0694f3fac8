"""Proxies: which ones there are, which of them a host has, and how to reach a host through one.

proxies      what names a proxy, and which hosts have which
naming       where proxies are named: settings, files, the environment
handshakes   how a connection through a proxy begins
checks       finds out before the first request whether proxies can work
"""
