"""Tests of crawls on several machines."""
