/* Products of integers and bool for one instruction set; small_product_loops.h has what they are made of, and the table
 * by which the kernels of products call them. Included by each_set.h. Integers wrap around, so the order of a sum does
 * not matter. */
DEFINE_INTEGER(IN_SET(bool), uint8_t, OR_PRODUCT)
DEFINE_INTEGER(IN_SET(int8), uint8_t, ADD_PRODUCT)  /* signed and unsigned integers wrap around in the same way */
DEFINE_INTEGER(IN_SET(int16), uint16_t, ADD_PRODUCT)
DEFINE_INTEGER(IN_SET(int32), uint32_t, ADD_PRODUCT)
DEFINE_INTEGER(IN_SET(int64), uint64_t, ADD_PRODUCT)
