"""Ops whose result is their input: assertions, deep copies, printing, transfer to a device."""
