"""The types of values: tensors, single numbers and slices; dtypes, and constants made from Python values."""
