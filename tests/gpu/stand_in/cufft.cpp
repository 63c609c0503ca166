// The functions of cuFFT that phintys calls, on the memory of the stand-in: lines without gaps, by the definition.
#include <cmath>
#include <complex>
#include <map>
#include <vector>
#include "library.h"
enum { SUCCESS = 0, INVALID_PLAN = 1, INVALID_VALUE = 4, WORK = 512 };
enum { C2C = 0x29, R2C = 0x2a, C2R = 0x2c, DOUBLE = 0x40 };

static long calls;
struct Plan { int type, length, lines; void* work; bool allocates; };
static std::map<int, Plan> plans;

EXPORT int cufftCreate(int* plan) {                     // the lowest number that is free, as cuFFT does
    for (*plan = 1; plans.count(*plan);) ++*plan;
    plans[*plan] = {0, 0, 0, nullptr, true};
    return SUCCESS;
}
EXPORT int cufftDestroy(int plan) { return plans.erase(plan) ? SUCCESS : INVALID_PLAN; }
static Plan* plan_of(int number) { return plans.count(number) ? &plans[number] : nullptr; }
EXPORT int cufftSetAutoAllocation(int plan, int allocates) {
    plan_of(plan)->allocates = allocates;
    return SUCCESS;
}
EXPORT int cufftMakePlanMany(int plan, int rank, int* n, int* in, int, int from, int* out, int, int to, int type, int lines,
                             size_t* room) {
    Plan* p = plan_of(plan);
    const int kind = type & ~DOUBLE, half = *n / 2 + 1;
    *room = WORK;
    if (!p || p->allocates || p->type || rank != 1 || in || out || *n < 1 || lines < 1 || from != (kind == C2R ? half : *n)
        || to != (kind == R2C ? half : *n) || (kind != C2C && kind != R2C && kind != C2R))
        return INVALID_VALUE;
    *p = {type, *n, lines, nullptr, false};
    return SUCCESS;
}
EXPORT int cufftSetStream(int, void* stream) { stream_of_library = stream; return SUCCESS; }
EXPORT int cufftSetWorkArea(int plan, void* work) { plan_of(plan)->work = work; return SUCCESS; }

template <class R> static void transform(const Plan& p, int direction, const void* in, void* out) {
    typedef std::complex<double> Number;
    const int n = p.length, kind = p.type & ~DOUBLE, half = n / 2 + 1;
    std::vector<Number> line(n), roots(n), made(n);
    for (int k = 0; k < n; k++) roots[k] = std::polar(1., direction * 2 * M_PI * k / n);
    for (long l = 0; l < p.lines; l++) {
        for (int k = 0; k < n; k++) {
            if (kind == R2C) line[k] = ((const R*)in)[l * n + k];
            else if (kind == C2C) line[k] = ((const std::complex<R>*)in)[l * n + k];
            else line[k] = k < half ? Number(((const std::complex<R>*)in)[l * half + k])
                                    : std::conj(Number(((const std::complex<R>*)in)[l * half + n - k]));
        }
        for (int k = 0; k < n; k++) {
            made[k] = 0;
            for (long j = 0; j < n; j++) made[k] += line[j] * roots[j * k % n];
        }
        if (kind == C2R)
            for (int k = 0; k < half; k++) ((std::complex<R>*)const_cast<void*>(in))[l * half + k] = NAN;   // cuFFT may
        for (int k = 0; k < n; k++) {
            if (kind == C2R) ((R*)out)[l * n + k] = (R)made[k].real();
            else if (kind == C2C || k < half) ((std::complex<R>*)out)[l * (kind == R2C ? half : n) + k] = std::complex<R>(made[k]);
        }
    }
}
static int run(int plan, int type, int direction, const void* in, void* out) {
    Plan* p = plan_of(plan);
    if (!p || p->type != type) return INVALID_PLAN;
    const size_t number = type & DOUBLE ? 16 : 8;       // addresses are those of complex numbers
    if (!p->work || (direction != 1 && direction != -1) || (size_t)in % number || (size_t)out % number) return INVALID_VALUE;
    calls++;
    const Plan copy = *p;
    return submitted([=]() -> int {
        const Plan* now = plan_of(plan);
        if (!now || now->type != copy.type || now->length != copy.length || now->lines != copy.lines) return INVALID_PLAN;
        for (int at = 0; at < WORK; at++) ((char*)copy.work)[at] = 1;
        if (type & DOUBLE) transform<double>(copy, direction, in, out);
        else transform<float>(copy, direction, in, out);
        return 0;
    });
}
EXPORT int cufftExecC2C(int plan, void* in, void* out, int direction) { return run(plan, C2C, direction, in, out); }
EXPORT int cufftExecZ2Z(int plan, void* in, void* out, int direction) { return run(plan, C2C | DOUBLE, direction, in, out); }
EXPORT int cufftExecR2C(int plan, void* in, void* out) { return run(plan, R2C, -1, in, out); }
EXPORT int cufftExecD2Z(int plan, void* in, void* out) { return run(plan, R2C | DOUBLE, -1, in, out); }
EXPORT int cufftExecC2R(int plan, void* in, void* out) { return run(plan, C2R, 1, in, out); }
EXPORT int cufftExecZ2D(int plan, void* in, void* out) { return run(plan, C2R | DOUBLE, 1, in, out); }
EXPORT long stand_in_calls() { return calls; }
EXPORT long stand_in_plans() { return (long)plans.size(); }
