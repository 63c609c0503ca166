/* An inner loop that gives another one only operands without gaps, copied in blocks where they have some.
 *
 * NumPy's vector loops leave operands with negative or very large strides to scalar functions, whose last bits
 * differ. So that an element's value depends on its value alone, such operands go through blocks. So does an operand
 * of two that is the same for all elements (stride 0), because NumPy squares where the exponent of all is 2. Included
 * by loops.pyx only.
 */
#ifndef PHINTYS_GAPLESS_LOOP_H
#define PHINTYS_GAPLESS_LOOP_H

#include <stdint.h>

enum { PHINTYS_GAPLESS_OPERANDS = 3, PHINTYS_GAPLESS_BLOCK = 256 };

typedef struct {
    void (*function)(char**, const intptr_t*, const intptr_t*, void*);
    void* data;
    intptr_t itemsize;                  /* of every operand: 2, 4 or 8 bytes */
    int count;                          /* of operands, the result included */
} phintys_gapless;

#define PHINTYS_COPY_STEPS(TYPE) \
    for (intptr_t i = 0; i < n; i++, to += to_step, from += from_step) *(TYPE*)to = *(const TYPE*)from;
static void phintys_copy_steps(char* to, intptr_t to_step, const char* from, intptr_t from_step, intptr_t n,
                               intptr_t itemsize) {
    if (itemsize == 8) { PHINTYS_COPY_STEPS(uint64_t) }
    else if (itemsize == 4) { PHINTYS_COPY_STEPS(uint32_t) }
    else { PHINTYS_COPY_STEPS(uint16_t) }
}

static void phintys_gapless_blocks(char** args, intptr_t n, const intptr_t* steps, const phintys_gapless* loop) {
    double memory[PHINTYS_GAPLESS_OPERANDS][PHINTYS_GAPLESS_BLOCK];
    intptr_t block_steps[PHINTYS_GAPLESS_OPERANDS], size = loop->itemsize;
    int result = loop->count - 1, k;
    for (k = 0; k <= result; k++) block_steps[k] = size;
    for (intptr_t start = 0; start < n; start += PHINTYS_GAPLESS_BLOCK) {
        intptr_t count = n - start < PHINTYS_GAPLESS_BLOCK ? n - start : PHINTYS_GAPLESS_BLOCK;
        char* operands[PHINTYS_GAPLESS_OPERANDS];       /* made anew: a loop may move its pointers */
        for (k = 0; k <= result; k++) {
            operands[k] = args[k] + start * steps[k];
            if (steps[k] == size) continue;
            if (k < result) phintys_copy_steps((char*)memory[k], size, operands[k], steps[k], count, size);
            operands[k] = (char*)memory[k];
        }
        loop->function(operands, &count, block_steps, loop->data);
        if (steps[result] != size)
            phintys_copy_steps(args[result] + start * steps[result], steps[result], (char*)memory[result], size, count,
                               size);
    }
}

static void phintys_gapless_loop(char** args, const intptr_t* dims, const intptr_t* steps, void* data) {
    const phintys_gapless* loop = (const phintys_gapless*)data;
    int k, gapless = 1;
    for (k = 0; k < loop->count; k++) gapless &= steps[k] == loop->itemsize;
    if (gapless || (loop->count == 2 && dims[0] == 1)) loop->function(args, dims, steps, loop->data);
    else phintys_gapless_blocks(args, dims[0], steps, loop);
}

#endif
