/* For the real type T: LAPACK passes the parts of an eigenvalue of a real matrix, and of a complex one the number. The
 * eigenvalue of a pair is alpha / beta. A beta of 0 is an infinite one, outside the circle; or none, if alpha is 0. */
#define ORDERED(NAME, ORDER)                                                                                        \
    static int TYPED(NAME)(T* real, T* imaginary) { return comes_first(ORDER, *real, *imaginary); }                 \
    static int TYPED(complex_##NAME)(T* number) { return comes_first(ORDER, number[0], number[1]); }                \
    static int TYPED(pair_##NAME)(T* real, T* imaginary, T* beta) {                                                 \
        return TYPED(of_pair)(ORDER, *real, *imaginary, *beta, 0); }                                                \
    static int TYPED(complex_pair_##NAME)(T* alpha, T* beta) {                                                      \
        return TYPED(of_pair)(ORDER, alpha[0], alpha[1], beta[0], beta[1]); }

static int TYPED(of_pair)(EigenvalueOrder order, double real, double imaginary, double beta, double beta_imaginary) {
    const double size = beta_imaginary == 0 ? fabs(beta) : hypot(beta, beta_imaginary);
    const double c = beta / size, s = beta_imaginary / size;
    if (size == 0) return order == OUTSIDE_CIRCLE && (real != 0 || imaginary != 0);
    return of_pair_comes_first(order, (real * c + imaginary * s) / size, (imaginary * c - real * s) / size);
}

ORDERED(left, LEFT_HALF)
ORDERED(right, RIGHT_HALF)
ORDERED(inside, INSIDE_CIRCLE)
ORDERED(outside, OUTSIDE_CIRCLE)

static void* TYPED(orders)[2][2][4] = {
    {{(void*)TYPED(left), (void*)TYPED(right), (void*)TYPED(inside), (void*)TYPED(outside)},
     {(void*)TYPED(complex_left), (void*)TYPED(complex_right), (void*)TYPED(complex_inside),
      (void*)TYPED(complex_outside)}},
    {{(void*)TYPED(pair_left), (void*)TYPED(pair_right), (void*)TYPED(pair_inside), (void*)TYPED(pair_outside)},
     {(void*)TYPED(complex_pair_left), (void*)TYPED(complex_pair_right), (void*)TYPED(complex_pair_inside),
      (void*)TYPED(complex_pair_outside)}}};
#undef ORDERED
