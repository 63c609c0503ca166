// The functions of cuDNN that phintys calls for convolutions, on the memory of the stand-in. Operands are in C order.
#include <vector>
#include "library.h"
enum { SUCCESS = 0, BAD_PARAM = 2000, NOT_SUPPORTED = 3000, FORWARD = 0, BY_IMAGES = 1, BY_FILTERS = 2, WORK = 4096 };

struct Tensor { int type, rank; std::vector<long> lengths; };
struct Convolution { int moved, pad[3], stride[3], dilation[3], type, groups, math; };
static long calls, in_tf32, in_order;       // the last: with an algorithm whose order of additions is not fixed

static long volume(const Tensor& t) {
    long size = 1;
    for (long length : t.lengths) size *= length;
    return size;
}
static bool fits(const Tensor& image, const Tensor& filters, const Tensor& top, const Convolution& c) {
    if (image.type != filters.type || image.type != top.type || image.rank != c.moved + 2 || image.rank != top.rank
        || filters.rank != image.rank || image.lengths[0] != top.lengths[0] || c.type != (image.type == 1)
        || image.lengths[1] != filters.lengths[1] * c.groups || filters.lengths[0] != top.lengths[1]
        || filters.lengths[0] % c.groups)
        return false;
    for (int axis = 0; axis < c.moved; axis++) {
        const long window = (filters.lengths[2 + axis] - 1) * c.dilation[axis] + 1;
        if (top.lengths[2 + axis] != (image.lengths[2 + axis] + 2 * c.pad[axis] - window) / c.stride[axis] + 1) return false;
    }
    return true;
}
// Calls of `pair` with the places of an element of each operand, for all products of the sums.
template <class F> static void each_product(const Tensor& image, const Tensor& filters, const Tensor& top, const Convolution& c,
                                            F pair) {
    const int moved = c.moved;
    long windows = 1, places = 1;
    for (int axis = 0; axis < moved; axis++) windows *= filters.lengths[2 + axis], places *= top.lengths[2 + axis];
    const long channels = filters.lengths[1], of_group = filters.lengths[0] / c.groups;
    for (long n = 0; n < image.lengths[0]; n++)
        for (long f = 0; f < filters.lengths[0]; f++)
            for (long place = 0; place < places; place++)
                for (long k = 0; k < windows; k++) {
                    long at = 0, left = place, window = k, step = 1;
                    bool inside = true;
                    for (int axis = moved - 1; axis >= 0; axis--) {
                        const long o = left % top.lengths[2 + axis], w = window % filters.lengths[2 + axis];
                        left /= top.lengths[2 + axis], window /= filters.lengths[2 + axis];
                        const long i = o * c.stride[axis] + w * c.dilation[axis] - c.pad[axis];
                        inside = inside && i >= 0 && i < image.lengths[2 + axis];
                        at += i * step;
                        step *= image.lengths[2 + axis];
                    }
                    for (long channel = 0; inside && channel < channels; channel++)
                        pair(((n * image.lengths[1]) + f / of_group * channels + channel) * step + at,
                             (f * channels + channel) * windows + k, (n * filters.lengths[0] + f) * places + place);
                }
}
template <class T> static void compute(int role, const Tensor& image, const Tensor& filters, const Tensor& top,
                                       const Convolution& c, const T* first, const T* second, T* result) {
    const long size = volume(role == FORWARD ? top : role == BY_IMAGES ? image : filters);
    std::vector<double> sums(size);
    each_product(image, filters, top, c, [&](long i, long f, long t) {
        if (role == FORWARD) sums[t] += (double)first[i] * second[f];
        else if (role == BY_IMAGES) sums[i] += (double)first[f] * second[t];
        else sums[f] += (double)first[i] * second[t];
    });
    for (long at = 0; at < size; at++) result[at] = (T)sums[at];
}
static bool is_known(int role, int algorithm) {
    return role == BY_FILTERS ? algorithm == 1 || algorithm == 5 || algorithm == 6 : algorithm != (role == FORWARD ? 6 : 4);
}
static int run(int role, const Tensor& image, const Tensor& filters, const Tensor& top, const Convolution& c, int algorithm,
               const void* alpha, const void* first, const void* second, void* work, size_t room, const void* beta,
               void* result) {
    const bool is_full = image.type == 1;
    if (!fits(image, filters, top, c) || !is_known(role, algorithm) || room < WORK || !work
        || (is_full ? *(double*)alpha != 1 || *(double*)beta != 0 : *(float*)alpha != 1 || *(float*)beta != 0))
        return BAD_PARAM;
    calls++;
    in_tf32 += image.type == 0 && c.math != 3;
    in_order += (role != FORWARD && algorithm == 0) || (role == BY_FILTERS && algorithm == 3);
    return submitted([=] {
        for (int at = 0; at < WORK; at++) ((char*)work)[at] = 1;
        if (image.type == 2)
            compute(role, image, filters, top, c, (const _Float16*)first, (const _Float16*)second, (_Float16*)result);
        else if (is_full) compute(role, image, filters, top, c, (const double*)first, (const double*)second, (double*)result);
        else compute(role, image, filters, top, c, (const float*)first, (const float*)second, (float*)result);
        return 0;
    });
}
static int room_of(int role, const Tensor& image, const Tensor& filters, const Tensor& top, const Convolution& c,
                   int algorithm, size_t* room) {
    *room = WORK;
    return !fits(image, filters, top, c) ? BAD_PARAM : is_known(role, algorithm) ? SUCCESS : NOT_SUPPORTED;
}
EXPORT int cudnnCreate(void** handle) { *handle = &calls; return SUCCESS; }
EXPORT int cudnnSetStream(void*, void* stream) { stream_of_library = stream; return SUCCESS; }
EXPORT int cudnnCreateTensorDescriptor(Tensor** made) { *made = new Tensor; return SUCCESS; }
EXPORT int cudnnCreateFilterDescriptor(Tensor** made) { *made = new Tensor; return SUCCESS; }
EXPORT int cudnnCreateConvolutionDescriptor(Convolution** made) { *made = new Convolution; return SUCCESS; }
EXPORT int cudnnSetTensorNdDescriptor(Tensor* t, int type, int rank, const int* lengths, const int* strides) {
    *t = {type, rank, {lengths, lengths + rank}};
    long step = 1;
    for (int axis = rank - 1; axis >= 0; step *= lengths[axis--])
        if (lengths[axis] < 1 || strides[axis] != step) return BAD_PARAM;
    return rank < 4 || rank > 5 || type < 0 || type > 2 ? BAD_PARAM : SUCCESS;
}
EXPORT int cudnnSetFilterNdDescriptor(Tensor* t, int type, int format, int rank, const int* lengths) {
    *t = {type, rank, {lengths, lengths + rank}};
    return format != 0 || volume(*t) < 1 ? BAD_PARAM : SUCCESS;
}
EXPORT int cudnnSetConvolutionNdDescriptor(Convolution* c, int moved, const int* pad, const int* stride, const int* dilation,
                                           int mode, int type) {
    *c = {moved, {}, {}, {}, type, 1, 0};
    for (int axis = 0; axis < moved; axis++) {
        c->pad[axis] = pad[axis], c->stride[axis] = stride[axis], c->dilation[axis] = dilation[axis];
        if (pad[axis] < 0 || stride[axis] < 1 || dilation[axis] < 1) return BAD_PARAM;
    }
    return mode == 1 && moved >= 2 && moved <= 3 ? SUCCESS : BAD_PARAM;
}
EXPORT int cudnnSetConvolutionGroupCount(Convolution* c, int groups) { c->groups = groups; return groups < 1 ? BAD_PARAM : SUCCESS; }
EXPORT int cudnnSetConvolutionMathType(Convolution* c, int math) {
    c->math = math;
    return math == 0 || math == 3 ? SUCCESS : BAD_PARAM;
}
EXPORT int cudnnGetConvolutionForwardWorkspaceSize(void*, Tensor* x, Tensor* w, Convolution* c, Tensor* y, int algorithm,
                                                   size_t* room) {
    return room_of(FORWARD, *x, *w, *y, *c, algorithm, room);
}
EXPORT int cudnnGetConvolutionBackwardDataWorkspaceSize(void*, Tensor* w, Tensor* y, Convolution* c, Tensor* x, int algorithm,
                                                        size_t* room) {
    return room_of(BY_IMAGES, *x, *w, *y, *c, algorithm, room);
}
EXPORT int cudnnGetConvolutionBackwardFilterWorkspaceSize(void*, Tensor* x, Tensor* y, Convolution* c, Tensor* w, int algorithm,
                                                          size_t* room) {
    return room_of(BY_FILTERS, *x, *w, *y, *c, algorithm, room);
}
EXPORT int cudnnConvolutionForward(void*, const void* alpha, Tensor* x, const void* image, Tensor* w, const void* filters,
                                   Convolution* c, int algorithm, void* work, size_t room, const void* beta, Tensor* y,
                                   void* top) {
    return run(FORWARD, *x, *w, *y, *c, algorithm, alpha, image, filters, work, room, beta, top);
}
EXPORT int cudnnConvolutionBackwardData(void*, const void* alpha, Tensor* w, const void* filters, Tensor* y, const void* top,
                                        Convolution* c, int algorithm, void* work, size_t room, const void* beta, Tensor* x,
                                        void* image) {
    return run(BY_IMAGES, *x, *w, *y, *c, algorithm, alpha, filters, top, work, room, beta, image);
}
EXPORT int cudnnConvolutionBackwardFilter(void*, const void* alpha, Tensor* x, const void* image, Tensor* y, const void* top,
                                          Convolution* c, int algorithm, void* work, size_t room, const void* beta, Tensor* w,
                                          void* filters) {
    return run(BY_FILTERS, *x, *w, *y, *c, algorithm, alpha, image, top, work, room, beta, filters);
}
EXPORT long stand_in_calls() { return calls; }
EXPORT long stand_in_calls_in_tf32() { return in_tf32; }
EXPORT long stand_in_calls_in_any_order() { return in_order; }
