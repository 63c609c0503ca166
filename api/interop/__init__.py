"""phintys as a back end of other libraries. Each module needs the library after which it is named, and must be imported
explicitly."""
