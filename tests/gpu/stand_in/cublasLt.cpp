// The functions of cublasLt that phintys calls: products to which a matrix is added that is elsewhere.
#include <cstdint>
#include "library.h"
enum { SUCCESS = 0, INVALID_VALUE = 7, SINGLES = 0, DOUBLES = 1, SUMS_32 = 68, SUMS_64 = 70, SUMS_TF32 = 77 };
struct Product { int sums, type, left, right; };
struct Layout { int type; long rows, columns, leading; };
static long calls;

EXPORT int cublasLtMatmulDescCreate(Product** made, int sums, int type) {
    *made = new Product{sums, type, 0, 0};
    return type == DOUBLES ? sums != SUMS_64 : sums != SUMS_32 && sums != SUMS_TF32;
}
EXPORT int cublasLtMatmulDescSetAttribute(Product* p, int attribute, const int32_t* value, size_t size) {
    if (size != 4 || (attribute != 3 && attribute != 4) || (*value & ~1)) return INVALID_VALUE;
    (attribute == 3 ? p->left : p->right) = *value;
    return SUCCESS;
}
EXPORT int cublasLtMatmulDescDestroy(Product* p) { delete p; return SUCCESS; }
EXPORT int cublasLtMatrixLayoutCreate(Layout** made, int type, uint64_t rows, uint64_t columns, int64_t leading) {
    *made = new Layout{type, (long)rows, (long)columns, leading};
    return leading < (long)rows || rows < 1 || columns < 1 ? INVALID_VALUE : SUCCESS;
}
EXPORT int cublasLtMatrixLayoutDestroy(Layout* l) { delete l; return SUCCESS; }
struct Wish { uint64_t room; uint32_t aligned[4]; };
EXPORT int cublasLtMatmulPreferenceCreate(Wish** made) { *made = new Wish{}; return SUCCESS; }
EXPORT int cublasLtMatmulPreferenceSetAttribute(Wish* wish, int attribute, const void* value, size_t size) {
    if (attribute == 1 && size == 8) wish->room = *(const uint64_t*)value;
    else if (attribute >= 5 && attribute <= 8 && size == 4) wish->aligned[attribute - 5] = *(const uint32_t*)value;
    else return INVALID_VALUE;
    return SUCCESS;
}
EXPORT int cublasLtMatmulPreferenceDestroy(Wish* wish) { delete wish; return SUCCESS; }
enum { ALGORITHM = 77, FEWEST = 1024 };             // products of fewer elements are refused
EXPORT int cublasLtMatmulAlgoGetHeuristic(void* handle, Product*, Layout*, Layout*, Layout*, Layout* d, Wish* wish, int wanted,
                                          uint64_t* result, int* found) {
    if (!handle || wanted != 1 || wish->room < 4 << 20) return INVALID_VALUE;
    for (uint32_t aligned : wish->aligned)
        if (aligned != 16) return INVALID_VALUE;
    result[0] = ALGORITHM;
    *found = d->rows * d->columns >= FEWEST;
    return SUCCESS;
}
template <class T> static void multiply(const Product& p, T alpha, const T* a, Layout x, const T* b, Layout y, T beta, const T* c,
                                        Layout z, T* d, Layout out) {
    for (long j = 0; j < out.columns; j++)
        for (long i = 0; i < out.rows; i++) {
            T sum = 0;
            for (long k = 0; k < (p.left ? x.rows : x.columns); k++)
                sum += (p.left ? a[k + i * x.leading] : a[i + k * x.leading]) * (p.right ? b[j + k * y.leading] : b[k + j * y.leading]);
            d[i + j * out.leading] = alpha * sum + beta * c[i + j * z.leading];
        }
}
EXPORT int cublasLtMatmul(void* handle, Product* p, const void* alpha, const void* a, Layout* x, const void* b, Layout* y,
                          const void* beta, const void* c, Layout* z, void* d, Layout* out, const void* algorithm, void* work,
                          size_t room, void* stream) {
    const long depth = p->left ? x->rows : x->columns;
    if (!handle || *(const uint64_t*)algorithm != ALGORITHM || !work || room < 4 << 20 || out->rows != (p->left ? x->columns : x->rows)
        || out->columns != (p->right ? y->rows : y->columns) || depth != (p->right ? y->columns : y->rows)
        || z->rows != out->rows || z->columns != out->columns || ((uintptr_t)a | (uintptr_t)b | (uintptr_t)c | (uintptr_t)d) & 15)
        return INVALID_VALUE;
    calls++;
    stream_of_library = stream;
    const Product product = *p;
    const Layout lx = *x, ly = *y, lz = *z, lo = *out;
    if (p->type == SINGLES) {
        const float one = *(const float*)alpha, other = *(const float*)beta;
        return submitted([=] { multiply(product, one, (const float*)a, lx, (const float*)b, ly, other, (const float*)c, lz, (float*)d, lo); return 0; });
    }
    const double one = *(const double*)alpha, other = *(const double*)beta;
    return submitted([=] { multiply(product, one, (const double*)a, lx, (const double*)b, ly, other, (const double*)c, lz, (double*)d, lo); return 0; });
}
EXPORT long stand_in_calls() { return calls; }
