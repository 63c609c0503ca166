"""NumPy's functions that are short graphs of other functions, each file a family; nothing here is an op of its own."""
