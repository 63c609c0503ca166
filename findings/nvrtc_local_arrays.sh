#!/bin/bash
# NVRTC 12.9.86 and 13.5.37: a loop whose bound is halved by the loop around it is not unrolled, although both have
# "#pragma unroll" and all bounds are known: 15 of 31 shuffles, and the array of 32 numbers is in local memory, which is
# several times slower than registers. The same by a recursive template has 31 shuffles and no local memory. And
# sincosf reserves local memory, for large arguments that may never come; sincospif does not.
. "$(dirname "$0")/environment" "$(mktemp -d)"
install nvidia-cuda-nvrtc==13.5.37 nvidia-cuda-nvrtc-cu12==12.9.86
shows "12: loop 15 shuffles, local True; template 31, local False; sincosf local True, sincospif local False
13: loop 15 shuffles, local True; template 31, local False; sincosf local True, sincospif local False" <<'PROGRAM'
import ctypes
import sysconfig
from pathlib import Path

SUM = """
extern "C" __global__ void sum(const float* x, float* y) {
    float v[32];
    for (int j = 0; j < 32; j++) v[j] = x[j * 32 + threadIdx.x];
    %s
    y[threadIdx.x] = v[0];
}"""
LOOP = SUM % """
#pragma unroll
    for (int half = 16; half; half /= 2)
#pragma unroll
        for (int j = 0; j < half; j++) v[j] += __shfl_xor_sync(~0u, v[j + half], half);"""
TEMPLATE = """
template <int HALF> __device__ void add(float* v) {
#pragma unroll
    for (int j = 0; j < HALF; j++) v[j] += __shfl_xor_sync(~0u, v[j + HALF], HALF);
    if constexpr (HALF > 1) add<HALF / 2>(v);
}""" + SUM % "add<16>(v);"
BOTH = """extern "C" __global__ void both(const float* x, float* y) {
    float s, c;
    %s(x[threadIdx.x], &s, &c);
    y[threadIdx.x] = s + c;
}"""
site = Path(sysconfig.get_paths()["purelib"], "nvidia")
libraries = {}
for version, place in (("12", "cuda_nvrtc/lib"), ("13", "cu13/lib")):
    for name in sorted((site / place).glob("libnvrtc-builtins.so.*")):
        ctypes.CDLL(str(name), mode=ctypes.RTLD_GLOBAL)
    libraries[version] = ctypes.CDLL(str(next((site / place).glob(f"libnvrtc.so.{version}"))))


def ptx(library, source):
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    options = (ctypes.c_char_p * 2)(b"--gpu-architecture=compute_80", b"-std=c++17")
    assert library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"x.cu", 0, None, None) == 0
    assert library.nvrtcCompileProgram(program, 2, options) == 0
    assert library.nvrtcGetPTXSize(program, ctypes.byref(size)) == 0
    text = ctypes.create_string_buffer(size.value)
    assert library.nvrtcGetPTX(program, text) == 0
    return text.value.decode()


for version, library in libraries.items():
    loop, template = ptx(library, LOOP), ptx(library, TEMPLATE)
    print(f"{version}: loop {loop.count('shfl.sync')} shuffles, local {'.local' in loop}; "
          f"template {template.count('shfl.sync')}, local {'.local' in template}; "
          f"sincosf local {'.local' in ptx(library, BOTH % 'sincosf')}, "
          f"sincospif local {'.local' in ptx(library, BOTH % 'sincospif')}")
PROGRAM
