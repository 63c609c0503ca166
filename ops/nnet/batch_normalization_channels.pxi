# From the sums of one channel to its results, and to the coefficients that its elements need. Included by
# batch_normalization_kernel.pyx.
#
#                sums of the channel                     coefficients; an element of out is
#     TRAIN      mean, squared deviations from it        shift, slope, offset:        (x - shift) * slope + offset
#     INFERENCE  none                                    the same
#     GRADIENT   of dy, of dy * (x - mean),              mean, scale, slope, offset:
#                of x - mean                             dy * scale + ((x - mean) * slope + offset)
#
# All is computed in double, and coefficients are rounded to the dtype of x. The last argument of the functions says
# which dtype that is, and takes the coefficients.

cdef inline double parameter(const Work* work, int number, npy_intp channel, Real* coefficients) noexcept nogil:
    """The channel's element of a parameter."""
    return (<const Real*>work.parameters[number])[channel]


cdef inline void store(const Work* work, int number, npy_intp channel, double value, Real* coefficients) noexcept nogil:
    """Write the channel's element of a result, if that is wanted."""
    if work.results[number] != NULL:
        (<Real*>work.results[number])[channel] = <Real>value


cdef inline void finish_training(const Work* work, npy_intp channel, double mean, double square,
                                 Real* coefficients) noexcept nogil:
    """Parameters scale, bias, running mean and variance; results mean, inverse deviation, the new running values.

    The shift is the nearest number of the dtype to the mean; the offset has the rest of the mean. So a mean that is
    large against the deviation costs no accuracy. The running variance is that of a sample: divided by count - 1.
    """
    cdef double count = work.count, old = 1 - work.factor, variance = square / count
    cdef double inverse = 1 / sqrt(variance + work.epsilon), slope
    store(work, 0, channel, mean, coefficients)
    store(work, 1, channel, inverse, coefficients)
    if work.results[2] != NULL:
        store(work, 2, channel, parameter(work, 2, channel, coefficients) * old + mean * work.factor, coefficients)
    if work.results[3] != NULL:
        store(work, 3, channel, parameter(work, 3, channel, coefficients) * old
              + count / (count - 1) * variance * work.factor, coefficients)
    if work.out != NULL:
        slope = parameter(work, 0, channel, coefficients) * inverse
        coefficients[0], coefficients[1] = <Real>mean, <Real>slope
        coefficients[2] = <Real>(parameter(work, 1, channel, coefficients) - (mean - coefficients[0]) * slope)


cdef inline void finish_inference(const Work* work, npy_intp channel, Real* coefficients) noexcept nogil:
    """Parameters scale, bias, mean, variance."""
    cdef double deviation = sqrt(parameter(work, 3, channel, coefficients) + work.epsilon)
    coefficients[0] = <Real>parameter(work, 2, channel, coefficients)
    coefficients[1] = <Real>(parameter(work, 0, channel, coefficients) / deviation)
    coefficients[2] = <Real>parameter(work, 1, channel, coefficients)


cdef inline void finish_gradient(const Work* work, npy_intp channel, double by_bias, double by_deviation, double far,
                                 Real* coefficients) noexcept nogil:
    """Parameters scale, mean, inverse deviation; results the gradients by scale and bias.

    ``by_bias`` is the sum of dy, ``by_deviation`` that of dy * (x - mean). ``far`` is the sum of x - mean: 0, but for
    rounding, if the parameter is the mean of x.
    """
    cdef double scale = parameter(work, 0, channel, coefficients)
    cdef double inverse = parameter(work, 2, channel, coefficients), count = work.count
    cdef double slope = by_deviation / count * inverse * inverse * inverse
    store(work, 0, channel, by_deviation * inverse, coefficients)
    store(work, 1, channel, by_bias, coefficients)
    coefficients[0] = <Real>parameter(work, 1, channel, coefficients)
    coefficients[1], coefficients[2] = <Real>(scale * inverse), <Real>(-scale * slope)
    coefficients[3] = <Real>(scale * (far / count * slope - by_bias / count * inverse))


cdef inline void finish(const Work* work, npy_intp channel, double first, double second, double third,
                        Real* coefficients) noexcept nogil:
    """Write a channel's results, and the coefficients that its elements need; three sums as in the table above."""
    if work.kind == TRAIN:
        finish_training(work, channel, first, second, coefficients)
    elif work.kind == INFERENCE:
        finish_inference(work, channel, coefficients)
    else:
        finish_gradient(work, channel, first, second, third, coefficients)
