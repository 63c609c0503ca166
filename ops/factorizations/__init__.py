"""Factorizations of matrices and what follows from them; see ARCHITECTURE.md."""
