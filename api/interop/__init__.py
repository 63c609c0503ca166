"""phintys as a back end of other libraries. A module needs the library it is named after, and is imported by name."""
