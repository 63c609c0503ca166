#!/bin/bash
# xarray 2026.9.0: differences of coordinates are computed in the coordinate's own type. The values 1 and 2 at -100 and
# 100 in int8: at 0 they are interpolated to -5.36 in place of 1.5, and the integral of 1 is -56 in place of 200. A
# falling uint8 coordinate gives 156 in place of -100. `differentiate` is right. The mean of 100 and 100, weighted by
# themselves, is -0.57 in int8: products and sums wrap around, without a warning.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install xarray==2026.9.0 numpy==2.5.5 scipy==1.18.1
shows "int8: interp at 0 -5.36, integral -56.0, slope 0.005, weighted mean -0.57
int16: interp at 0 1.50, integral 200.0, slope 0.005, weighted mean 100.00
integral from 200 to 100: uint8 156.0, int16 -100.0" <<'PROGRAM'
import numpy, warnings, xarray
warnings.simplefilter("ignore")

def along(values, places, dtype):
    return xarray.DataArray(values, dims="x", coords={"x": numpy.array(places, dtype)})

for dtype in "int8", "int16":
    array, ones = along([1.0, 2.0], [-100, 100], dtype), along([1.0, 1.0], [-100, 100], dtype)
    hundred = xarray.DataArray(numpy.array([100, 100], dtype), dims="x")
    print(f"{dtype}: interp at 0 {float(array.interp(x=0)):.2f}, integral {float(ones.integrate('x'))}, "
          f"slope {float(array.differentiate('x')[0])}, weighted mean {float(hundred.weighted(hundred).mean()):.2f}")
print("integral from 200 to 100: " + ", ".join(
    f"{dtype} {float(along([1.0, 1.0], [200, 100], dtype).integrate('x'))}" for dtype in ("uint8", "int16")))
PROGRAM
