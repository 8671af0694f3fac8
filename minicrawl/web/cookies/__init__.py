"""Cookies, by RFC 6265 and the current practice of browsers.

cookie         a cookie, as a server sets it
jar            the cookies of all sites, bounded
cookie_files   files in the Netscape format
"""
