# How the plain loops see the operands of a product; storage_orders.pxd says how BLAS does. Included by blas_kernel.pyx.
# No element moves: a product that is turned has the same elements in the same memory, under other names.

cdef inline bint turn(Product* product, npy_intp itemsize) noexcept nogil:
    """Transpose a product with a vector where that makes the memory of its matrix run along the innermost loop.

    ``x.y`` is the transpose of ``y.T x.T``, and the result, a vector, is the same memory. Returns whether x and y have
    changed places.
    """
    cdef Product old = product[0]
    if (old.n == 1 and old.m > 1 and old.xs1 != itemsize) or (old.m == 1 and old.n > 1 and old.ys1 != itemsize):
        product.m, product.n = old.n, old.m
        product.x, product.xs0, product.xs1 = old.y, old.ys1, old.ys0
        product.y, product.ys0, product.ys1 = old.x, old.xs1, old.xs0
        product.os0 = product.n * itemsize
        return True
    return False


cdef inline npy_intp piece_of(npy_intp length, npy_intp count) noexcept nogil:
    """The length of ``count`` pieces that begin where BLAS's inner loops begin."""
    return ((length + count - 1) // count + PIECE_STEP - 1) // PIECE_STEP * PIECE_STEP


ctypedef fused Real:
    float
    double


cdef inline void store_scaled(Real* out, Real value, const Real* alpha, const Real* beta) noexcept nogil:
    """``out = alpha * value + beta * out``; NULL: 1 for alpha, 0 for beta, and then ``out`` is not read."""
    if alpha != NULL:
        value = alpha[0] * value
    out[0] = value + beta[0] * out[0] if beta != NULL else value


cdef inline bint is_zero(const Cell* cell) noexcept nogil:
    """Whether a 0-d float or complex is zero; any integer counts as nonzero, which changes no result."""
    if cell.typenum == cnp.NPY_FLOAT64:
        return (<double*>cell.data)[0] == 0
    if cell.typenum == cnp.NPY_FLOAT32:
        return (<float*>cell.data)[0] == 0
    if cell.typenum == cnp.NPY_COMPLEX128:
        return (<double*>cell.data)[0] == 0 and (<double*>cell.data)[1] == 0
    if cell.typenum == cnp.NPY_COMPLEX64:
        return (<float*>cell.data)[0] == 0 and (<float*>cell.data)[1] == 0
    return False
