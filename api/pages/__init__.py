"""Pages: programs and graphs as HTML that needs no server, no network and no other file."""
