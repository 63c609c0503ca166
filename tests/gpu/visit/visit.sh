#!/bin/bash
# What minutes on a machine with a GPU should show. There, beside the folder that prepare.sh made:
#
#     OUT=results LIMIT=300 bash gpu_visit/visit.sh [all | smoke tests figures extra sanitizer profile]
#
# No step can stop the others: each has its own limit, and all end LIMIT seconds after the start. Files in OUT:
# info.txt smoke.txt tests.txt failed.txt figures.txt figures.json extra.txt sanitizer.txt profile.txt
#
# TESTS, FIGURES, PEERS and EXTRA choose what the steps run; STAND_IN=1 tries it on a machine without a GPU.
set -u
export PYTHONUNBUFFERED=1 PIP_DISABLE_PIP_VERSION_CHECK=1
LIMIT=${LIMIT:-500} WORKERS=${WORKERS:-10} STAND_IN=${STAND_IN:-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${OUT:-$PWD/gpu_visit_results}
work=${WORK:-/tmp/gpu_visit}
mkdir -p "$out" "$work"
out=$(cd "$out" && pwd)
cd "$here" || exit 1
steps=${*:-all}
[ "$steps" = all ] && steps="smoke tests figures extra sanitizer profile"

left() { echo $((LIMIT - SECONDS)); }
say() { echo "=== $SECONDS s: $*"; }
# limited SECONDS FILE COMMAND...: at most so long, and never past the limit of all; what it prints goes to the file.
limited() {
    local seconds=$1 file=$2 rest status
    shift 2
    rest=$(($(left) - 8))
    [ "$rest" -lt "$seconds" ] && seconds=$rest
    if [ "$seconds" -lt 5 ]; then echo "no time is left for: ${*:0:4}" | tee -a "$file"; return 99; fi
    timeout -k 5 "$seconds" "$@" >>"$file" 2>&1
    status=$?
    case $status in 124 | 137) echo "STOPPED after $seconds s: ${*:0:4}" | tee -a "$file" ;; esac
    return $status
}

# ---- phintys and pycuda, where `python -I` sees them ---------------------------------------------------------------
# The machine's python3 may itself be of a virtual environment; one made from it with --system-site-packages would see
# the packages of the system's Python, and neither NumPy nor pytest. A .pth file names its packages instead.
base=${PYTHON:-python3}
python=$work/venv/bin/python
install() {
    "$base" -m venv --without-pip "$work/venv" || return 1
    local site parents
    site=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
    parents=$("$base" -c 'import site, sysconfig; print("\n".join(dict.fromkeys([sysconfig.get_paths()["purelib"],
        sysconfig.get_paths()["platlib"], *site.getsitepackages()])))')
    while read -r parent; do
        [ -d "$parent" ] && echo "import site; site.addsitedir('$parent')"
    done <<<"$parents" >"$site/zz_of_the_machine.pth"
    tar -xzf site.tgz -C "$site"
    "$python" -I -m compileall -q -j 0 "$site" >/dev/null 2>&1
    "$python" -I -c 'import phintys, numpy, pytest; print(phintys.__file__, numpy.__version__, pytest.__version__)'
}
# Meanwhile the peers come from the disk, once, so that no step waits for them.
[ -n "$STAND_IN" ] || timeout 70 "$base" -c 'import torch; torch.ones(1).cuda(); import jax; jax.numpy.ones(1)' \
    >"$work/peers.log" 2>&1 &
say "installing"
if ! install >"$out/info.txt" 2>&1; then tail -20 "$out/info.txt"; say "phintys cannot be installed"; exit 1; fi
tail -1 "$out/info.txt"

export XDG_CACHE_HOME=$work/cache
if [ -z "$STAND_IN" ]; then
    mkdir -p "$XDG_CACHE_HOME/phintys/gpu"
    cp cubins/*.cubin "$XDG_CACHE_HOME/phintys/gpu/" 2>/dev/null
    export PHINTYS_TEST_GPU=1
else
    export PHINTYS_STAND_IN=${PHINTYS_STAND_IN:-$work/stand_in}
fi
gpu=${STAND_IN:+--stand-in}
{
    date; uname -srm; nproc
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem,pcie.link.gen.max --format=csv,noheader
    "$base" --version
    command -v nvcc ncu compute-sanitizer
    "$base" -m pip list 2>/dev/null | grep -iE '^(nvidia|numpy|scipy|torch|jax|cupy|pytest|hypothesis)' | tr -s ' ' |
        paste -sd, | cut -c1-1500
} >>"$out/info.txt" 2>&1 </dev/null
grep -m1 NVIDIA "$out/info.txt"

smoke() {
    limited "${SMOKE_SECONDS:-60}" "$out/smoke.txt" "$python" -I smoke.py tests/gpu $gpu
    grep -vE '^OK ' "$out/smoke.txt" | tail -60 | cut -c1-220
}

# ---- the tests, side by side, but those of the source tree; then each that failed by itself, one kernel at a time -----
pytest_options=(-p no:cacheprovider -p no:benchmark -p no:jaxtyping -p no:anyio -o addopts=--import-mode=importlib
    -W default -W "ignore::DeprecationWarning" --tb=short -rfE)
tests() {
    local timeouts=()
    "$base" -c 'import pytest_timeout' 2>/dev/null && timeouts=(--timeout=60)
    limited "${TEST_SECONDS:-130}" "$out/tests.txt" "$python" -I -m pytest "${pytest_options[@]}" "${timeouts[@]}" \
        -n "$WORKERS" -v ${TESTS:-tests/gpu} --ignore=tests/gpu/test_measure.py \
        --ignore=tests/gpu/test_queue.py --ignore=tests/gpu/test_tables.py
    tail -1 "$out/tests.txt"
    # A run that was stopped has no summary: its lines say FAILED, too. Names of parameters have spaces and brackets.
    sed -nE 's/^(FAILED|ERROR) (tests\/gpu\/[^ ]+::.*) - .*$/\2/p; s/^(FAILED|ERROR) (tests\/gpu\/[^ ]+::.*)$/\2/p;
        s/^\[gw[0-9]+\] \[[ 0-9]+%\] (FAILED|ERROR) (.*)$/\2/p' "$out/tests.txt" | sed -E 's/ - .*//; s/ +$//' |
        sort -u >"$work/failed"
    say "$(wc -l <"$work/failed") failed"
    cut -c1-160 "$work/failed" | head -30
    local until=$((SECONDS + ${AGAIN_SECONDS:-30})) name
    while IFS= read -r name; do
        [ $SECONDS -ge $until ] && break
        limited 25 "$out/failed.txt" env CUDA_LAUNCH_BLOCKING=1 "$python" -I -m pytest "${pytest_options[@]}" -n 0 -q \
            "$name" && echo "passes by itself: $name" | tee -a "$out/failed.txt" | cut -c1-160
    done <"$work/failed"
    grep -E '^E  ' "$out/failed.txt" 2>/dev/null | cut -c1-160 | sort | uniq -c | sort -rn | head -12
}

figures() {
    local seconds=${FIGURE_SECONDS:-250} rest
    rest=$(($(left) - 12))
    [ "$rest" -lt "$seconds" ] && seconds=$rest
    limited "$seconds" "$out/figures.txt" "$python" -I tests/gpu/measure.py --out "$out/figures.json" --seconds \
        $((seconds - 4)) ${STAND_IN:+--small} $gpu ${FIGURES:+--only $FIGURES} ${PEERS:+--peers $PEERS}
    grep -E '^FAILED|^--|^time|^figures|on the host' "$out/figures.txt" | cut -c1-190 | tail -60
}

extra() {
    local program
    for program in extra/${EXTRA:-*}.py; do
        [ -e "$program" ] || continue
        echo "--- $program" >>"$out/extra.txt"
        limited "${EXTRA_SECONDS:-25}" "$out/extra.txt" "$python" -I "$program"
    done
}

# ---- what nobody else sees: races in shared memory, writes out of bounds ---------------------------------------------
sanitizer() {
    local tool
    for tool in memcheck racecheck; do
        echo "--- $tool" >>"$out/sanitizer.txt"
        limited "${SANITIZER_SECONDS:-60}" "$out/sanitizer.txt" compute-sanitizer --tool $tool --print-limit 20 \
            --target-processes application-only "$python" -I -m pytest "${pytest_options[@]}" -n 0 -q -x \
            tests/gpu/test_cases.py -k "${SANITIZED:-sum or softmax or sort or cholesky or cumulative or convolution}"
        grep -E 'ERROR SUMMARY|=========     (Race|Invalid|Error)|passed|failed' "$out/sanitizer.txt" | tail -4
    done
}

profile() {
    limited "${PROFILE_SECONDS:-60}" "$out/profile.txt" env PHINTYS_FLAGS=gpu.graphs=False ncu --clock-control none \
        --target-processes application-only --metrics gpu__time_duration.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed,sm__throughput.avg.pct_of_peak_sustained_elapsed,sm__warps_active.avg.pct_of_peak_sustained_active,smsp__inst_executed.sum \
        "$python" -I tests/gpu/measure.py --only kernels --peers --rows ${PROFILED:-add sum softmax}
    grep -E '^ +[a-z_]+ \(|duration|dram__|sm__' "$out/profile.txt" | head -60 | cut -c1-150
}

for step in $steps; do
    say "$step"
    [ "$(left)" -gt 12 ] || { say "no time for $step"; continue; }
    "$step"
done
say "the end; $(left) s were left"
