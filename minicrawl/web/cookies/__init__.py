"""Cookies. Time is an argument.

cookie  a cookie, and the header that sets it
jar     the cookies of all sites
files   files of cookies
"""
