"""An order beside cash: what pages found together with a page have revealed. Pure.

groups       which pages are siblings
siblings     what members that were read have revealed, and the factor of each group
live_shares  how likely pages of a host are to be dead
values       worths and keys of pages and groups
"""
