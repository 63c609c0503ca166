"""Programs as files: ``values`` writes what a program consists of as JSON and arrays and reads it again, running no
code that the file names; ``container`` is the layout of the bytes; ``functions`` is what is saved and loaded."""
