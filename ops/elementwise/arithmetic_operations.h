/* The operations of arithmetic trees, each rounded as NumPy rounds it: some of those of scalar_functions.h, and several
 * at once.
 *
 * arithmetic_tree_loops.h makes loops and links of them, register_machine.h instructions for single numbers.
 */
#ifndef PHINTYS_OPERATIONS
#include "native/scalar_functions.h"

/* The formula of each operation; x, y, z, w are operands, a and b constants. */
#define VALUE_divide FLOAT_divide
#define VALUE_shift(x, y, z, w) (x) + a
#define VALUE_scale(x, y, z, w) a * (x)
#define VALUE_divide_by(x, y, z, w) (x) / a
#define VALUE_divide_into(x, y, z, w) a / (x)
#define VALUE_scale_shift(x, y, z, w) a * (x) + b
#define VALUE_scale_add(x, y, z, w) a * (x) + (y)
#define VALUE_scale_scale_add(x, y, z, w) a * (x) + b * (y)
#define VALUE_scale_multiply(x, y, z, w) a * (x) * (y)
#define VALUE_multiply_shift(x, y, z, w) (x) * (y) + a
#define VALUE_scale_multiply_shift(x, y, z, w) a * (x) * (y) + b
#define VALUE_multiply_add(x, y, z, w) (x) * (y) + (z)
#define VALUE_multiply_scale_add(x, y, z, w) a * (x) * (y) + b * (z)
#define VALUE_square_add(x, y, z, w) (x) * (x) + (y)
#define VALUE_square_square_add(x, y, z, w) a * ((x) * (x)) + b * ((y) * (y))
#define VALUE_multiply_multiply_add(x, y, z, w) a * (x) * (y) + b * (z) * (w)
/* The two orders in which users write the square of a sum. */
#define VALUE_squares_product(x, y, z, w) (x) * (x) + (y) * (y) + a * (x) * (y)
#define VALUE_square_product_square(x, y, z, w) (x) * (x) + a * (x) * (y) + (y) * (y)

#define PHINTYS_OPERATIONS(X) \
    X(copy) X(add) X(subtract) X(multiply) X(divide) X(square) X(shift) X(scale) X(divide_by) X(divide_into) \
    X(scale_shift) X(scale_add) X(scale_scale_add) X(scale_multiply) X(multiply_shift) X(multiply_add) \
    X(scale_multiply_shift) X(multiply_scale_add) X(square_add) X(square_square_add) X(multiply_multiply_add) \
    X(squares_product) X(square_product_square)
#endif
