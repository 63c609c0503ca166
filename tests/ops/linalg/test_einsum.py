"""Sums over labelled dimensions, against NumPy."""
import random

import numpy
import pytest

import phintys.tensor as T
from phintys import function
from phintys.gof.graph import io_toposort

LENGTHS = {"i": 2, "j": 3, "k": 4, "l": 5, "m": 2}


def operands(subscripts, lengths=LENGTHS):
    """Arrays that fit the labels; "..." means two dimensions."""
    parts = subscripts.replace(" ", "").partition("->")[0].split(",")
    return [numpy.random.RandomState(number).normal(size=[lengths[label] for label in part.replace("...", "lm")])
            for number, part in enumerate(parts)]


def compare(subscripts, arrays, variables=None):
    """The value of an einsum equals NumPy's, and so does its gradient."""
    variables = [T.tensor("float64", (False,) * array.ndim) for array in arrays] if variables is None else variables
    result = T.einsum(subscripts, *variables)
    expected = numpy.einsum(subscripts, *arrays)
    found = function(variables, result)(*arrays)
    numpy.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    assert found.shape == expected.shape


@pytest.mark.parametrize("subscripts", [
    "ij,jk->ik", "ij,jk", "ij,ij->", "ij->ji", "ij->", "ij->j", "ii", "ii->i", "iij->ij", "i,j->ij", "i,i", "ij,j",
    "ijk,ikl->ijl", "ijk,jil->kl", "ij,jk,kl->il", "ij,jk,ik", "ij,ik,il->jkl", ",ij->ij", "ij,->j", "i,j,k->kij",
    "ijk,ljk->il", "ij,kl->ik", "ij,kl", "iji->j", "...ij,...jk->...ik", "...i->...", "i...,i...", "...,...",
    "...ij->...ji", "ijkl,kl->ij", " i j , j -> i ", "ij,ij,ij->i", "im,im->i", "iijj->ij", "ba"[::-1] + "->ba"])
def test_as_numpy(subscripts):
    compare(subscripts, operands(subscripts, {**LENGTHS, "a": 2, "b": 3}))


def test_random_subscripts():
    numbers = random.Random(1)
    for _ in range(40):
        parts = ["".join(numbers.choice("ijk") for _ in range(numbers.randint(0, 3)))
                 for _ in range(numbers.randint(1, 3))]
        known = sorted(set("".join(parts)))
        wanted = numbers.sample(known, numbers.randint(0, len(known)))
        subscripts = ",".join(parts) + "->" + "".join(wanted)
        compare(subscripts, operands(subscripts))


def test_lengths_of_one_are_broadcast():
    for pattern in ((True, False), (False, True)):
        array = numpy.arange(2.0 if pattern[0] else 3.0).reshape((1, 2) if pattern[0] else (3, 1))
        matrix = numpy.arange(6.0).reshape(3, 2)
        variables = [T.dmatrix(), T.tensor("float64", pattern)]
        compare("ij,ij->i", [matrix, array], variables)
        compare("ij,ij->ji", [array, matrix], variables[::-1])


def test_gradients_and_the_numpy_function():
    T.verify_grad(lambda a, b: numpy.einsum("ijk,ikl->jl", a, b), operands("ijk,ikl->jl"),
                  rng=numpy.random.RandomState(0))
    a, b = T.dmatrices("ab")
    value = function([a, b], numpy.einsum("ij,jk->ik", a, b, optimize=True))(numpy.eye(3), numpy.ones((3, 2)))
    assert value.tolist() == numpy.ones((3, 2)).tolist()


def test_a_product_is_one_call_of_blas():
    a, b = T.dmatrices("ab")
    names = [type(node.op).__name__ for node in function([a, b], T.einsum("ij,jk->ik", a, b)).maker.fgraph.toposort()]
    assert names == ["Dot22"]


@pytest.mark.parametrize("arguments, message", [
    (("ij,jk->ik", 1), "labels for 2 operands, but there are 1"), (("ijk->i", 1), "another rank than 2"),
    (("ij->k", 1), "labels that no operand has"), (("i1->i", 1), "labels are letters"),
    (("ijk...->i", 1), "another rank"), (([0, 1], 1), "labels as one string")])
def test_refused(arguments, message):
    subscripts, count = arguments
    with pytest.raises(ValueError, match=message):
        T.einsum(subscripts, *[T.dmatrix() for _ in range(count)])


CHAIN = [numpy.random.default_rng(seed).normal(size=shape)
         for seed, shape in enumerate([(30, 2), (2, 40), (40, 3), (3,)])]


@pytest.mark.parametrize("optimize", [False, True, "greedy", "optimal", [(1, 2)],
                                      ["einsum_path", (2, 3), (1, 2), (0, 1)]])
def test_orders_of_products(optimize):
    variables = [T.TensorType("float64", (False,) * x.ndim, shape=x.shape)() for x in CHAIN]
    result = T.einsum("ij,jk,kl,l->i", *variables, optimize=optimize)
    wanted = CHAIN[0] @ CHAIN[1] @ CHAIN[2] @ CHAIN[3]
    numpy.testing.assert_allclose(function(variables, result)(*CHAIN), wanted)


def test_a_planned_order_has_no_product_of_matrices():
    """Products with the vector first: NumPy plans these also for lengths that are not known."""
    variables = [T.dmatrix(), T.dmatrix(), T.dmatrix(), T.dvector()]
    result = T.einsum("ij,jk,kl,l->i", *variables, optimize=True)
    products = [node.outputs[0] for node in io_toposort(variables, [result]) if type(node.op).__name__ == "Dot"]
    assert sorted([value.size for value in function(variables, products)(*CHAIN)]) == [2, 30, 40]


def test_wrong_paths():
    variables = [T.dmatrix()] * 3
    for path in ([(0, 3)], [(1, 1)], [()]):
        with pytest.raises(ValueError, match="einsum: the path"):
            T.einsum("ij,jk,kl->il", *variables, optimize=path)
