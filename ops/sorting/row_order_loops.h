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

#define LOOPS_OF_DTYPE "row_order_loops.template.h"
#include "each_order.h"
#undef LOOPS_OF_DTYPE

#define ORDER_ROWS(DTYPE) order_rows_##DTYPE
static const phintys_order_rows phintys_row_orders[] = EACH_ORDERED(ORDER_ROWS);

#endif
