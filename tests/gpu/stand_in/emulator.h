// What a CUDA source is compiled with by g++, so that its kernels run on the processor: CUDA's words, its built-in
// variables and functions, and for each kernel an entry that the stand-in of the driver (driver.cpp) calls.
//
// The driver has the threads: it sets `emulated->thread` and calls a kernel once for each of them. A barrier leaves the
// thread until the others have come. Shared memory is a section of its own, which the driver fills with poison before
// each block, so that a read before a write is seen. It is included before the source, and knows nothing of the driver
// but the struct `Emulation`.
#pragma once
#include <cfloat>
#include <cstddef>
#undef _GLIBCXX_USE_STD_SPEC_FUNCS          // which are half of what is read for each kernel
#define _GLIBCXX_USE_STD_SPEC_FUNCS 0
#include <cmath>
#include <cstdint>
#include <cstring>
#include <math.h>
#include <utility>
template <class T> static constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
template <class T> static constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }

// ---- functions that CUDA has, and C++ has not ----
static inline double erfcx(double x) {
    if (x < 10) return exp(x * x) * erfc(x);
    double fraction = 0;                    // a continued fraction
    for (int k = 60; k; k--) fraction = k / 2.0 / (x + fraction);
    return 0.56418958354775628695 / (x + fraction);
}
static inline double normcdf(double x) { return erfc(-x * M_SQRT1_2) / 2; }
static inline double normcdfinv(double p) {
    if (!(p > 0 && p < 1)) return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
    double x = 0, low = -39, high = 39;     // bisection
    for (int k = 0; k < 200; k++, x = (low + high) / 2) (normcdf(x) < p ? low : high) = x;
    return x;
}
static inline double erfcinv(double x) { return -normcdfinv(x / 2) * M_SQRT1_2; }
static inline double erfinv(double x) { return x < 0 ? -erfinv(-x) : x == 0 ? x : erfcinv(1 - x); }
static inline double emulated_bessel_i(int order, double x) {
    double term = order ? x / 2 : 1, sum = 0;       // a series of terms of one sign
    for (int k = 1; sum + term != sum; k++) sum += term, term *= x * x / 4 / k / (k + order);
    return sum;
}
static inline double cyl_bessel_i0(double x) { return emulated_bessel_i(0, x); }
static inline double cyl_bessel_i1(double x) { return emulated_bessel_i(1, x); }

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x = 1, y = 1, z = 1; };
struct int2 { int x, y; };
struct int4 { int x, y, z, w; };
struct float2 { float x, y; };
struct float4 { float x, y, z, w; };
struct double2 { double x, y; };

struct Emulation {                  // what the driver and the kernels of a module share
    uint3 thread, block;
    dim3 threads, blocks;
    int lane;
    void (*others_go_on)();
    void (*wait_for_cluster)();
    char* (*shared_of)(unsigned rank, const void* place);   // the same place in the shared memory of a cluster's block
    void (*wait_for_block)();
    void (*wait_for_warp)();
    double* (*slots)();             // 32 words of the warp, for shuffles
    void (*fail)(const char* what);
};
static Emulation* emulated;

#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __constant__ __attribute__((visibility("default")))
#define __shared__ static __attribute__((section("emulated_shared")))
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)               // the stand-in of nvcc reads both
#define RESIDENT(...)                       // so many blocks run at the same time
#define __restrict__ __restrict
#define threadIdx (emulated->thread)
#define blockIdx (emulated->block)
#define blockDim (emulated->threads)
#define gridDim (emulated->blocks)
static const int warpSize = 32;

static inline void __syncthreads() { emulated->wait_for_block(); }
static inline void emulated_others_go_on() { emulated->others_go_on(); }
static inline void emulated_cluster_barrier() { emulated->wait_for_cluster(); }
template <class T> static T* emulated_shared_of(unsigned rank, T* place) { return (T*)emulated->shared_of(rank, place); }
static inline void __syncwarp(unsigned = ~0u) { emulated->wait_for_warp(); }
static inline void __threadfence() {}
static inline void __threadfence_block() {}
static inline void __trap() { emulated->fail("a kernel called __trap"); }

// ---- exchanges between the threads of a warp ----
template <class T> static T emulated_shuffle(T value, int source) {
    double* slots = emulated->slots();
    memcpy(&slots[emulated->lane], &value, sizeof value);
    __syncwarp();
    T result;
    slots = emulated->slots();
    memcpy(&result, &slots[source < 0 || source > 31 ? emulated->lane : source], sizeof result);
    __syncwarp();
    return result;
}
template <class T> static T __shfl_sync(unsigned, T v, int lane, int = 32) { return emulated_shuffle(v, lane); }
template <class T> static T __shfl_down_sync(unsigned, T v, int d, int = 32) {
    return emulated_shuffle(v, emulated->lane + d);
}
template <class T> static T __shfl_up_sync(unsigned, T v, int d, int = 32) {
    return emulated_shuffle(v, emulated->lane - d);
}
template <class T> static T __shfl_xor_sync(unsigned, T v, int d, int = 32) {
    return emulated_shuffle(v, emulated->lane ^ d);
}
// Which lanes have the same; a sort asks so often that it is compiled otherwise than kernels.
__attribute__((optimize("O2"))) static unsigned emulated_same_word(uint64_t mine) {
    memcpy(&emulated->slots()[emulated->lane], &mine, sizeof mine);
    emulated->wait_for_warp();
    const char* slots = (const char*)emulated->slots();
    unsigned same = 0;
    for (int lane = 0; lane < 32; lane++) {
        uint64_t theirs;
        memcpy(&theirs, slots + 8 * lane, sizeof theirs);
        same |= (unsigned)(theirs == mine) << lane;
    }
    emulated->wait_for_warp();
    return same;
}
template <class T> static unsigned emulated_same(T mine) {
    uint64_t word = 0;
    memcpy(&word, &mine, sizeof mine);
    return emulated_same_word(word);
}
template <class T> static unsigned __match_any_sync(unsigned, T mine) { return emulated_same(mine); }
static inline unsigned __ballot_sync(unsigned, int mine) {
    const unsigned same = emulated_same((int)(mine != 0));
    return mine ? same : ~same;
}
static inline int __any_sync(unsigned lanes, int mine) { return __ballot_sync(lanes, mine) != 0; }

// ---- atomic operations: threads take turns only at barriers, so plain ones are ----
template <class T, class U> static T atomicAdd(T* p, U v) { T old = *p; *p = old + (T)v; return old; }
template <class T, class U> static T atomicMax(T* p, U v) { T old = *p; *p = max(old, (T)v); return old; }
template <class T, class U> static T atomicMin(T* p, U v) { T old = *p; *p = min(old, (T)v); return old; }
template <class T, class U> static T atomicOr(T* p, U v) { T old = *p; *p = old | (T)v; return old; }
template <class T, class U> static T atomicExch(T* p, U v) { T old = *p; *p = (T)v; return old; }
template <class T, class U, class V> static T atomicCAS(T* p, U was, V v) {
    T old = *p;
    if (old == (T)was) *p = (T)v;
    return old;
}

// ---- numbers ----
template <class To, class From> static To emulated_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
static inline unsigned __umulhi(unsigned a, unsigned b) { return ((unsigned long long)a * b) >> 32; }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned __int128)a * b >> 64;
}
static inline int __float_as_int(float f) { return emulated_bits<int>(f); }
static inline unsigned __float_as_uint(float f) { return emulated_bits<unsigned>(f); }
static inline float __int_as_float(int i) { return emulated_bits<float>(i); }
static inline float __uint_as_float(unsigned i) { return emulated_bits<float>(i); }
static inline double __longlong_as_double(long long i) { return emulated_bits<double>(i); }
static inline long long __double_as_longlong(double d) { return emulated_bits<long long>(d); }
static inline int __popc(unsigned i) { return __builtin_popcount(i); }
static inline int __ffs(int i) { return __builtin_ffs(i); }
static inline int __clz(int i) { return i ? __builtin_clz(i) : 32; }
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline double rsqrt(double x) { return 1 / sqrt(x); }
static inline void sincos(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
template <class T> static void sincospi(T x, T* sine, T* cosine) { *sine = sin(M_PI * x), *cosine = cos(M_PI * x); }
template <class T> static T __ldg(const T* p) { return *p; }

// ---- entries ----
struct Parameter { int kind, size; };            // kind: 'p' a pointer, 'v' a value

template <class T> constexpr int offset_after(int at) { return ((at + (int)alignof(T) - 1) & -(int)alignof(T)); }
template <class... A> struct Signature {
    static constexpr int count = sizeof...(A);
    static constexpr int sizes[] = {(int)sizeof(A)..., 0}, alignments[] = {(int)alignof(A)..., 1};
    static constexpr int kinds[] = {(std::is_pointer<A>::value ? 'p' : 'v')..., 0};
    static constexpr int offset(int index) {
        int at = 0;
        for (int i = 0; i < index; i++) at = ((at + alignments[i] - 1) & -alignments[i]) + sizes[i];
        return (at + alignments[index] - 1) & -alignments[index];
    }
    static constexpr int size() {                // of the last parameter, its end
        return count ? offset(count - 1) + sizes[count - 1] : 0;
    }
};
template <class T> static T emulated_take(const char* at) { T value; memcpy(&value, at, sizeof value); return value; }
template <class... A, size_t... I>
static void emulated_call(void (*kernel)(A...), const char* arguments, std::index_sequence<I...>) {
    using S = Signature<std::decay_t<A>...>;
    kernel(emulated_take<std::decay_t<A>>(arguments + S::offset(I))...);
}
template <class... A> static void emulated_run(void (*kernel)(A...), const char* arguments) {
    emulated_call(kernel, arguments, std::index_sequence_for<A...>());
}
template <class... A> static int emulated_describe(void (*)(A...), Parameter* parameters, int* size) {
    using S = Signature<std::decay_t<A>...>;
    for (int i = 0; i < S::count; i++) parameters[i] = {S::kinds[i], S::sizes[i]};
    *size = S::size();
    return S::count;
}
#define EMULATED_KERNEL(name)                                                                               \
    extern "C" void emulated_run_##name(const char* arguments) { emulated_run(name, arguments); }           \
    extern "C" int emulated_describe_##name(Parameter* parameters, int* size) {                             \
        return emulated_describe(name, parameters, size);                                                   \
    }
static char emulated_shared_anchor[16] __attribute__((section("emulated_shared"), used));   // so that it exists
// Where shared memory ends, no other symbol begins, for whoever looks for it by its address.
static char emulated_behind_anchor[16] __attribute__((section("emulated_behind"), used));
extern "C" char __start_emulated_shared[], __stop_emulated_shared[];
extern "C" void emulated_bind(Emulation* emulation, char** shared, char** end) {
    emulated = emulation;
    *shared = __start_emulated_shared;
    *end = __stop_emulated_shared;
}
