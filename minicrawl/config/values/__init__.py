"""Kinds of values: how each is read from what the user wrote, and which values are valid.

kinds           the kinds that any setting may have
network_kinds   hosts, addresses and proxies
pace            rates and hours as text
by_host         texts that may be for one host, taken apart
quantities      numbers, times and sizes as text
"""
