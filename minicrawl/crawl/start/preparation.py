"""Prepares a crawl: logins, cookies, browsers, and checks before the first request."""

from __future__ import annotations
