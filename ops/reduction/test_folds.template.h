/* The folds of a test, `any` or `all`, for each type. Defined before the include, undefined at its end: KIND, and
 * COMBINE and SETTLED as for integer_fold.template.h. Signed and unsigned integers have the same folds.
 */
#define TOTAL uint8_t
#define BLOCK 2048                  /* after each block it is tested whether the rest matters */

#define READ(x) ((PART)((x) != 0))
#define FOLD PHINTYS_NAMED(KIND, int8)
#define VALUE uint8_t
#define PART uint8_t
#include "integer_fold.template.h"
#define FOLD PHINTYS_NAMED(KIND, int16)
#define VALUE uint16_t
#define PART uint16_t
#include "integer_fold.template.h"
#define FOLD PHINTYS_NAMED(KIND, int32)
#define VALUE uint32_t
#define PART uint32_t
#include "integer_fold.template.h"
#define FOLD PHINTYS_NAMED(KIND, int64)
#define VALUE uint64_t
#define PART uint64_t
#include "integer_fold.template.h"
#define FOLD PHINTYS_NAMED(KIND, float32)
#define VALUE float
#define PART uint32_t
#include "integer_fold.template.h"
#define FOLD PHINTYS_NAMED(KIND, float64)
#define VALUE double
#define PART uint64_t
#include "integer_fold.template.h"
#undef READ

#define READ(x) ((PART)(((x) & 0x7fff) != 0))           /* both zeros of a float16 are false */
#define FOLD PHINTYS_NAMED(KIND, float16)
#define VALUE uint16_t
#define PART uint16_t
#include "integer_fold.template.h"
#undef READ

#undef TOTAL
#undef BLOCK
#undef KIND
#undef COMBINE
#undef SETTLED
