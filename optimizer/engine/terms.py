"""The names that patterns are written with: holes x, y, z, c and one function per elementwise op."""
from phintys.optimizer.engine.pattern import Hole, term

x, y, z, c = Hole("x"), Hole("y"), Hole("z"), Hole("c")

add, sub, mul, true_div, neg, inv, sqr, sqrt, power = map(term, (
    "add", "sub", "mul", "true_div", "neg", "inv", "sqr", "sqrt", "pow"))
exp, exp2, expm1, log, log1p, log2, log10 = map(term, ("exp", "exp2", "expm1", "log", "log1p", "log2", "log10"))
sigmoid, softplus, absolute, sgn = map(term, ("sigmoid", "softplus", "abs_", "sgn"))
sin, cos, tan, arcsin, arccos, arctan = map(term, ("sin", "cos", "tan", "arcsin", "arccos", "arctan"))
sinh, cosh, tanh, arcsinh, arccosh, arctanh = map(term, ("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"))
deg2rad, rad2deg, erf, erfc, log_erfc, log1mexp = map(term, (
    "deg2rad", "rad2deg", "erf", "erfc", "log_erfc", "log1mexp"))
invert, conj, switch, second = map(term, ("invert", "conj", "switch", "second"))
maximum, minimum, int_div, floor = map(term, ("maximum", "minimum", "int_div", "floor"))
ge, le, and_ = map(term, ("ge", "le", "and_"))
