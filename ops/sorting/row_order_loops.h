/* The order that sorts the rows of a matrix, as words are sorted: by merging, so equal rows keep their order. One
 * function for each dtype, in row_order_loops.template.h.
 */
#ifndef PHINTYS_ROW_ORDER_LOOPS_H
#define PHINTYS_ROW_ORDER_LOOPS_H

#include <numpy/npy_common.h>
#include <stdint.h>
#include <string.h>

#include "native/sets.h"
#include "orders.h"

typedef struct {
    const char *data;
    npy_intp count, columns;
    npy_intp row_step, column_step;     /* bytes */
} Rows;

/* `room` is as long as `order`. */
typedef void (*phintys_order_rows)(const Rows *rows, int64_t *order, int64_t *room);

#define BEFORE BEFORE_OF_INTEGERS
#define T uint8_t
#define DTYPE uint8
#include "row_order_loops.template.h"
#define T uint16_t
#define DTYPE uint16
#include "row_order_loops.template.h"
#define T uint32_t
#define DTYPE uint32
#include "row_order_loops.template.h"
#define T uint64_t
#define DTYPE uint64
#include "row_order_loops.template.h"
#define T int8_t
#define DTYPE int8
#include "row_order_loops.template.h"
#define T int16_t
#define DTYPE int16
#include "row_order_loops.template.h"
#define T int32_t
#define DTYPE int32
#include "row_order_loops.template.h"
#define T int64_t
#define DTYPE int64
#include "row_order_loops.template.h"
#undef BEFORE

#define BEFORE BEFORE_OF_FLOATS
#define T float
#define DTYPE float32
#include "row_order_loops.template.h"
#define T double
#define DTYPE float64
#include "row_order_loops.template.h"
#undef BEFORE

#define BEFORE BEFORE_OF_HALVES
#define T uint16_t
#define DTYPE float16
#include "row_order_loops.template.h"
#undef BEFORE

#define BEFORE BEFORE_OF_COMPLEX
#define T phintys_pair_of_floats
#define DTYPE complex64
#include "row_order_loops.template.h"
#define T phintys_pair_of_doubles
#define DTYPE complex128
#include "row_order_loops.template.h"
#undef BEFORE

/* In the order of TYPES in loops.pyx. */
static const phintys_order_rows phintys_row_orders[] = {
    order_rows_uint8, order_rows_int8, order_rows_int16, order_rows_int32, order_rows_int64, order_rows_uint8,
    order_rows_uint16, order_rows_uint32, order_rows_uint64, order_rows_float16, order_rows_float32,
    order_rows_float64, order_rows_complex64, order_rows_complex128,
};

#endif
