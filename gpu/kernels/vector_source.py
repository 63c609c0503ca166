"""CUDA text that kernels share: vectors of 16 bytes, division by multiplication, folds of a warp.

A source that begins with ``VECTORS`` has these (``scalar_source.with_functions`` puts what it is given after its own
functions, so ``with_functions(VECTORS + text)`` has both):

* ``Pack<T, N>``: N elements ``v[N]`` of a type of arrays (``scalar_source.stored``), 16 bytes unless N is given.
  ``load_pack<T, N>(p)`` and ``store_pack(p, pack)`` are one instruction for 16, 8 or 4 bytes, and one for each 16 bytes
  of more; the address must be a multiple of as many bytes (``is_aligned<T, N>(p)``; a device refuses others, and the
  stand-in fails). Several loads before the first use are in flight together. Index ``v`` by constants only, in loops
  with ``#pragma unroll``, else it is kept in memory and not in registers.
* ``Divider``: ``quotient(n)`` for n below 2**31, two instructions; ``put_divider`` of ``gpu/runtime/walk.pxd`` makes
  it on the host. It has the words of four ``unsigned``.

``WARPS`` is apart, because the stand-in runs kernels without exchanges much faster:

* ``warp_fold(x, f)``: f over the 32 lanes of a warp, the same in each lane and in a fixed order. All lanes must call.
"""

VECTORS = """\
template <class T, int N = 16 / sizeof(T)> struct Pack {
    static const int count = N;
    T v[N];
};
template <class T, int N> __device__ inline bool is_aligned(const void* p) {
    return (unsigned long long)p % (N * sizeof(T)) == 0;
}
template <class T, int N> __device__ inline void check_aligned(const void* p) {
#ifndef __CUDACC__
    if (!is_aligned<T, N>(p)) emulated->fail("a vector at an address that is not aligned");
#endif
}
template <class T, int N = 16 / sizeof(T)> __device__ inline Pack<T, N> load_pack(const T* p) {
    constexpr int bytes = N * (int)sizeof(T);
    Pack<T, N> pack;
    check_aligned<T, N>(p);
#ifdef __CUDA_ARCH__
    if constexpr (bytes % 16 == 0) {
        unsigned w[bytes / 4];
#pragma unroll
        for (int k = 0; k < bytes / 4; k += 4)
            asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(w[k]), "=r"(w[k + 1]), "=r"(w[k + 2]), "=r"(w[k + 3])
                         : "l"((const char*)p + 4 * k) : "memory");
        memcpy(&pack, w, bytes);
        return pack;
    } else if constexpr (bytes == 8) {
        unsigned w[2];
        asm volatile("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "l"(p) : "memory");
        memcpy(&pack, w, bytes);
        return pack;
    } else if constexpr (bytes == 4) {
        unsigned w;
        asm volatile("ld.global.u32 %0, [%1];" : "=r"(w) : "l"(p) : "memory");
        memcpy(&pack, &w, bytes);
        return pack;
    }
#endif
#pragma unroll
    for (int k = 0; k < N; k++) pack.v[k] = p[k];
    return pack;
}
template <class T, int N> __device__ inline void store_pack(T* p, const Pack<T, N>& pack) {
    constexpr int bytes = N * (int)sizeof(T);
    check_aligned<T, N>(p);
#ifdef __CUDA_ARCH__
    if constexpr (bytes % 16 == 0) {                // a plain store of four words is split into four now and then
        unsigned w[bytes / 4];
        memcpy(w, &pack, bytes);
#pragma unroll
        for (int k = 0; k < bytes / 4; k += 4)
            asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                         :: "l"((char*)p + 4 * k), "r"(w[k]), "r"(w[k + 1]), "r"(w[k + 2]), "r"(w[k + 3]) : "memory");
        return;
    } else if constexpr (bytes == 8) {
        unsigned w[2];
        memcpy(w, &pack, bytes);
        asm volatile("st.global.v2.u32 [%0], {%1, %2};" :: "l"(p), "r"(w[0]), "r"(w[1]) : "memory");
        return;
    } else if constexpr (bytes == 4) {
        unsigned w;
        memcpy(&w, &pack, bytes);
        asm volatile("st.global.u32 [%0], %1;" :: "l"(p), "r"(w) : "memory");
        return;
    }
#endif
#pragma unroll
    for (int k = 0; k < N; k++) p[k] = pack.v[k];
}
struct Divider {
    unsigned length, factor, shift, unused;
    __device__ unsigned quotient(unsigned n) const { return (__umulhi(n, factor) + n) >> shift; }
};
"""

WARPS = """\
template <class T, class F> __device__ inline T warp_fold(T x, F f) {
#pragma unroll
    for (int distance = 16; distance; distance /= 2) x = f(x, __shfl_xor_sync(~0u, x, distance));
    return x;
}
"""
