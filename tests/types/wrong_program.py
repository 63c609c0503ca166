"""A program with a mistake in each line that has a comment, for type checkers: they report those, and no other."""
import phintys
import phintys.tensor as T
from phintys import In, compile, function, gof, printing, shared
from phintys.tensor import fft, nlinalg, slinalg
from phintys.tensor.signal import pool

x, y = T.dmatrix("x"), T.dvector("y")
w = shared(1.0, name="w")
f = function([x], x + 1)

phintys.functoin([x], x)                        # no such name
T.dott(x, x)                                    # no such name
T.exp("x")                                      # text is no tensor
T.exp(x, y)                                     # too many operands
T.dot(x)                                        # an operand is missing
x.summ()                                        # no such method
x.sum(axis="rows")                              # an axis is a number
x + "1"                                         # text is no tensor
T.dmatrix(3)                                    # a name is text
function(x, x)                                  # inputs are a list
function([x], x, modus="FAST_RUN")              # no such option
function([x], x, allow_input_downcast="yes")    # True, False or None
shared(1.0, nam="w", strict="yes").get_value()  # strict is True or False
w.get_value(borow=True)                         # no such option
w.values                                        # no such attribute
In(x, mutable="yes")                            # True or False
f.explane()                                     # no such method
phintys.grad(x.sum(), [x])[0].summ()            # no such method
T.nnet.softmaxx(x)                              # no such name
printing.debugprint(x, depth="all")             # a number
printing.debugprint(x, file="str").write("")    # the text is no file
printing.debugprnt(x)                           # no such name
printing.hex_digest(x)                          # an array
compile.functoin([x], x)                        # no such name
compile.pfunc(x, x)                             # inputs are a list
compile.orig_function([x], x, name=3)           # a name is text
compile.Mode(optimizer="fast_run", linkr="vm")  # no such option
gof.Aply                                        # no such name
gof.FunctionGraph([x], [x + 1]).toposrt()       # no such method
gof.SequenceDB().add_tags(1, "fast_run")        # a name is text
gof.graph.io_toposort(x, 1)                     # variables
T.blas.gem(x, x)                                # no such name
T.blas.dot(x)                                   # an operand is missing
T.blas.dot22(x, x).summ()                       # no such method
slinalg.choleski(x)                             # no such name
nlinalg.trace()                                 # the operand is missing
fft.rfft(x, norms="ortho")                      # no such option
pool.pool_2d(x, (2, 2), mode=3)                 # a mode is text
phintys.scan(3, sequences=[x])                  # a function
T.jacobian(x.sum(axis=0), "x")                  # a variable
T.jacobian(x.sum(axis=0), x).summ()             # no such method
