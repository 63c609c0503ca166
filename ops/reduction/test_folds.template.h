/* The folds of a test, `any` or `all`, for each type. Defined before the include, undefined at its end: KIND, and
 * COMBINE and SETTLED as for integer_fold.template.h. Signed and unsigned integers have the same folds.
 */
#define TOTAL uint8_t
#define BLOCK 2048                  /* after each block it is tested whether the rest matters */
#define READ(x) ((PART)((x) != 0))
#define PART uint8_t
#define DTYPE int8
#include "integer_fold.template.h"
#undef PART
#define PART uint16_t
#define DTYPE int16
#include "integer_fold.template.h"
#undef READ
#define READ(x) ((PART)(((x) & 0x7fff) != 0))           /* both zeros of a float16 are false */
#define DTYPE float16
#include "integer_fold.template.h"
#undef READ
#undef PART
#define READ(x) ((PART)((x) != 0))
#define PART uint32_t
#define DTYPE int32
#include "integer_fold.template.h"
#define DTYPE float32
#include "integer_fold.template.h"
#undef PART
#define PART uint64_t
#define DTYPE int64
#include "integer_fold.template.h"
#define DTYPE float64
#include "integer_fold.template.h"
#undef READ
#undef PART
#undef TOTAL
#undef BLOCK
#undef KIND
#undef COMBINE
#undef SETTLED
