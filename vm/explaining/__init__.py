"""Texts about programs: listings, notes on memory, and errors that name the node at fault."""
