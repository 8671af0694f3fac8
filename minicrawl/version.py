"""The version; for whoever must say it and would rather not import the rest."""

__version__ = "0.1.0"
