"""Tables of rewrites, one file for each family; ``optimizer/pipeline.py`` says when each of them runs."""
