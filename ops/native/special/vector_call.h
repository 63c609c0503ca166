/* The data of the loops of vector_math.h: which function of vectors a loop calls. An InnerLoop of loops.pyx owns it;
 * block programs pass the one with `fills` where registers have room for whole vectors. It stays where it is as long as
 * the loop lives. */
#ifndef PHINTYS_VECTOR_CALL_H
#define PHINTYS_VECTOR_CALL_H

typedef struct {
    void* function;
    int takes_lines;    /* the function takes a line of elements, as LINE of vector_functions.template.h defines it */
    int fills;          /* the result has room for whole vectors, and the last one is stored as a whole: where only a
                         * part was stored, a load of the vector that follows soon takes 15 cycles longer */
} phintys_vector_call;

#endif
