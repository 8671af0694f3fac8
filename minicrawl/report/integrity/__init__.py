"""The check of a store.

audit    a check for each of its laws, and a replay of all its steps
"""
