#!/bin/bash
# NVRTC 12.9.86 and 13.5.37: an option of one compilation, --Ofast-compile=max, stays for all later ones of the process,
# also of other programs that do not ask for it: the same source, with the same options, is compiled to other code than
# before. Here a kernel reads its parameters as such, and then by generic addresses.
. "$(dirname "$0")/environment" "$(mktemp -d)"
install nvidia-cuda-nvrtc==13.5.37 nvidia-cuda-nvrtc-cu12==12.9.86
shows "12: 0 and 0 generic loads; after another program was compiled with the option 2
13: 0 and 0 generic loads; after another program was compiled with the option 2" <<'PROGRAM'
import ctypes
import sysconfig
from pathlib import Path

SOURCE = """
struct Walk { long long steps[2], last[2]; };
__device__ inline long long offset(const Walk& walk, int rank, unsigned place) {
    long long sum = 0;
#pragma unroll 1
    for (int axis = 0; axis + 1 < rank; axis++, place /= 8) sum += place % 8 * walk.steps[axis];
    return sum + place * walk.last[rank > 1 ? rank - 1 : 0];
}
extern "C" __global__ void take(const float* x, float* y, int rank, const __grid_constant__ Walk walk) {
    y[threadIdx.x] = x[offset(walk, rank, blockIdx.x)];
}"""
OTHER = 'extern "C" __global__ void other(float* x) { x[threadIdx.x] = 1; }'
site = Path(sysconfig.get_paths()["purelib"], "nvidia")
libraries = {}
for version, place in (("12", "cuda_nvrtc/lib"), ("13", "cu13/lib")):
    for name in sorted((site / place).glob("libnvrtc-builtins.so.*")):
        ctypes.CDLL(str(name), mode=ctypes.RTLD_GLOBAL)
    libraries[version] = ctypes.CDLL(str(next((site / place).glob(f"libnvrtc.so.{version}"))))


def ptx(library, source, *more):
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    options = [b"--gpu-architecture=compute_90", b"-std=c++17", *more]
    assert library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"x.cu", 0, None, None) == 0
    assert library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)) == 0
    assert library.nvrtcGetPTXSize(program, ctypes.byref(size)) == 0
    text = ctypes.create_string_buffer(size.value)
    assert library.nvrtcGetPTX(program, text) == 0
    assert library.nvrtcDestroyProgram(ctypes.byref(program)) == 0
    return text.value.decode()


for version, library in libraries.items():
    first, second = [ptx(library, SOURCE).count("\tld.u64") for _ in range(2)]
    ptx(library, OTHER, b"--Ofast-compile=max")
    third = ptx(library, SOURCE).count("\tld.u64")
    print(f"{version}: {first} and {second} generic loads; after another program was compiled with the option {third}")
PROGRAM
