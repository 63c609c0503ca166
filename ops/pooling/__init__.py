"""Windows of images: pooling by maxima, sums and averages, and neighbourhoods as the rows of a matrix."""
