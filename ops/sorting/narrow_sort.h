/* Sorting 8- and 16-bit numbers: by counting, and by NumPy's radix sort, which takes a tenth of the time of its
 * quicksort where that has no vectors, or where a processor stores selected lanes slowly.
 *
 * float16 is sorted as integers in the same order. NumPy 2.4's own function for it leaves long lines of few different
 * numbers in the wrong order on processors that have AVX512_VBMI2 but no AVX512_FP16. */
#pragma once
#include <stdint.h>
#include <string.h>

typedef int (*phintys_sort_function)(void* start, npy_intp count, void* array);

/* NumPy's functions, filled in when the module is imported. */
static phintys_sort_function phintys_quicksort_int8, phintys_quicksort_uint8, phintys_quicksort_int16,
    phintys_quicksort_uint16, phintys_radix_sort_int16, phintys_radix_sort_uint16;

/* Shorter lines are sorted by NumPy's quicksort: tables of 256 counts are to be filled. (With 16 bits the radix
 * sort is faster from 250 elements on where NumPy uses AVX2, from 700 on where it uses AVX-512.) */
enum { PHINTYS_SHORT_FOR_COUNTING = 96, PHINTYS_SHORT_FOR_RADIX = 512 };

/* `lowest` is the byte of the lowest number: 0x80 of signed ones. */
static void phintys_sort_by_counting(uint8_t* data, npy_intp count, unsigned lowest) {
    npy_intp counts[4][256] = {{0}}, position = 0;
    /* Equal neighbours would wait for each other's count to be stored. */
    for (; position + 4 <= count; position += 4)
        for (int lane = 0; lane < 4; lane++)
            counts[lane][data[position + lane]]++;
    for (; position < count; position++)
        counts[0][data[position]]++;
    for (unsigned number = 0; number < 256; number++) {
        unsigned byte = (number + lowest) & 0xff;
        npy_intp of_byte = counts[0][byte] + counts[1][byte] + counts[2][byte] + counts[3][byte];
        memset(data, (int)byte, (size_t)of_byte);
        data += of_byte;
    }
}

static int phintys_sort_int8(void* data, npy_intp count, void* array) {
    if (count < PHINTYS_SHORT_FOR_COUNTING)
        return phintys_quicksort_int8(data, count, array);
    phintys_sort_by_counting(data, count, 0x80);
    return 0;
}

static int phintys_sort_uint8(void* data, npy_intp count, void* array) {
    if (count < PHINTYS_SHORT_FOR_COUNTING)
        return phintys_quicksort_uint8(data, count, array);
    phintys_sort_by_counting(data, count, 0);
    return 0;
}

static int phintys_sort_int16(void* data, npy_intp count, void* array) {
    return (count < PHINTYS_SHORT_FOR_RADIX ? phintys_quicksort_int16 : phintys_radix_sort_int16)(data, count, array);
}

static int phintys_sort_uint16(void* data, npy_intp count, void* array) {
    return (count < PHINTYS_SHORT_FOR_RADIX ? phintys_quicksort_uint16 : phintys_radix_sort_uint16)(data, count, array);
}

/* A key is ordered as the number it stands for; every NaN has the largest one. */
static uint16_t phintys_key_of_half(uint16_t half) {
    uint16_t key = half & 0x8000 ? (uint16_t)~half : half | 0x8000;
    return (half & 0x7fff) > 0x7c00 ? 0xffff : key;
}

static uint16_t phintys_half_of_key(uint16_t key) {
    return key & 0x8000 ? key ^ 0x8000 : (uint16_t)~key;
}

static int phintys_sort_float16(void* data, npy_intp count, void* array) {
    uint16_t* halves = data;
    for (npy_intp position = 0; position < count; position++)
        halves[position] = phintys_key_of_half(halves[position]);
    int failed = phintys_sort_uint16(data, count, array);
    for (npy_intp position = 0; position < count; position++)
        halves[position] = phintys_half_of_key(halves[position]);
    return failed;
}

static const phintys_sort_function phintys_narrow_sorts[] = {
    phintys_sort_uint8, phintys_sort_int8, phintys_sort_uint8, phintys_sort_int16, phintys_sort_uint16,
    phintys_sort_float16,
};
