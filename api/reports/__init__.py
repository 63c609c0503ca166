"""Texts about graphs and functions: ``pp``, ``debugprint``, and the report of the memory that a call needs."""
