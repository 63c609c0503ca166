"""Products of matrices by cuBLAS, where its library is found; nothing is compiled against it.

cuBLAS stores matrices by columns, so a product in C order is the product of the transposed operands in the other order.
An operand needs elements without gaps along one of its dimensions. Float32 is computed in float32, unless
``config.gpu.tf32`` asks for TF32. There is one handle, which the queue of work calls, in its order and under its lock.
"""
from libc.string cimport memcpy, memset
from numpy cimport npy_intp

from phintys.gpu.runtime cimport driver
from phintys.vm.abi cimport device_memory
from phintys.vm.pool cimport Buffer

from phintys.gpu.runtime.libraries import names_of
from phintys.graph.config import config

cdef extern from * nogil:
    """
    #include <dlfcn.h>
    #include <limits.h>
    typedef int (*phintys_gemm)(void*, int, int, int, int, int, const void*, const void*, int, const void*, int,
                                const void*, void*, int);
    typedef int (*phintys_gemms)(void*, int, int, int, int, int, const void*, const void*, int, long long, const void*,
                                 int, long long, const void*, void*, int, long long, int);
    static struct {
        int (*create)(void**);
        int (*set_stream)(void*, void*);
        int (*set_workspace)(void*, void*, size_t);
        int (*set_mode)(void*, int);
        phintys_gemm single, full;
        phintys_gemms singles, fulls;               /* NULL in old versions: of each item of a batch */
    } cublas;
    static void *phintys_cublas, *phintys_cublas_stream;
    static long phintys_cublas_mode;
    static int phintys_open_cublas(const char* name) {
        void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (!library) return 0;
        cublas.create = (int (*)(void**))dlsym(library, "cublasCreate_v2");
        cublas.set_stream = (int (*)(void*, void*))dlsym(library, "cublasSetStream_v2");
        cublas.set_workspace = (int (*)(void*, void*, size_t))dlsym(library, "cublasSetWorkspace_v2");
        cublas.set_mode = (int (*)(void*, int))dlsym(library, "cublasSetMathMode");
        cublas.single = (phintys_gemm)dlsym(library, "cublasSgemm_v2");
        cublas.full = (phintys_gemm)dlsym(library, "cublasDgemm_v2");
        cublas.singles = (phintys_gemms)dlsym(library, "cublasSgemmStridedBatched");
        cublas.fulls = (phintys_gemms)dlsym(library, "cublasDgemmStridedBatched");
        phintys_cublas = NULL, phintys_cublas_mode = 0;
        return cublas.create && cublas.set_stream && cublas.single && cublas.full;
    }
    static int phintys_has_batches(void) { return cublas.singles && cublas.fulls; }
    /* One product, or one for each of `items`, as the queue of work keeps it: its bytes are compared, so there are no
     * gaps. */
    typedef struct {
        long itemsize, left, right, m, n, k, lda, ldb, ldc, items;
        long long next_a, next_b, next_c;           /* elements from item to item */
        const void *a, *b;
        void* c;
        char alpha[8], beta[8];
        void* workspace;
        size_t workspace_bytes;
        long mode;
    } phintys_product;
    /* The queue's lock is held: a handle serves one thread at a time. A workspace of its own lets it be captured. */
    static int phintys_do_product(phintys_product* p, void* stream) {
        int error = 0;
        if (!phintys_cublas) {
            error = cublas.create(&phintys_cublas);
            if (!error) error = cublas.set_stream(phintys_cublas, phintys_cublas_stream = stream);
            if (!error && cublas.set_workspace && p->workspace)
                error = cublas.set_workspace(phintys_cublas, p->workspace, p->workspace_bytes);
        } else if (stream != phintys_cublas_stream) {
            error = cublas.set_stream(phintys_cublas, phintys_cublas_stream = stream);
            if (!error && cublas.set_workspace && p->workspace)     /* a new stream has the default one */
                error = cublas.set_workspace(phintys_cublas, p->workspace, p->workspace_bytes);
        }
        if (!error && p->mode != phintys_cublas_mode && cublas.set_mode) {
            error = cublas.set_mode(phintys_cublas, (int)p->mode);
            if (!error) phintys_cublas_mode = p->mode;
        }
        if (!error && p->items)
            error = (p->itemsize == 4 ? cublas.singles : cublas.fulls)(
                phintys_cublas, (int)p->left, (int)p->right, (int)p->m, (int)p->n, (int)p->k, p->alpha, p->a,
                (int)p->lda, p->next_a, p->b, (int)p->ldb, p->next_b, p->beta, p->c, (int)p->ldc, p->next_c,
                (int)p->items);
        else if (!error)
            error = (p->itemsize == 4 ? cublas.single : cublas.full)(
                phintys_cublas, (int)p->left, (int)p->right, (int)p->m, (int)p->n, (int)p->k, p->alpha, p->a,
                (int)p->lda, p->b, (int)p->ldb, p->beta, p->c, (int)p->ldc);
        return error ? 100000 + error : 0;
    }
    """
    ctypedef struct phintys_product:
        long itemsize, left, right, m, n, k, lda, ldb, ldc, items
        long long next_a, next_b, next_c
        const void* a
        const void* b
        void* c
        char* alpha
        char* beta
        void* workspace
        size_t workspace_bytes
        long mode
    int phintys_do_product(phintys_product*, void*)
    int phintys_open_cublas(const char*)
    bint phintys_has_batches()
    enum: INT_MAX

cdef enum:
    AS_IT_IS = 0                    # CUBLAS_OP_N
    TRANSPOSED = 1                  # CUBLAS_OP_T
    IN_TF32 = 3                     # CUBLAS_TF32_TENSOR_OP_MATH; 0: CUBLAS_DEFAULT_MATH
    WORKSPACE = 32 << 20            # bytes: what NVIDIA recommends for the newest devices

has_cublas = False
cdef Buffer* workspace = NULL
cdef bint allows_tf32 = False


def allow_tf32(allowed):
    """Let products of float32 from here on round their factors to TF32, or not."""
    global allows_tf32
    allows_tf32 = allowed


config.on_change("gpu.tf32", allow_tf32)


def find_cublas():
    """Load cuBLAS, if it is installed; return whether it is."""
    global has_cublas, workspace
    has_cublas, workspace = False, NULL
    allow_tf32(config.gpu.tf32)
    for name in names_of("cublas"):
        has_cublas = has_cublas or phintys_open_cublas(name.encode()) != 0
    return has_cublas


cdef inline int order_of(npy_intp rows, npy_intp columns, npy_intp s0, npy_intp s1, int* leading) noexcept nogil:
    """How cuBLAS sees a matrix whose transpose it is to read: as it is, if rows have no gaps; REFUSED if neither rows
    nor columns are so."""
    if (s1 == 1 or columns == 1) and (rows == 1 or s0 >= columns):
        leading[0] = <int>(s0 if rows > 1 else columns)
        return AS_IT_IS if leading[0] <= INT_MAX else REFUSED
    if (s0 == 1 or rows == 1) and (columns == 1 or s1 >= rows):
        leading[0] = <int>(s1 if columns > 1 else rows)
        return TRANSPOSED if leading[0] <= INT_MAX else REFUSED
    return REFUSED


cdef int gemm(int itemsize, npy_intp m, npy_intp n, npy_intp k, const void* alpha, const char* x, npy_intp xs0,
              npy_intp xs1, const char* y, npy_intp ys0, npy_intp ys1, const void* beta, char* out) noexcept nogil:
    cdef phintys_product product
    if describe(&product, itemsize, m, n, k, alpha, x, xs0, xs1, y, ys0, ys1, beta, out) == REFUSED:
        return REFUSED
    return driver.call_in_order(<void*>phintys_do_product, &product, sizeof(product))


cdef int gemms(int itemsize, npy_intp items, npy_intp m, npy_intp n, npy_intp k, const void* alpha, const char* x,
               npy_intp next_x, npy_intp xs0, npy_intp xs1, const char* y, npy_intp next_y, npy_intp ys0, npy_intp ys1,
               const void* beta, char* out) noexcept nogil:
    cdef phintys_product product
    if (items == 0 or items > INT_MAX or next_x < 0 or next_y < 0 or not phintys_has_batches()
            or describe(&product, itemsize, m, n, k, alpha, x, xs0, xs1, y, ys0, ys1, beta, out) == REFUSED):
        return REFUSED
    product.items, product.next_a, product.next_b, product.next_c = items, next_y, next_x, m * n
    return driver.call_in_order(<void*>phintys_do_product, &product, sizeof(product))


cdef int describe(phintys_product* product, int itemsize, npy_intp m, npy_intp n, npy_intp k, const void* alpha,
                  const char* x, npy_intp xs0, npy_intp xs1, const char* y, npy_intp ys0, npy_intp ys1,
                  const void* beta, char* out) noexcept nogil:
    """The product of the transposed operands in the other order, or REFUSED."""
    cdef int x_leading = 0, y_leading = 0, x_order, y_order
    if m > INT_MAX or n > INT_MAX or k > INT_MAX or xs0 > INT_MAX or xs1 > INT_MAX or ys0 > INT_MAX or ys1 > INT_MAX:
        return REFUSED
    x_order = order_of(m, k, xs0, xs1, &x_leading)
    y_order = order_of(k, n, ys0, ys1, &y_leading)
    if x_order == REFUSED or y_order == REFUSED or k == 0:
        return REFUSED
    memset(product, 0, sizeof(phintys_product))
    product.itemsize, product.left, product.right = itemsize, y_order, x_order
    product.m, product.n, product.k = n, m, k
    product.a, product.lda, product.b, product.ldb, product.c, product.ldc = y, y_leading, x, x_leading, out, n
    memcpy(product.alpha, alpha, itemsize)
    memcpy(product.beta, beta, itemsize)
    product.workspace, product.workspace_bytes = workspace_of_products(), WORKSPACE
    product.mode = IN_TF32 if allows_tf32 and itemsize == 4 else 0
    return 0


cdef void* workspace_of_products() noexcept nogil:
    """Memory that all products share, as they come one after the other; NULL: cuBLAS has its own."""
    global workspace
    if workspace == NULL:
        workspace = device_memory.acquire(WORKSPACE)
    return workspace.data if workspace != NULL else NULL
