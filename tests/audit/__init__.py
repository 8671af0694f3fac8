"""Tests of the audit room."""
