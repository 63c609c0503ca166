#!/bin/bash
# NumPy 2.4.6 (2.5.5 the same): eigh of a symmetric matrix with a NaN gives NaN for two rows, raises LinAlgError for 3
# and for 20, and gives 59 NaN and one finite number for 60. So code that waits for either the error or NaN sees both.
. "$(dirname "$0")/environment" "$(mktemp -d)"
install numpy==2.4.6
shows "2 rows: 2 of 2 eigenvalues are NaN
3 rows: Eigenvalues did not converge
20 rows: Eigenvalues did not converge
60 rows: 59 of 60 eigenvalues are NaN" <<'PROGRAM'
import numpy

for rows in 2, 3, 20, 60:
    a = numpy.eye(rows)
    a[-1, 0] = a[0, -1] = numpy.nan
    try:
        found = numpy.linalg.eigh(a)[0]
        print(f"{rows} rows: {numpy.isnan(found).sum()} of {rows} eigenvalues are NaN")
    except numpy.linalg.LinAlgError as error:
        print(f"{rows} rows: {error}")
PROGRAM
