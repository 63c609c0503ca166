"""What a compiled function is made of: the object that is called, its explanation, saved programs."""
