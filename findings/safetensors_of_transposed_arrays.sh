#!/bin/bash
# safetensors 0.8.0: `safetensors.numpy.save` stores the memory of an array as it lies, whatever its strides are,
# together with its shape. A transposed matrix comes back with other elements in its places, every second element of a
# vector as the first half of it, without an error or a warning. numpy.savez keeps both.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install safetensors==0.8.0 numpy==2.5.5
shows "transposed: saved [[0, 3], [1, 4], [2, 5]], loaded [[0, 1], [2, 3], [4, 5]]
every second: saved [0, 2, 4], loaded [0, 1, 2]
numpy.savez: [[0, 3], [1, 4], [2, 5]] and [0, 2, 4]" <<'PROGRAM'
import io, numpy
from safetensors.numpy import load, save

transposed, second = numpy.arange(6).reshape(2, 3).T, numpy.arange(6)[::2]
loaded = load(save({"transposed": transposed, "second": second}))
print(f"transposed: saved {transposed.tolist()}, loaded {loaded['transposed'].tolist()}")
print(f"every second: saved {second.tolist()}, loaded {loaded['second'].tolist()}")
file = io.BytesIO()
numpy.savez(file, transposed=transposed, second=second)
file.seek(0)
kept = numpy.load(file)
print(f"numpy.savez: {kept['transposed'].tolist()} and {kept['second'].tolist()}")
PROGRAM
