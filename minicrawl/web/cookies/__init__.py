"""Cookies, by RFC 6265 and what browsers do since.

cookie    a cookie, as a server sets it
jar       the cookies of all sites, bounded
netscape  files of cookies
"""
