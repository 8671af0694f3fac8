"""Kinds of values: parsing and validation of what users give.

kinds       kinds of values, and what each accepts and shows
quantities  numbers, times and sizes
networks    hosts, addresses and proxies
access      headers, logins and languages, which may be for one host
pace        rates and hours
stop_rules  the forms of --until

Laws: text (from a flag or a variable) and values (from TOML or Python) with the same meaning are
parsed as the same value. A parsed value is parsed again as itself. A header that would break the
framing of requests, or a promise of politeness, is refused. A secret is never shown, neither in an
error about a bad value nor in listings of settings.
"""
