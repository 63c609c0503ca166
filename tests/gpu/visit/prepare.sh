#!/bin/bash
# Makes the folder that is carried to a machine with a GPU: prepare.sh FOLDER PYTHON. README.md says what is in it.
#
# PYTHON has phintys' build requirements and the packages of its tests; its version is that of the machine with the GPU.
# KERNELS=no leaves out the kernels compiled ahead, which takes most of the time.
set -euo pipefail
folder=${1:?the folder to make} python=${2:?a Python}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../../.." && pwd)
mkdir -p "$folder/extra"
folder=$(cd "$folder" && pwd)
cd "$root"

rm -rf "$folder"/{site,tests,docs,phintys-*.whl}
mkdir -p "$folder/site" "$folder/tests" "$folder/docs/guide"
"$python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir "$folder" .
"$python" -m pip install --quiet --disable-pip-version-check --no-deps --no-compile --target "$folder/site" \
    "$folder"/phintys-*.whl
read -r stand_in pycuda < <("$python" -I tests/gpu/stand_in/build.py)
cp -R "$pycuda"/. "$folder/site/"
tar -C "$folder/site" --exclude=__pycache__ -czf "$folder/site.tgz" .
cp -R tests/conftest.py tests/support tests/gpu "$folder/tests/"
cp docs/guide/gpu.md "$folder/docs/guide/"
cp pyproject.toml "$here"/visit.sh "$here"/smoke.py "$folder/"
find "$folder/tests" -name __pycache__ -prune -exec rm -rf {} +

if [ "${KERNELS:-yes}" = yes ]; then
    mkdir -p "$folder/sources" "$folder/cubins"
    PHINTYS_WRITE_SOURCES=$folder/sources PYTHONPATH=$here "$python" -m pytest -q -p write_sources \
        -p no:cacheprovider tests/gpu || echo "some tests fail on the stand-in"
    "$python" -I "$here/compile_sources.py" "$folder/sources" "$folder/cubins" "${ARCHITECTURE:-sm_90}"
    rm -rf "$folder/sources"
fi
rm -rf "$folder"/{site,phintys-*.whl}
du -sh "$folder"
echo "On the machine with the GPU: OUT=results LIMIT=300 bash $(basename "$folder")/visit.sh"
