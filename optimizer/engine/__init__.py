"""The engine that applies rewrites: the driver, the language of patterns, names and tags, rewrites of users."""
