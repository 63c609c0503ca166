"""Special functions in C: series, polynomials, and the loops that compute them for vectors of an instruction set."""
