// What pycuda needs of CUDA's header of this name, which the wheel of the runtime's headers lacks.
#pragma once
#include <cuda.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef enum CUoutput_mode_enum { CU_OUT_KEY_VALUE_PAIR = 0, CU_OUT_CSV = 1 } CUoutput_mode;
CUresult CUDAAPI cuProfilerInitialize(const char* configuration, const char* output, CUoutput_mode mode);
CUresult CUDAAPI cuProfilerStart(void);
CUresult CUDAAPI cuProfilerStop(void);
#ifdef __cplusplus
}
#endif
