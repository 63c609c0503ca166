"""NumPy's distributions in C, as the kernels use them.

NumPy's own declarations belong to its package ``random``: a module that names these imports it, with OpenSSL and the
generators, when it is loaded: a tenth of what ``import phintys`` executes.
"""
from libc.stdint cimport int64_t, uint64_t
from numpy cimport npy_intp


cdef extern from "numpy/random/distributions.h" nogil:
    ctypedef struct bitgen_t:
        void* state
        double (*next_double)(void* state) noexcept nogil
    ctypedef struct binomial_t:
        int has_binomial

    void random_standard_uniform_fill(bitgen_t* bits, npy_intp count, double* out)
    void random_standard_uniform_fill_f(bitgen_t* bits, npy_intp count, float* out)
    void random_standard_normal_fill(bitgen_t* bits, npy_intp count, double* out)
    void random_standard_normal_fill_f(bitgen_t* bits, npy_intp count, float* out)
    void random_standard_exponential_fill(bitgen_t* bits, npy_intp count, double* out)
    void random_standard_exponential_fill_f(bitgen_t* bits, npy_intp count, float* out)
    double random_standard_gamma(bitgen_t* bits, double shape)
    float random_standard_gamma_f(bitgen_t* bits, float shape)
    double random_standard_cauchy(bitgen_t* bits)

    double random_chisquare(bitgen_t* bits, double df)
    double random_pareto(bitgen_t* bits, double a)
    double random_weibull(bitgen_t* bits, double a)
    double random_power(bitgen_t* bits, double a)
    double random_rayleigh(bitgen_t* bits, double mode)
    double random_standard_t(bitgen_t* bits, double df)
    double random_beta(bitgen_t* bits, double a, double b)
    double random_f(bitgen_t* bits, double df_above, double df_below)
    double random_laplace(bitgen_t* bits, double loc, double scale)
    double random_gumbel(bitgen_t* bits, double loc, double scale)
    double random_logistic(bitgen_t* bits, double loc, double scale)
    double random_lognormal(bitgen_t* bits, double mean, double sigma)
    double random_noncentral_chisquare(bitgen_t* bits, double df, double nonc)
    double random_noncentral_f(bitgen_t* bits, double df_above, double df_below, double nonc)
    double random_wald(bitgen_t* bits, double mean, double scale)
    double random_vonmises(bitgen_t* bits, double mu, double kappa)

    double random_triangular(bitgen_t* bits, double left, double mode, double right)

    int64_t random_hypergeometric(bitgen_t* bits, int64_t good, int64_t bad, int64_t sample)
    int64_t random_poisson(bitgen_t* bits, double lam)
    int64_t random_negative_binomial(bitgen_t* bits, double n, double p)
    int64_t random_binomial(bitgen_t* bits, double p, int64_t n, binomial_t* binomial)
    int64_t random_logseries(bitgen_t* bits, double p)
    int64_t random_geometric(bitgen_t* bits, double p)
    int64_t random_zipf(bitgen_t* bits, double a)
    uint64_t random_bounded_uint64(bitgen_t* bits, uint64_t first, uint64_t width, uint64_t mask, bint masked)
    void random_bounded_uint64_fill(bitgen_t* bits, uint64_t first, uint64_t width, npy_intp count, bint masked,
                                    uint64_t* out)
    void random_multinomial(bitgen_t* bits, int64_t n, int64_t* counts, double* shares, npy_intp outcomes,
                            binomial_t* binomial)
