/* The folds of one kind of floats: of float32 and float64, or of the dtype ONLY. Defined before the include: what
 * float_fold.template.h names but DTYPE, and ADD_FLOAT32, ADD for float32. KIND, READER, COMBINE and COMBINE_ONE are
 * undefined at the end.
 */
#ifdef ONLY
#define DTYPE ONLY
#include "float_fold.template.h"
#else
#ifdef ADD_FLOAT32
#define ADD ADD_FLOAT32
#endif
#define DTYPE float32
#include "float_fold.template.h"
#define DTYPE float64
#include "float_fold.template.h"
#endif
#undef KIND
#undef READER
#undef COMBINE
#undef COMBINE_ONE
