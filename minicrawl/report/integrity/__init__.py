"""The check of a store.

audit    a check for each of its laws
replay   compares a store with a replay of all its steps
"""
