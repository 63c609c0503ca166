"""What keeps the values of shared variables between calls: containers, their memory, claims of calls on them."""
