/* Inner loops that call vector functions, of the C library (glibc's libmvec) or built in, on whole vectors, in NumPy's
 * form.
 *
 * A vector function of the C library takes and returns one or two vectors in registers, a built-in one takes a line;
 * the loop's data says which one it is (phintys_vector_call). vector_math.template.h has the loops of an instruction
 * set, vector_functions.h the functions that are built in. What is left at the end goes through the same function in a
 * vector that is filled up with the first of the values that are left, so an element's result depends on its value
 * alone. Operands with gaps go through a block of memory on the stack. float16 is computed in float32, as NumPy does.
 * Included by vector_math.pyx only.
 */
#ifndef PHINTYS_VECTOR_MATH_H
#define PHINTYS_VECTOR_MATH_H

#include <stdint.h>
#include <string.h>

#include "native/vectors.h"
#include "native/special/vector_call.h"

typedef void (*phintys_vector_loop)(char**, const intptr_t*, const intptr_t*, void*);

enum { PHINTYS_VECTOR_FLOAT16, PHINTYS_VECTOR_FLOAT32, PHINTYS_VECTOR_FLOAT64, PHINTYS_VECTOR_TYPES };
enum { PHINTYS_VECTOR_BLOCK = 256 };        /* elements of an operand with gaps: 2 KiB of float64 */

#include "native/special/vector_functions.h"

#if defined(__linux__)
#include <dlfcn.h>
#endif

/* What there is for an instruction set: another one is another column, by its level in sets.h. */
typedef struct {
    char letter;                                            /* in the names of libmvec; 0: there are no vectors */
    int bytes;                                              /* of a vector */
    phintys_vector_loop loops[PHINTYS_VECTOR_TYPES][2];     /* by kind of element, and number of operands less one */
    phintys_vector_loop half_to_float, float_to_half;       /* casts */
    phintys_vector_function functions[PHINTYS_VECTOR_FUNCTIONS];
} phintys_vector_set;
#define LOOPS "native/special/vector_math.template.h"
#include "native/each_set.h"
static const phintys_vector_set* const phintys_vector_sets[PHINTYS_SETS] = FOR_EACH_SET(&vectors);

static int phintys_has_neon(void) { return phintys_vector_sets[0]->letter != 0; }

/* The address of a built-in function by its name in C; NULL if there is none. */
static void* phintys_built_in_vector_function(int set, const char* name, int is_double) {
    const phintys_vector_function* functions = phintys_vector_sets[set]->functions;
    for (int k = 0; k < PHINTYS_VECTOR_FUNCTIONS; k++)
        if (functions[k].name != NULL && strcmp(functions[k].name, name) == 0) return functions[k].of[is_double];
    return NULL;
}

/* The address of a function of libmvec. */
static void* phintys_libmvec_function(const char* symbol) {
#if defined(__linux__)
    static void* library = NULL;
    if (library == NULL) library = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
    return library == NULL ? NULL : dlsym(library, symbol);
#else
    (void)symbol;
    return NULL;
#endif
}

#endif
