"""The types of values: tensors, single numbers and slices; dtypes, and constants from Python values."""
