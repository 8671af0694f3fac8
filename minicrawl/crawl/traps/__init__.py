"""Detect endless sets of pages.

detector  checks each page before its request, and learns from responses; hosts that repeat
          themselves under ever new URLs; URLs that lead to the same page, as their content proves
quotas    number of pages that a host, a site and a network may have; cash that they get from
          others, which earns them more; site and network of each host
"""
