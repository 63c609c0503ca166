"""Products of matrices and triangular systems by cuBLAS, where its library is found; nothing is compiled against it.

cuBLAS stores matrices by columns, so a product in C order is the product of the transposed operands in the other order.
An operand needs elements without gaps along one of its dimensions. Float32 is computed in float32, unless
``config.gpu.tf32`` asks for TF32; sums of float16 are in float32, and rounded once. There is one handle, which the
queue of work calls, in its order and under its lock.
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
    #include <stdint.h>
    typedef int (*phintys_gemm)(void*, int, int, int, int, int, const void*, const void*, int, const void*, int,
                                const void*, void*, int);
    typedef int (*phintys_gemms)(void*, int, int, int, int, int, const void*, const void*, int, long long, const void*,
                                 int, long long, const void*, void*, int, long long, int);
    typedef int (*phintys_gemm_of)(void*, int, int, int, int, int, const void*, const void*, int, int, const void*, int,
                                   int, const void*, void*, int, int, int, int);
    typedef int (*phintys_gemms_of)(void*, int, int, int, int, int, const void*, const void*, int, int, long long,
                                    const void*, int, int, long long, const void*, void*, int, int, long long, int, int,
                                    int);
    typedef int (*phintys_trsm)(void*, int, int, int, int, int, int, const void*, const void*, int, void*, int);
    static struct {
        int (*create)(void**);
        int (*set_stream)(void*, void*);
        int (*set_workspace)(void*, void*, size_t);
        int (*set_mode)(void*, int);
        phintys_gemm single, full;
        phintys_gemms singles, fulls;               /* NULL in old versions: of each item of a batch */
        phintys_gemm_of any;                        /* the others may be NULL, too */
        phintys_gemms_of anys;
        phintys_trsm triangle[2];
        int (*add[2])(void*, int, int, int, int, const void*, const void*, int, const void*, const void*, int, void*,
                      int);
        /* Of cublasLt, which takes cuBLAS's handle: NULL if it is not there. */
        int (*new_product)(void**, int, int);
        int (*set_product)(void*, int, const void*, size_t);
        int (*free_product)(void*);
        int (*new_layout)(void**, int, uint64_t, uint64_t, int64_t);
        int (*free_layout)(void*);
        int (*new_wish)(void**);
        int (*set_wish)(void*, int, const void*, size_t);
        int (*free_wish)(void*);
        int (*choose)(void*, void*, void*, void*, void*, void*, void*, int, void*, int*);
        int (*multiply)(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*,
                        void*, void*, void*, const void*, void*, size_t, void*);
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
        cublas.any = (phintys_gemm_of)dlsym(library, "cublasGemmEx");
        cublas.anys = (phintys_gemms_of)dlsym(library, "cublasGemmStridedBatchedEx");
        cublas.triangle[0] = (phintys_trsm)dlsym(library, "cublasStrsm_v2");
        cublas.triangle[1] = (phintys_trsm)dlsym(library, "cublasDtrsm_v2");
        *(void**)&cublas.add[0] = dlsym(library, "cublasSgeam");
        *(void**)&cublas.add[1] = dlsym(library, "cublasDgeam");
        phintys_cublas = NULL, phintys_cublas_mode = 0;
        return cublas.create && cublas.set_stream && cublas.single && cublas.full;
    }
    static int phintys_open_cublaslt(const char* name) {
        void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (!library) return 0;
        cublas.new_product = (int (*)(void**, int, int))dlsym(library, "cublasLtMatmulDescCreate");
        cublas.set_product = (int (*)(void*, int, const void*, size_t))dlsym(library, "cublasLtMatmulDescSetAttribute");
        cublas.free_product = (int (*)(void*))dlsym(library, "cublasLtMatmulDescDestroy");
        *(void**)&cublas.new_layout = dlsym(library, "cublasLtMatrixLayoutCreate");
        cublas.free_layout = (int (*)(void*))dlsym(library, "cublasLtMatrixLayoutDestroy");
        *(void**)&cublas.multiply = dlsym(library, "cublasLtMatmul");
        *(void**)&cublas.new_wish = dlsym(library, "cublasLtMatmulPreferenceCreate");
        *(void**)&cublas.set_wish = dlsym(library, "cublasLtMatmulPreferenceSetAttribute");
        *(void**)&cublas.free_wish = dlsym(library, "cublasLtMatmulPreferenceDestroy");
        *(void**)&cublas.choose = dlsym(library, "cublasLtMatmulAlgoGetHeuristic");
        return cublas.new_product && cublas.set_product && cublas.free_product && cublas.new_layout
            && cublas.free_layout && cublas.multiply && cublas.new_wish && cublas.set_wish && cublas.free_wish
            && cublas.choose;
    }
    static int phintys_has_sums(void) { return cublas.multiply && cublas.choose && cublas.add[0] && cublas.add[1]; }
    static int phintys_has_batches(void) { return cublas.singles && cublas.fulls; }
    static int phintys_has_all_types(void) { return cublas.any && cublas.anys; }
    static int phintys_has_triangles(void) { return cublas.triangle[0] && cublas.triangle[1]; }
    enum { SINGLE, FULL, HALF, COMPLEX_SINGLE, COMPLEX_FULL };
    /* Of these: CUDA_R_32F, CUDA_R_64F, CUDA_R_16F, CUDA_C_32F, CUDA_C_64F; CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_64F. */
    static const int phintys_types[] = {0, 1, 2, 4, 5}, phintys_sums[] = {68, 70, 68, 68, 70};
    /* What products and triangular systems of the queue begin with. */
    typedef struct {
        void* workspace;
        size_t workspace_bytes;
        long mode;
    } phintys_use;
    /* One product, or one for each of `items`, as the queue of work keeps it: its bytes are compared, so there are no
     * gaps. */
    typedef struct {
        phintys_use use;
        long of, left, right, m, n, k, lda, ldb, ldc, items;
        long long next_a, next_b, next_c;           /* elements from item to item */
        const void *a, *b, *start;                  /* start: what is added, if that is not c */
        void* c;
        long ldstart;
        char alpha[16], beta[16];
    } phintys_product;
    /* A triangular matrix at the right side. */
    typedef struct {
        phintys_use use;
        long is_full, triangle, turned, unit, rows, n, leading;
        const char* x;
        char* y;
    } phintys_triangle;
    /* The queue's lock is held: a handle serves one thread at a time. A workspace of its own lets it be captured. */
    static int phintys_use_cublas(phintys_use* p, void* stream) {
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
        return error;
    }
    static int phintys_layout(void** layout, int type, long turned, long rows, long columns, long leading) {
        return cublas.new_layout(layout, type, turned ? columns : rows, turned ? rows : columns, leading);
    }
    /* What is added is elsewhere: only cublasLt has this. It is told how much work memory there is, and that addresses
     * are multiples of 16. Returns its error, and has done nothing then. */
    static int phintys_do_sum(phintys_product* p, void* stream) {
        const int type = phintys_types[p->of], sums = p->use.mode == 3 ? 77 : phintys_sums[p->of];  /* FAST_TF32 */
        const int32_t left = (int32_t)p->left, right = (int32_t)p->right;
        const uint64_t room = p->use.workspace ? p->use.workspace_bytes : 0;
        const uint32_t aligned = 16;
        void *product = NULL, *wish = NULL, *layouts[4] = {NULL, NULL, NULL, NULL};
        uint64_t chosen[12] = {0};                  /* cublasLtMatmulHeuristicResult_t; it begins with the algorithm */
        int found = 0;
        int error = cublas.new_product(&product, sums, type);
        if (!error) error = cublas.set_product(product, 3, &left, sizeof left);     /* CUBLASLT_MATMUL_DESC_TRANSA */
        if (!error) error = cublas.set_product(product, 4, &right, sizeof right);
        if (!error) error = phintys_layout(&layouts[0], type, left, p->m, p->k, p->lda);
        if (!error) error = phintys_layout(&layouts[1], type, right, p->k, p->n, p->ldb);
        if (!error) error = phintys_layout(&layouts[2], type, 0, p->m, p->n, p->ldstart);
        if (!error) error = phintys_layout(&layouts[3], type, 0, p->m, p->n, p->ldc);
        if (!error) error = cublas.new_wish(&wish);
        /* CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, and ..._MIN_ALIGNMENT_A_BYTES to ..._D_BYTES. */
        if (!error) error = cublas.set_wish(wish, 1, &room, sizeof room);
        for (int operand = 5; operand < 9 && !error; operand++)
            error = cublas.set_wish(wish, operand, &aligned, sizeof aligned);
        if (!error)
            error = cublas.choose(phintys_cublas, product, layouts[0], layouts[1], layouts[2], layouts[3], wish, 1,
                                  chosen, &found);
        if (!error && !found) error = 15;                                   /* CUBLAS_STATUS_NOT_SUPPORTED */
        if (!error)
            error = cublas.multiply(phintys_cublas, product, p->alpha, p->a, layouts[0], p->b, layouts[1], p->beta,
                                    p->start, layouts[2], p->c, layouts[3], chosen, p->use.workspace, room, stream);
        if (wish) cublas.free_wish(wish);
        for (int i = 0; i < 4; i++)
            if (layouts[i]) cublas.free_layout(layouts[i]);
        if (product) cublas.free_product(product);
        return error;
    }
    static int phintys_do_product(phintys_product* p, void* stream) {
        const int type = phintys_types[p->of], sums = phintys_sums[p->of];
        int error = phintys_use_cublas(&p->use, stream);
        if (error) return 100000 + error;
        if (p->start) {
            const double zeros[1] = {0}, full = 1;
            const float single = 1;
            const void* one = p->of == SINGLE ? (const void*)&single : &full;
            if (!phintys_do_sum(p, stream)) return 0;
            error = cublas.add[p->of](phintys_cublas, 0, 0, (int)p->m, (int)p->n, one, p->start, (int)p->ldstart, zeros,
                                      p->start, (int)p->ldstart, p->c, (int)p->ldc);
            if (error) return 100000 + error;       /* else what is added has been copied */
        }
        if (p->of >= HALF && p->items)
            error = cublas.anys(phintys_cublas, (int)p->left, (int)p->right, (int)p->m, (int)p->n, (int)p->k, p->alpha,
                                p->a, type, (int)p->lda, p->next_a, p->b, type, (int)p->ldb, p->next_b, p->beta, p->c,
                                type, (int)p->ldc, p->next_c, (int)p->items, sums, -1);
        else if (p->of >= HALF)                     /* -1: CUBLAS_GEMM_DEFAULT */
            error = cublas.any(phintys_cublas, (int)p->left, (int)p->right, (int)p->m, (int)p->n, (int)p->k, p->alpha,
                               p->a, type, (int)p->lda, p->b, type, (int)p->ldb, p->beta, p->c, type, (int)p->ldc, sums,
                               -1);
        else if (p->items)
            error = (p->of == SINGLE ? cublas.singles : cublas.fulls)(
                phintys_cublas, (int)p->left, (int)p->right, (int)p->m, (int)p->n, (int)p->k, p->alpha, p->a,
                (int)p->lda, p->next_a, p->b, (int)p->ldb, p->next_b, p->beta, p->c, (int)p->ldc, p->next_c,
                (int)p->items);
        else
            error = (p->of == SINGLE ? cublas.single : cublas.full)(
                phintys_cublas, (int)p->left, (int)p->right, (int)p->m, (int)p->n, (int)p->k, p->alpha, p->a,
                (int)p->lda, p->b, (int)p->ldb, p->beta, p->c, (int)p->ldc);
        return error ? 100000 + error : 0;
    }
    static int phintys_do_triangle(phintys_triangle* p, void* stream) {
        const float single = 1;
        const double full = 1;
        int error = phintys_use_cublas(&p->use, stream);
        if (!error)                                 /* 1: CUBLAS_SIDE_RIGHT */
            error = cublas.triangle[p->is_full](phintys_cublas, 1, (int)p->triangle, (int)p->turned, (int)p->unit,
                                                (int)p->rows, (int)p->n, p->is_full ? (void*)&full : (void*)&single,
                                                p->x, (int)p->leading, p->y, (int)p->rows);
        return error ? 100000 + error : 0;
    }
    """
    ctypedef struct phintys_use:
        void* workspace
        size_t workspace_bytes
        long mode
    ctypedef struct phintys_product:
        phintys_use use
        long of, left, right, m, n, k, lda, ldb, ldc, items
        long long next_a, next_b, next_c
        const void* a
        const void* b
        const void* start
        void* c
        long ldstart
        char* alpha
        char* beta
    ctypedef struct phintys_triangle:
        phintys_use use
        long is_full, triangle, turned, unit, rows, n, leading
        const char* x
        char* y
    int phintys_do_triangle(phintys_triangle*, void*)
    int phintys_do_product(phintys_product*, void*)
    int phintys_open_cublas(const char*)
    int phintys_open_cublaslt(const char*)
    bint phintys_has_sums()
    bint phintys_has_batches()
    bint phintys_has_all_types()
    bint phintys_has_triangles()
    enum: INT_MAX

cdef enum:
    AS_IT_IS = 0                    # CUBLAS_OP_N
    TRANSPOSED = 1                  # CUBLAS_OP_T
    IN_TF32 = 3                     # CUBLAS_TF32_TENSOR_OP_MATH; 0: CUBLAS_DEFAULT_MATH
    WITHOUT_HALF_SUMS = 16          # CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION
    WORKSPACE = 32 << 20            # bytes: what NVIDIA recommends for the newest devices

has_cublas = False
cdef Buffer* workspace = NULL
cdef bint allows_tf32 = False


def allow_tf32(allowed):
    """Let products of float32 from here on round their factors to TF32, or not."""
    global allows_tf32
    allows_tf32 = allowed


config.on_change("gpu.tf32", allow_tf32)


NAMES_OF_TYPES = {"float32": SINGLE, "float64": FULL, "float16": HALF, "complex64": COMPLEX_SINGLE,
                  "complex128": COMPLEX_FULL}
cdef int[6] SIZES = [4, 8, 2, 8, 16, 0]         # by `Of`


cdef int type_of(str dtype) except -1:
    return NAMES_OF_TYPES.get(dtype, OTHER)


def multiplies_halves():
    """Whether products of float16 are cuBLAS's."""
    return has_cublas and phintys_has_all_types() and config.gpu.cublas


def find_cublas():
    """Load cuBLAS, if it is installed; return whether it is."""
    global has_cublas, workspace
    has_cublas, workspace = False, NULL
    allow_tf32(config.gpu.tf32)
    for name in names_of("cublas"):
        has_cublas = has_cublas or phintys_open_cublas(name.encode()) != 0
    for name in names_of("cublasLt") if has_cublas else ():
        if phintys_open_cublaslt(name.encode()):
            break
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


cdef int gemm(int of, npy_intp m, npy_intp n, npy_intp k, const void* alpha, const char* x, npy_intp xs0,
              npy_intp xs1, const char* y, npy_intp ys0, npy_intp ys1, const void* beta, char* out) noexcept nogil:
    cdef phintys_product product
    if describe(&product, of, m, n, k, alpha, x, xs0, xs1, y, ys0, ys1, beta, out) == REFUSED:
        return REFUSED
    return driver.call_in_order(<void*>phintys_do_product, &product, sizeof(product))


cdef int gemm_added(int of, npy_intp m, npy_intp n, npy_intp k, const void* alpha, const char* x, npy_intp xs0,
                    npy_intp xs1, const char* y, npy_intp ys0, npy_intp ys1, const void* beta, const char* start,
                    npy_intp ss0, npy_intp ss1, char* out) noexcept nogil:
    cdef phintys_product product
    cdef int leading = 0
    # cublasLt may take kernels that read 16 bytes at a time.
    if not phintys_has_sums() or of > FULL or order_of(m, n, ss0, ss1, &leading) != AS_IT_IS or (
            describe(&product, of, m, n, k, alpha, x, xs0, xs1, y, ys0, ys1, beta, out) == REFUSED) or (
            (<size_t>x | <size_t>y | <size_t>start | <size_t>out | SIZES[of] * (
                product.lda | product.ldb | leading | product.ldc)) & 15):
        return REFUSED
    product.start, product.ldstart = start, leading
    return driver.call_in_order(<void*>phintys_do_product, &product, sizeof(product))


cdef int gemms(int of, npy_intp items, npy_intp m, npy_intp n, npy_intp k, const void* alpha, const char* x,
               npy_intp next_x, npy_intp xs0, npy_intp xs1, const char* y, npy_intp next_y, npy_intp ys0, npy_intp ys1,
               const void* beta, char* out) noexcept nogil:
    cdef phintys_product product
    if (items == 0 or items > INT_MAX or next_x < 0 or next_y < 0 or not phintys_has_batches()
            or describe(&product, of, m, n, k, alpha, x, xs0, xs1, y, ys0, ys1, beta, out) == REFUSED):
        return REFUSED
    product.items, product.next_a, product.next_b, product.next_c = items, next_y, next_x, m * n
    return driver.call_in_order(<void*>phintys_do_product, &product, sizeof(product))


cdef bint can_trsm(npy_intp n, npy_intp xs0, npy_intp xs1) noexcept nogil:
    cdef int leading = 0
    return has_cublas and phintys_has_triangles() and n <= INT_MAX and xs0 <= INT_MAX and xs1 <= INT_MAX and order_of(
        n, n, xs0, xs1, &leading) != REFUSED


cdef int trsm(int of, npy_intp n, npy_intp columns, bint lower, bint transposed, bint unit, const char* x, npy_intp xs0,
              npy_intp xs1, char* y) noexcept nogil:
    cdef phintys_triangle triangle
    cdef int leading = 0
    cdef int order = order_of(n, n, xs0, xs1, &leading)
    memset(&triangle, 0, sizeof(triangle))
    # y, in C order, is its transpose: so it is multiplied from the right by the inverse of the transpose. cuBLAS sees
    # the transpose of an x in C order, with the triangle at the other side.
    triangle.triangle = lower == (order == AS_IT_IS)            # CUBLAS_FILL_MODE_UPPER
    triangle.turned = transposed != (order == TRANSPOSED)
    triangle.is_full, triangle.unit, triangle.rows, triangle.n, triangle.leading = of, unit, columns, n, leading
    triangle.x, triangle.y = x, y
    set_use(&triangle.use, 0)
    return driver.call_in_order(<void*>phintys_do_triangle, &triangle, sizeof(triangle))


cdef int describe(phintys_product* product, int of, npy_intp m, npy_intp n, npy_intp k, const void* alpha,
                  const char* x, npy_intp xs0, npy_intp xs1, const char* y, npy_intp ys0, npy_intp ys1,
                  const void* beta, char* out) noexcept nogil:
    """The product of the transposed operands in the other order, or REFUSED."""
    cdef int x_leading = 0, y_leading = 0, x_order, y_order
    if m > INT_MAX or n > INT_MAX or k > INT_MAX or xs0 > INT_MAX or xs1 > INT_MAX or ys0 > INT_MAX or ys1 > INT_MAX:
        return REFUSED
    x_order = order_of(m, k, xs0, xs1, &x_leading)
    y_order = order_of(k, n, ys0, ys1, &y_leading)
    if x_order == REFUSED or y_order == REFUSED or k == 0 or (of >= HALF and not phintys_has_all_types()):
        return REFUSED
    memset(product, 0, sizeof(phintys_product))
    product.of, product.left, product.right = of, y_order, x_order
    product.m, product.n, product.k = n, m, k
    product.a, product.lda, product.b, product.ldb, product.c, product.ldc = y, y_leading, x, x_leading, out, n
    memcpy(product.alpha, alpha, SIZES[of] if of != HALF else sizeof(float))
    memcpy(product.beta, beta, SIZES[of] if of != HALF else sizeof(float))
    set_use(&product.use, WITHOUT_HALF_SUMS if of == HALF else IN_TF32 if allows_tf32 and of == SINGLE else 0)
    return 0


cdef inline void set_use(phintys_use* use, long mode) noexcept nogil:
    use.workspace, use.workspace_bytes, use.mode = workspace_of_products(), WORKSPACE, mode


cdef void* workspace_of_products() noexcept nogil:
    """Memory that all products share, as they come one after the other; NULL: cuBLAS has its own."""
    global workspace
    if workspace == NULL:
        workspace = device_memory.acquire(WORKSPACE)
    return workspace.data if workspace != NULL else NULL
