"""The device in use: contexts, memory, launches, copies, compiled modules, and values that Python sees."""
