"""SciPy and scikit-learn as clients of the array API: calls that build graphs, and those that are refused.

Run with ``SCIPY_ARRAY_API=1``, because SciPy reads it when it is imported; prints the calls whose values are not
NumPy's, one a line. In a call ``a``, ``b`` and ``q`` are matrices, ``v`` and ``w`` vectors; ``q`` and ``p`` are
positive.
"""
import importlib
import sys
import warnings

import numpy

import phintys
import phintys.tensor as T
from phintys.array_objects import traced
from phintys.graph.variable import Variable

# Beginning of calls → their ends.
WORKS = {
    "scipy.special": """xlogy(p,p) logsumexp(v) logsumexp(a,axis=1) softmax(a,axis=1) log_softmax(a,axis=1)
        rel_entr(p,p+1)""",
    "scipy.fft": """fft(v) ifft(v) rfft(v) irfft(v+0j) fft2(a) fftn(a) fftshift(v) hfft(v) ihfft(v) rfftn(a)
        fht(v,1.0,1.0) ifftshift(v)""",
    "scipy.stats": """zscore(v) zscore(a,axis=1) zmap(v,w) gzscore(q) gmean(p) gmean(q,axis=1) hmean(p) pmean(p,2)
        skew(v) skew(a,axis=0) kurtosis(v) kurtosis(a,axis=1) moment(v,3) sem(v) iqr(v) variation(p) entropy(p,p+1)
        tmean(v,(-1,1)) tvar(v) tstd(v) tmin(v) tmax(v) tsem(v) circmean(p) circvar(p)
        circstd(p) rankdata(v) gstd(p) boxcox_llf(0.5,p) differential_entropy(v) trim_mean(v,0.1) mode(v)
        median_abs_deviation(v) quantile(v,0.3) kstat(a,axis=0) kstatvar(a,axis=0)""",
    "scipy.signal": "fftconvolve(v,w) hilbert(v) resample(v,3) envelope(v) oaconvolve(v,w)",
    "scipy.linalg": "block_diag(a,b)",
    "scipy.integrate": "trapezoid(v) simpson(v) cumulative_trapezoid(v) cumulative_simpson(v)",
    "scipy.cluster.vq": "whiten(a)",
    "scipy.optimize": "rosen(v) rosen_der(v)",
    "scipy.constants": "convert_temperature(v,'Celsius','Kelvin') lambda2nu(p)",
    "scipy.spatial.transform": "Rotation.from_quat(v[:4]).as_matrix() Rotation.from_rotvec(v[:3]).as_matrix()",
    "sklearn.metrics.pairwise": """euclidean_distances(a,b) cosine_similarity(a,b) linear_kernel(a,b)
        polynomial_kernel(a,b) rbf_kernel(a,b) sigmoid_kernel(a,b) cosine_distances(a,b) paired_euclidean_distances(a,b)
        paired_cosine_distances(a,b) additive_chi2_kernel(q,q) chi2_kernel(q,q) laplacian_kernel(a,b)
        manhattan_distances(a,b) pairwise_distances(a,b)""",
    "sklearn.preprocessing": """MinMaxScaler().fit_transform(a) MaxAbsScaler().fit_transform(a)
        Normalizer().transform(a) Binarizer().transform(a) KernelCenterer().fit_transform(a.T@a)
        PolynomialFeatures(2).fit_transform(a) normalize(a) minmax_scale(a)""",
    "sklearn.decomposition": "PCA(2,svd_solver='full').fit_transform(a)",
    "sklearn.linear_model": "Ridge(solver='svd').fit(a,k[:5]).coef_",
    "sklearn.utils.extmath": "randomized_svd(a,2,random_state=0) row_norms(a) softmax(a)",
}
RANDOM = numpy.random.RandomState(0)
VALUES = {"a": RANDOM.normal(size=(5, 3)), "b": RANDOM.normal(size=(5, 3)), "q": RANDOM.uniform(0.1, 2, size=(5, 3)),
          "v": RANDOM.normal(size=6), "w": RANDOM.normal(size=6), "p": RANDOM.uniform(0.1, 2, size=6),
          "k": RANDOM.normal(size=20)}


def flat(found):
    """The results as a list."""
    if hasattr(found, "statistic") and hasattr(found, "pvalue"):
        found = found.statistic, found.pvalue
    return [part for item in found for part in flat(item)] if isinstance(found, (list, tuple)) else [found]


def problem(module, call):
    """How a call ends otherwise than with NumPy's values; None if it does not."""
    def called(*arrays):
        return eval(f"module.{call}", {"module": importlib.import_module(module)}, dict(zip(VALUES, arrays)))
    wanted = flat(called(*VALUES.values()))
    variables = [T.tensor("float64", shape=value.shape) for value in VALUES.values()]
    try:
        found = flat(traced(called, *variables, conditions=False))
        f = phintys.function(variables, [T.as_tensor_variable(part) for part in found], on_unused_input="ignore",
                             mode="FAST_COMPILE")
        values = f(*VALUES.values())
    except Exception as error:                  # the text is the report
        return f"{type(error).__name__}: {error}"
    if not any([isinstance(part, Variable) for part in found]):
        return "it builds no graph"
    for value, want in zip(values, wanted, strict=True):
        if numpy.shape(want) != value.shape or not numpy.allclose(value, want, equal_nan=True):
            return f"{value} in place of {want}"
    return None


def main(packages):
    """Try the calls of some packages."""
    warnings.simplefilter("ignore")
    if "sklearn" in packages:
        import sklearn
        sklearn.set_config(array_api_dispatch=True, assume_finite=True)
    for module, calls in WORKS.items():
        for call in calls.split() if module.split(".")[0] in packages else []:
            found = problem(module, call)
            if found:
                print(module, call, found.split("\n")[0])


if __name__ == "__main__":
    main(sys.argv[1:])
