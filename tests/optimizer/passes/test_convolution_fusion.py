"""Convolution fusion: which nodes become one, which stay, and the program."""
import pytest
from optimized_graphs import operations, optimized
from program_listings import code, listing

import phintys.tensor as T
from phintys.tensor.signal.pool import pool_2d

x, w, g = T.dtensor4("x"), T.dtensor4("w"), T.dtensor4("g")
b = T.vector("b", dtype="float64")
bias = b.dimshuffle("x", 0, "x", "x")
y = T.nnet.conv2d(x, w)

CASES = {
    "a bias and a function": ([T.tanh(y + bias)], ["DimShuffle", "FusedConvolution"]),
    "one op": ([T.nnet.relu(y)], ["FusedConvolution"]),
    "nothing follows": ([y], ["AbstractConv2d"]),
    "a layer after another": ([T.tanh(T.nnet.conv2d(T.tanh(y + bias), w))],
                              ["DimShuffle", "FusedConvolution", "FusedConvolution"]),
    "the result is read by others too": ([T.tanh(y), y], ["AbstractConv2d", "tanh"]),
    "two outputs of one loop": ([T.tanh(y), T.exp(y)], ["AbstractConv2d", "Composite"]),
    "an operand of the result's shape": ([T.tanh(y + x[:, :, 2:, 2:])], ["AbstractConv2d", "Subtensor", "Composite"]),
    "an operand that depends on the result": ([y / (y ** 2).sum().dimshuffle("x", "x", "x", "x")],
                                              ["AbstractConv2d", "DimShuffle", "FusedReduction", "true_div"]),
    "pooling": ([pool_2d(y, (2, 2), True)], ["PooledConvolution"]),
    "a function and pooling": ([pool_2d(T.tanh(y + bias), (2, 2), True)], ["DimShuffle", "PooledConvolution"]),
    "pooling and a function": ([T.tanh(pool_2d(y, (2, 2), True) + bias)], ["DimShuffle", "PooledConvolution"]),
    "functions on both sides": ([T.exp(pool_2d(T.tanh(y), (2, 2), True))], ["PooledConvolution", "exp"]),
    "pooling of what is read by others too": ([pool_2d(y, (2, 2), True), y], ["AbstractConv2d", "Pool"]),
    "a gradient by images": ([2 * T.grad(None, x, known_grads={y: g})], ["AbstractConv2d_gradInputs", "mul"]),
}


@pytest.mark.parametrize("name", CASES)
def test_ops_after_fusion(name):
    outputs, expected = CASES[name]
    made = [op for op in operations(optimized([x, w, b, g], outputs)) if op not in ("Shape_i", "MakeVector")]
    assert sorted(made) == sorted(expected)


def test_the_program():
    assert listing([x, w, b], T.nnet.relu(y + bias)) == code("""
        KERNEL  C3 := InplaceDimShuffle{x,0,x,x}(C2)
        KERNEL  C4 := AbstractConv2d(Composite{relu((i0 + i1))})(C0, C1, C3)
        DROP    C3
        RESULT  C4
        HALT
    """)
