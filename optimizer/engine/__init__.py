"""What applies rewrites: the driver, the language of patterns, names and tags, rewrites that users register."""
