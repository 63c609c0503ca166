"""Each parameter of scan, map, reduce, foldl and foldr, and what the function of the body may return."""
import logging

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.ifelse import ifelse
from phintys.scan_module import until


def run(outputs, arguments=(), updates=None, mode=None):
    """The values of outputs; ``arguments`` are pairs of a variable and its value."""
    f = phintys.function([variable for variable, _ in arguments], outputs, updates=updates, mode=mode)
    return f(*[value for _, value in arguments])


def loops_in(f):
    return [node for node in f.maker.fgraph.toposort() if type(node.op).__name__ == "Scan"]


# ---- what the function returns -------------------------------------------------------------------------------------
@pytest.mark.parametrize("form", ["outputs", "outputs, updates", "outputs, updates as pairs", "updates",
                                  "outputs, until", "updates, until", "outputs, updates, until", "list", "tuple",
                                  "updates, outputs", "updates as pairs, outputs", "updates as pairs, list",
                                  "updates, outputs, until", "nothing, updates, until", "outputs, nothing"])
def test_forms_of_results(form):
    counter = phintys.shared(0)
    x = T.vector()
    parts = {"outputs": lambda x: x * 2, "updates": lambda x: {counter: counter + 1}, "until": lambda x: until(x > 2),
             "updates as pairs": lambda x: [(counter, counter + 1)], "list": lambda x: [x * 2],
             "tuple": lambda x: (x * 2,), "nothing": lambda x: []}

    def step(x):
        made = [parts[name](x) for name in form.split(", ")]
        return made[0] if len(made) == 1 else tuple(made)

    outputs, updates = phintys.scan(step, x)
    steps = 3 if "until" in form else 4
    has_outputs = not {"outputs", "list", "tuple"}.isdisjoint(form.split(", "))
    found = run([] if outputs is None else [outputs], [(x, [1, 2, 3, 4])], updates)
    assert (outputs is not None) == has_outputs
    if has_outputs:
        numpy.testing.assert_array_equal(found[0], [2, 4, 6, 8][:steps])
    assert int(counter.get_value()) == (steps if "updates" in form else 0)


@pytest.mark.parametrize("returned, text", [
    (lambda x: 3, "may only be made of lists, tuples, or dictionaries"),
    (lambda x: ({}, x, {}), "each once"), (lambda x: (x, x * 2, {}), "have to be one list"),
    (lambda x: ({}, until(x > 1), [x]), "must be the last thing"),
    (lambda x: (until(x > 1), x), "must be the last thing"),
    (lambda x: (x, {}, until(x > 1), x), "cannot parse"),
    (lambda x: (x, x + 1, until(x > 1)), "have to be one list"),
    (lambda x: None, "may only be made of")])
def test_refused_results(returned, text):
    with pytest.raises(ValueError, match=f"(?s){text}.*Returned by the function <lambda>, File .*test_scan_parameters"):
        phintys.scan(returned, T.vector())


def test_a_function_that_takes_other_arguments():
    def step(row, before, weight):
        return row + before * weight

    with pytest.raises(TypeError, match=r"(?s)step, File .*missing a required argument: 'weight'.*1 rows of sequences "
                                        r"\(x\[t\]\), 0 rows of earlier steps \(\) and 1 non_sequences \(w\).*initial"):
        phintys.scan(step, T.vector("x"), non_sequences=T.scalar("w"))


def test_a_condition_is_a_scalar():
    with pytest.raises(ValueError, match="must be a scalar"):
        phintys.scan(lambda x: (x, until(x > 1)), T.matrix())


# ---- sequences -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("taps, wanted", [
    ([0], [0, 1, 2, 3, 4]), ([-1, 0], [1, 3, 5, 7]), ([1], [1, 2, 3, 4]), ([-2], [0, 1, 2]), ([-1, 1], [2, 4, 6]),
    (2, [2, 3, 4]), (None, [0, 1, 2, 3, 4])])
def test_taps_of_sequences(taps, wanted):
    x = T.vector()
    rows, _ = phintys.scan(lambda *parts: sum(parts[1:], parts[0]), dict(input=x, taps=taps))
    numpy.testing.assert_array_equal(run(rows, [(x, range(5))]), wanted)


def test_taps_beyond_the_sequence():
    x = T.vector("x")
    rows, _ = phintys.scan(lambda before, after: before + after, dict(input=x, taps=[-2, 1]))
    f = phintys.function([x], [rows, phintys.grad(rows.sum(), x)])
    with pytest.raises(ValueError, match="taps of sequence x reach over 4 rows, but it has only 2"):
        f([1, 2])
    assert [value.tolist() for value in f([1, 2, 3])] == [[], [0, 0, 0]]
    assert [value.tolist() for value in f([1, 2, 3, 4])] == [[5], [1, 0, 0, 1]]


def test_sequences_of_different_lengths_are_cut_to_the_shortest():
    x, y = T.vectors("xy")
    rows, _ = phintys.scan(lambda x, y: x + y, [x, y])
    numpy.testing.assert_array_equal(run(rows, [(x, range(5)), (y, range(3))]), [0, 2, 4])


def test_lists_and_arrays_are_sequences():
    rows, _ = phintys.scan(lambda x, y: x + y, [numpy.arange(3.), T.constant([1., 2., 3.])])
    numpy.testing.assert_array_equal(run(rows), [1, 3, 5])


def test_an_empty_sequence():
    x, start = T.matrix(), T.vector()
    (states, rows), _ = phintys.scan(lambda x, state: (state + x, x * 2), x, [start, None])
    f = phintys.function([x, start], [states, rows, *phintys.grad(states.sum() + rows.sum(), [x, start])])
    found = f(numpy.zeros((0, 3)), numpy.zeros(3))
    assert [value.shape for value in found] == [(0, 3), (0, 3), (0, 3), (3,)]


def test_a_scalar_is_no_sequence():
    with pytest.raises(ValueError, match="is a scalar: pass it as one of non_sequences"):
        phintys.scan(lambda x: x, T.scalar())


# ---- number of steps -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("steps", [0, 1, 2, 4])
@pytest.mark.parametrize("symbolic", [False, True])
def test_number_of_steps(steps, symbolic):
    x, k = T.vector(), T.iscalar()
    rows, _ = phintys.scan(lambda x, total: total + x, x, numpy.array(0.), n_steps=k if symbolic else steps)
    arguments = [(x, [1, 2, 3, 4])] + ([(k, steps)] if symbolic else [])
    numpy.testing.assert_array_equal(run(rows, arguments), [1, 3, 6, 10][:steps])


def test_a_floating_point_number_of_steps_is_refused():
    with pytest.raises(ValueError, match="n_steps must be an int"):
        phintys.scan(lambda x: x, outputs_info=numpy.array(1.), n_steps=T.scalar())


def test_negative_number_of_steps():
    k = T.iscalar()
    rows, _ = phintys.scan(lambda x: x + 1, outputs_info=numpy.array(1.), n_steps=k)
    f = phintys.function([k], rows)
    with pytest.raises(IndexError, match="negative number of step -2"):
        f(-2)


def test_a_sequence_shorter_than_the_number_of_steps():
    x = T.vector("x")
    counter = phintys.shared(0)
    rows, updates = phintys.scan(lambda x: (x + 1, {counter: counter + 1}), x, n_steps=5)
    f = phintys.function([x], rows, updates=updates)
    with pytest.raises(ValueError, match="shorter than the required number of steps: it has 3 rows for 5 steps"):
        f([1, 2, 3])
    assert int(counter.get_value()) == 0


def _row_of(position, total, matrix):
    return total + matrix[position].sum()


@pytest.mark.parametrize("options", [{}, {"allow_gc": True}])
@pytest.mark.parametrize("n_steps", [1, 2, 3, 4, 60])
def test_an_error_names_its_step_however_steps_are_done(n_steps, options):
    """Steps are the graphs of short loops, or are interpreted, or replayed."""
    matrix = T.dmatrix("matrix")
    rows, _ = phintys.scan(_row_of, T.arange(n_steps) % 50, numpy.array(0.), matrix, **options)
    f = phintys.function([matrix], rows)
    bad = min(n_steps, 50) - 1
    with pytest.raises(IndexError, match=r"(?s)test_scan_parameters.py.*in _row_of.*"
                                         rf"in step {bad} of for.cpu,scan_fn., of {n_steps} steps"):
        f(numpy.zeros((bad, 2)))
    assert f(numpy.ones((50, 2)))[-1] == 2 * n_steps


def test_an_error_of_a_nested_loop_names_the_steps_of_both():
    def outer(start, total, matrix):
        return phintys.scan(_row_of, T.arange(5) + start, total, matrix, return_updates=False)[-1]

    matrix = T.dmatrix("matrix")
    for n_steps in (3, 10):
        rows = phintys.scan(outer, T.arange(n_steps), numpy.array(0.), matrix, return_updates=False)
        f = phintys.function([matrix], rows)
        with pytest.raises(IndexError) as error:
            f(numpy.zeros((6, 2)))
        told = str(error.value)
        assert "in step 4 of for{cpu,scan_fn}, of 5 steps" in told and "in _row_of" in told
        assert f"in step 2 of for{{cpu,scan_fn}}, of {n_steps} steps" in told and "in outer" in told


def test_work_that_is_done_for_all_steps_at_once_has_the_line_of_the_body():
    """An error in it says which element of the indices was wrong, which is the number of the step."""
    positions, table, weights = T.lvector("positions"), T.matrix("table"), T.matrix("weights")

    def step(position, state, table, weights):
        row = table[position]
        return T.tanh(T.dot(row, weights) + state)

    rows, _ = phintys.scan(step, positions, T.zeros_like(weights[0]), [table, weights])
    f = phintys.function([positions, table, weights], rows)
    with pytest.raises(IndexError, match=r"(?s)index 9 is out.*in step, for all steps of for.cpu,scan_fn. at once.*"
                                         r"row = table.position.*The index is element 3 of the indices"):
        f([0, 1, 2, 9, 1, 2, 3], numpy.ones((5, 4)), numpy.ones((4, 4)))
    with pytest.raises(ValueError, match=r"(?s)in step, for all steps of for.cpu,scan_fn. at once: return T.tanh"):
        f([0, 1, 2], numpy.ones((5, 4)), numpy.ones((3, 4)))


def test_no_information_about_the_number_of_steps():
    with pytest.raises(ValueError, match="No information about the number of steps provided"):
        phintys.scan(lambda x: x + 1, outputs_info=numpy.array(1.))


def test_a_loop_with_a_condition_needs_no_bound():
    limit = T.scalar()
    rows, _ = phintys.scan(lambda x, limit: (x + 1, until(x + 1 >= limit)), outputs_info=numpy.array(0.),
                           non_sequences=limit)
    f = phintys.function([limit], [rows, rows[-1], phintys.grad(rows.sum(), limit, disconnected_inputs="ignore")])
    every, last, _ = f(1000)
    assert len(every) == 1000 and last == 1000


def test_one_step_is_no_loop(caplog):
    x, start = T.vector(), T.scalar()
    rows, _ = phintys.scan(lambda x, state: x + state, x, start, n_steps=1)
    f = phintys.function([x, start], rows)
    assert not loops_in(f)
    numpy.testing.assert_array_equal(f([3, 4], 1), [4])
    backwards, _ = phintys.scan(lambda x: x, x, n_steps=1, go_backwards=True)
    numpy.testing.assert_array_equal(run(backwards, [(x, [3, 4])]), [4])
    with caplog.at_level(logging.WARNING):
        phintys.scan(lambda x: (x, until(x > 1)), x, n_steps=1)
    assert "is ignored" in caplog.text


# ---- states --------------------------------------------------------------------------------------------------------
def test_states_with_several_taps():
    start = T.vector()
    rows, _ = phintys.scan(lambda a, b: a + b, outputs_info=dict(initial=start, taps=[-1, -2]), n_steps=8)
    assert list(run(rows, [(start, [0, 1])])) == [1, 2, 3, 5, 8, 13, 21, 34]


def test_a_single_tap_further_back():
    start = T.vector()
    rows, _ = phintys.scan(lambda a: a * 10, outputs_info=dict(initial=start, taps=[-3]), n_steps=5)
    assert list(run(rows, [(start, [1, 2, 3])])) == [10, 20, 30, 100, 200]


def test_an_initial_state_with_too_few_rows():
    start = T.vector()
    rows, _ = phintys.scan(lambda a: a * 10, outputs_info=dict(initial=start, taps=[-3]), n_steps=5)
    with pytest.raises(ValueError, match="has 2 rows, but the taps .-3. look 3 steps back"):
        run(rows, [(start, [1, 2])])


@pytest.mark.parametrize("info, text", [
    (dict(taps=[-1]), "you need to provide a initial state"),
    (dict(initial=0., taps=[-1, -1]), "must be different"),
    (dict(initial=0., taps=[0]), "smaller than 0"),
    (dict(initial=0., taps=[1]), "smaller than 0"),
    (dict(initial=0., return_steps=1), "deprecated"),
    (dict(inital=0.), "the keys 'initial' and 'taps'")])
def test_refused_outputs_info(info, text):
    with pytest.raises(ValueError, match=text):
        phintys.scan(lambda x: x, outputs_info=info, n_steps=3)


def test_outputs_info_for_a_subset_is_refused():
    with pytest.raises(ValueError, match="Please provide None as outputs_info for any output that does not feed back"
                                         ".*File"):
        phintys.scan(lambda state: (state, state + 1), outputs_info=[T.scalar()], n_steps=3)


def test_integer_states():
    rows, _ = phintys.scan(lambda x: x * 3, outputs_info=T.constant(1, dtype="int64"), n_steps=4)
    found = run(rows)
    assert found.dtype == "int64" and list(found) == [3, 9, 27, 81]


def test_matrices_and_tensors_as_states():
    start = T.tensor3()
    rows, _ = phintys.scan(lambda x: x.dimshuffle(1, 0, 2) + 1, outputs_info=start, n_steps=2)
    value = numpy.arange(8.).reshape(2, 2, 2)
    numpy.testing.assert_array_equal(run(rows, [(start, value)]), [value.transpose(1, 0, 2) + 1, value + 2])


def test_a_state_that_changes_its_rank():
    with pytest.raises(ValueError, match="has 2 dimension.s., one for the steps included, while .* has 2 dimension"):
        phintys.scan(lambda x: x * T.ones((2, 2)), outputs_info=T.vector(), n_steps=3)


def test_a_state_that_changes_its_dtype():
    with pytest.raises(ValueError, match=r"dtype float32, while .* dtype float64(.|\n)*\.astype\('float64'\)"):
        phintys.scan(lambda x: x * T.dscalar(), outputs_info=T.fscalar(), n_steps=3)


def test_a_state_that_changes_its_pattern():
    with pytest.raises(TypeError, match="The broadcast pattern of the output of scan"):
        phintys.scan(lambda x: x + T.matrix(), outputs_info=T.row(), n_steps=3)


def test_a_state_that_changes_its_shape_names_the_step():
    lengths = T.ivector()
    rows, _ = phintys.scan(lambda length: T.ones((length,)), lengths)
    with pytest.raises(ValueError, match=r"(?s)the shape \(3,\), and had the shape \(2,\) before.*in step 2 of for"):
        run(rows, [(lengths, [2, 2, 3])])


def test_an_error_in_a_step_names_the_step_and_the_line_of_the_body():
    counter, matrix = phintys.shared(0), T.matrix("matrix")
    rows, updates = phintys.scan(lambda total, matrix: (total + matrix[counter].sum(), {counter: counter + 1}),
                                 outputs_info=numpy.array(0.), non_sequences=matrix, n_steps=5)
    f = phintys.function([matrix], rows, updates=updates)
    with pytest.raises(IndexError, match=r"(?s)test_scan_parameters.py.*in step 3 of for.cpu,scan_fn., of 5 steps"):
        f(numpy.zeros((3, 2)))
    assert int(counter.get_value()) == 0


# ---- other parameters ----------------------------------------------------------------------------------------------
def test_go_backwards():
    x, y = T.vector(), T.vector()
    rows, _ = phintys.scan(lambda x, y: x * 10 + y, [x, y], go_backwards=True)
    numpy.testing.assert_array_equal(run(rows, [(x, [1, 2, 3]), (y, [4, 5, 6])]), [36, 25, 14])


def test_return_list():
    x = T.vector()
    rows, _ = phintys.scan(lambda x: x, x, return_list=True)
    assert isinstance(rows, list) and len(rows) == 1


def test_outputs_alone():
    x = T.vector()
    rows = phintys.scan(lambda x: x * 2, x, return_updates=False)
    mapped = phintys.map(lambda x: x * 2, x, return_updates=False)
    one = phintys.scan(lambda x: x * 2, x, n_steps=1, return_updates=False)
    folds = [fold(lambda x, total: total + x, x, numpy.array(0.), return_updates=False)
             for fold in (phintys.reduce, phintys.foldl, phintys.foldr)]
    found = run([rows, mapped, one, *folds], [(x, [1, 2])])
    assert [value.tolist() for value in found] == [[2, 4], [2, 4], [2], 3, 3, 3]
    counter = phintys.shared(0)
    with pytest.raises(ValueError, match="these updates would be lost"):
        phintys.scan(lambda x: (x, {counter: counter + 1}), x, return_updates=False)


def test_name_and_options_of_the_op():
    x = T.vector()
    rows, _ = phintys.scan(lambda x: x, x, name="walk", profile="walk", allow_gc=True, strict=True,
                           truncate_gradient=3)
    op = rows.owner.op
    assert op.name == "walk" and str(op) == "for{cpu,walk}"
    assert op.options == (3, None, "walk", True, True, False)
    with phintys.change_flags(**{"scan.allow_gc": True}):
        assert phintys.scan(lambda x: x, x)[0].owner.op.options.allow_gc is True
    assert phintys.scan(lambda x: x, x)[0].owner.op.options.allow_gc is False


def test_mode_of_the_body():
    x = T.vector()
    rows, _ = phintys.scan(lambda x, state: T.exp(T.log(x)) + state, x, numpy.array(0.), mode="FAST_COMPILE")
    f = phintys.function([x], rows)
    assert loops_in(f)[0].op.fn.maker.mode is phintys.FAST_COMPILE
    numpy.testing.assert_allclose(f([1, 2]), [1, 3])


@pytest.mark.parametrize("options, text", [
    ({"truncate_gradient": "2"}, "truncate_gradient .* an integer, got '2' of type str"),
    ({"truncate_gradient": 1.5}, "truncate_gradient .* an integer, got 1.5"),
    ({"sequences": {"input": numpy.zeros(3), "taps": [0, "a"]}}, "taps are integers, got 'a'"),
    ({"outputs_info": {"initial": numpy.zeros(3), "taps": [-1.5]}}, "taps are integers, got -1.5")])
def test_numbers_that_are_none(options, text):
    with pytest.raises(TypeError, match=text):
        phintys.scan(lambda *rows: rows[0], **{"sequences": T.vector(), **options})


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 9])
def test_truncated_gradient(steps):
    x, w, start = T.vector(), T.scalar(), T.vector()
    values = numpy.array([.5, -.3, .8, .2, .6]), .7, numpy.array([.1, .4])
    rows, _ = phintys.scan(lambda x, a, b, w: T.tanh(w * a + .5 * b + x), x, dict(initial=start, taps=[-1, -2]), w,
                           truncate_gradient=steps)
    found = phintys.function([x, w, start], phintys.grad(rows[-1], [x, w, start]))(*values)
    # The same: inputs before the last steps are constants, and so are the states that these steps start from.
    first = max(0, 5 - steps)
    states = phintys.function([x, w, start], T.concatenate([start, rows]))(*values)
    rows, _ = phintys.scan(lambda x, a, b, w: T.tanh(w * a + .5 * b + x), x, dict(initial=start, taps=[-1, -2]), w)
    wanted = phintys.function([x, w, start], phintys.grad(rows[-1], [x, w, start]))(
        values[0][first:], values[1], states[first:first + 2])
    numpy.testing.assert_allclose(found[0], [0] * first + list(wanted[0]))
    numpy.testing.assert_allclose(found[1], wanted[1])
    reaching = numpy.zeros(2)
    reaching[min(first, 2):] = wanted[2][:max(0, 2 - first)]
    numpy.testing.assert_allclose(found[2], reaching)


# ---- shared variables ----------------------------------------------------------------------------------------------
def test_shared_variables_need_not_be_passed():
    weight, x = phintys.shared(numpy.array(3.)), T.vector()
    rows, updates = phintys.scan(lambda x: x * weight ** 2, x)
    assert not updates
    numpy.testing.assert_array_equal(run(rows, [(x, [1, 2])]), [9, 18])
    gradient = phintys.grad(rows.sum(), weight)
    assert run(gradient, [(x, [1, 2])]) == 18


def test_strict_refuses_what_was_not_passed():
    weight, x = phintys.shared(numpy.array(3.), name="weight"), T.vector()
    phintys.scan(lambda x, weight: x * weight, x, non_sequences=weight, strict=True)
    phintys.scan(lambda x, row, weight: x * row * weight, [x, T.stack([weight, weight])], non_sequences=[weight],
                 strict=True)
    with pytest.raises(phintys.gof.MissingInputError, match="with strict=True(.|\n)*weight"):
        phintys.scan(lambda x: x * weight, x, strict=True)


def test_updates_validate_their_keys():
    _, updates = phintys.scan(lambda x: x, T.vector())
    with pytest.raises(TypeError, match="must inherit from SharedVariable"):
        updates[T.scalar()] = 3
    counter = phintys.shared(0)
    _, first = phintys.scan(lambda x: {counter: counter + 1}, T.vector())
    _, second = phintys.scan(lambda x: {counter: counter + 2}, T.vector())
    with pytest.raises(KeyError, match="two new values"):
        first + second


def test_updated_shared_variables_are_seen_by_the_next_step():
    total, x = phintys.shared(numpy.zeros(2)), T.matrix()
    rows, updates = phintys.scan(lambda x: (total.sum(), {total: total + x}), x)
    f = phintys.function([x], rows, updates=updates)
    numpy.testing.assert_array_equal(f([[1, 2], [3, 4]]), [0, 3])
    numpy.testing.assert_array_equal(total.get_value(), [4, 6])


def test_default_updates_are_carried_and_returned():
    counter = phintys.shared(10)
    counter.default_update = counter + 1
    x = T.vector()
    rows, updates = phintys.scan(lambda x: x + counter, x)
    f = phintys.function([x], rows, updates=updates)
    numpy.testing.assert_array_equal(f([0, 0, 0]), [10, 11, 12])
    assert int(counter.get_value()) == 13


def test_an_update_that_reads_what_was_not_passed():
    counter, increment = phintys.shared(0.), T.scalar("increment")
    with pytest.raises(phintys.gof.MissingInputError, match="(?s)increment.*pass this variable to the scan's inner"):
        phintys.scan(lambda: {counter: counter + increment}, n_steps=3)


def test_variables_from_outside_need_not_be_passed():
    x, w = T.vector(), T.matrix()
    squared = w ** 2
    rows, _ = phintys.scan(lambda x: T.dot(x, squared).sum(), x)
    f = phintys.function([x, w], [rows, phintys.grad(rows.sum(), w)])
    value, gradient = f([1, 2], numpy.ones((2, 2)))
    numpy.testing.assert_array_equal(value, [4, 8])
    numpy.testing.assert_array_equal(gradient, [[6, 6], [6, 6]])


def test_objects_are_carried():
    values = phintys.shared([1, 2])                 # a generic variable: its values are Python objects

    @phintys.as_op(itypes=[values.type], otypes=[values.type])
    def longer(value):
        return [[*value, len(value)]]

    _, updates = phintys.scan(lambda: {values: longer(values)}, n_steps=3)
    phintys.function([], [], updates=updates)()
    assert values.get_value() == [1, 2, 2, 3, 4]


# ---- bodies --------------------------------------------------------------------------------------------------------
def test_nested_loops():
    x, w = T.matrix(), T.scalar()

    def row_sum(row, w):
        sums, _ = phintys.scan(lambda value, total, w: total + value * w, row, numpy.array(0.), w)
        return sums[-1]

    rows, _ = phintys.scan(row_sum, x, non_sequences=w)
    f = phintys.function([x, w], [rows, *phintys.grad((rows ** 2).sum(), [x, w])])
    value = numpy.arange(6.).reshape(2, 3)
    found, by_x, by_w = f(value, 2.)
    numpy.testing.assert_allclose(found, value.sum(1) * 2)
    numpy.testing.assert_allclose(by_x, numpy.repeat(value.sum(1)[:, None] * 8, 3, 1))
    numpy.testing.assert_allclose(by_w, (value.sum(1) ** 2).sum() * 4)


def test_ifelse_in_the_body():
    x = T.vector()
    rows, _ = phintys.scan(lambda x, state: ifelse(x > 0, state * x, state + 1), x, numpy.array(1.))
    f = phintys.function([x], [rows, phintys.grad(rows[-1], x)])
    found, gradient = f([2, -1, 3])
    numpy.testing.assert_array_equal(found, [2, 3, 9])
    numpy.testing.assert_array_equal(gradient, [3, 0, 3])


def test_gradient_through_a_condition():
    x, limit = T.vector(), T.scalar()
    rows, _ = phintys.scan(lambda x, total, limit: (total + x ** 2, until(total + x ** 2 > limit)), x, numpy.array(0.),
                           limit)
    f = phintys.function([x, limit], [rows, phintys.grad(rows.sum(), x)])
    found, gradient = f([1, 2, 3, 4], 10)
    numpy.testing.assert_array_equal(found, [1, 5, 14])
    numpy.testing.assert_array_equal(gradient, [6, 8, 6, 0])


def test_ops_with_perform_in_the_body():
    @phintys.as_op(itypes=[T.dvector], otypes=[T.dvector])
    def turned(value):
        return value[::-1].copy()

    start = T.dvector()
    rows, _ = phintys.scan(lambda state: turned(state) + 1, outputs_info=start, n_steps=3)
    numpy.testing.assert_array_equal(run(rows, [(start, [0., 1.])]), [[2, 1], [2, 3], [4, 3]])


# ---- map, reduce, foldl, foldr -------------------------------------------------------------------------------------
@pytest.mark.parametrize("fold", [phintys.map, phintys.reduce, phintys.foldl, phintys.foldr])
def test_parameters_that_are_those_of_scan(fold):
    x, weight = T.vector(), T.scalar()
    info = () if fold is phintys.map else (numpy.array(0.),)
    body = (lambda x, weight: x * weight) if fold is phintys.map else (lambda x, total, weight: total + x * weight)
    outputs, updates = fold(body, x, *info, non_sequences=weight, mode="FAST_COMPILE", name="walk")
    assert isinstance(updates, phintys.updates.OrderedUpdates)
    op, = [node.op for node in phintys.gof.graph.io_toposort([x, weight], [outputs])
           if isinstance(node.op, phintys.scan_module.scan_op.Scan)]
    assert op.name == "walk" and op.options.mode == "FAST_COMPILE"
    wanted = [2, 4, 6] if fold is phintys.map else 12
    numpy.testing.assert_array_equal(run(outputs, [(x, [1, 2, 3]), (weight, 2)]), wanted)


def test_the_gradient_of_map_is_truncated():
    x = T.vector()
    rows, _ = phintys.map(lambda x: x ** 2, x, truncate_gradient=2)
    numpy.testing.assert_array_equal(run(phintys.grad(rows.sum(), x), [(x, [1, 2, 3])]), [0, 4, 6])


def test_map():
    x, w = T.matrix(), T.scalar()
    rows, updates = phintys.map(lambda row, w: row.sum() * w, x, w, go_backwards=True, name="sums")
    assert not updates
    numpy.testing.assert_array_equal(run(rows, [(x, [[1, 2], [3, 4]]), (w, 2)]), [14, 6])


@pytest.mark.parametrize("fold, wanted", [(phintys.foldl, 1234), (phintys.foldr, 4321), (phintys.reduce, 1234)])
def test_order_of_folds(fold, wanted):
    x = T.vector()
    result, updates = fold(lambda digit, number: number * 10 + digit, x, numpy.array(0.))
    assert not updates and result.type.ndim == 0
    assert run(result, [(x, [1, 2, 3, 4])]) == wanted


def test_reduce_with_several_outputs():
    x = T.vector()
    (low, high), _ = phintys.reduce(lambda value, low, high: (T.minimum(value, low), T.maximum(value, high)), x,
                                    [numpy.array(100.), numpy.array(-100.)])
    assert [float(value) for value in run([low, high], [(x, [3, 1, 2])])] == [1, 3]
    backwards, _ = phintys.reduce(lambda digit, number: number * 10 + digit, x, numpy.array(0.), go_backwards=True)
    assert run(backwards, [(x, [1, 2])]) == 21


def test_reduce_of_nothing():
    x = T.vector()
    total, _ = phintys.reduce(lambda value, total: total + value, x, numpy.array(0.))
    with pytest.raises(IndexError):
        run(total, [(x, [])])


# ---- use -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE", "DebugMode"])
def test_modes(mode):
    x, start = T.vector(), T.scalar()
    rows, _ = phintys.scan(lambda x, state: T.tanh(x + state), x, start)
    f = phintys.function([x, start], [rows[-1], phintys.grad(rows.sum(), x)], mode=mode)
    last, gradient = f([.1, .2, .3], .5)
    state, slopes = .5, []
    for value in (.1, .2, .3):
        state = numpy.tanh(value + state)
        slopes.append(1 - state ** 2)
    numpy.testing.assert_allclose(last, state)
    numpy.testing.assert_allclose(gradient[2], slopes[2])
    numpy.testing.assert_allclose(gradient[1], slopes[1] * (1 + slopes[2]))


def test_equal_loops_are_one():
    x = T.vector()
    first, _ = phintys.scan(lambda x, state: T.tanh(x + state), x, numpy.array(0.))
    second, _ = phintys.scan(lambda x, state: T.tanh(x + state), x, numpy.array(0.))
    other, _ = phintys.scan(lambda x, state: T.tanh(x - state), x, numpy.array(0.))
    op, same, different = [rows.owner.inputs[0].owner.op for rows in (first, second, other)]
    assert op == same and hash(op) == hash(same) and op != different
    assert len(loops_in(phintys.function([x], first + second))) == 1


def test_loops_can_be_pickled():
    import pickle
    x = T.vector()
    rows, _ = phintys.scan(lambda x, state: T.tanh(x + state), x, numpy.array(0.))
    copied, y = pickle.loads(pickle.dumps((rows, x)))
    numpy.testing.assert_array_equal(run(copied, [(y, [1, 2])]), run(rows, [(x, [1, 2])]))
    f = pickle.loads(pickle.dumps(phintys.function([x], rows)))
    numpy.testing.assert_array_equal(f([1, 2]), run(rows, [(x, [1, 2])]))


def test_shapes_are_known_without_running():
    x, start = T.matrix(), T.vector()
    (states, rows), _ = phintys.scan(lambda x, state: (state + x, x.sum()), x, [start, None])
    f = phintys.function([x, start], [states.shape, rows.shape], on_unused_input="ignore")
    assert not loops_in(f)
    found = f(numpy.zeros((4, 3)), numpy.zeros(3))
    assert [list(value) for value in found] == [[4, 3], [4]]


def test_a_long_loop_can_be_interrupted():
    import signal
    counter, k = phintys.shared(0), T.lscalar()
    _, updates = phintys.scan(lambda: {counter: counter + 1}, n_steps=k)
    f = phintys.function([k], [], updates=updates)
    f(3)

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt):
            f(10 ** 15)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert int(counter.get_value()) == 3


def test_explain_shows_the_bodies():
    x = T.matrix()
    rows, _ = phintys.scan(lambda row: phintys.foldl(lambda value, total: T.tanh(value - total), row,
                                                     numpy.array(0.))[0], x, name="rows")
    text = phintys.function([x], rows, name="f").explain("instructions")
    (outer, inner) = [line for line in text.splitlines() if "once a step" in line]
    assert outer.startswith("body of instruction") and inner.startswith("    body of instruction")
    assert [line for line in text.splitlines() if "tanh" in line][0].startswith("        ")


def test_random_numbers_that_are_passed_are_drawn_once():
    """The draw is outside the loop: each step reads the same numbers, and the stream is updated once a call."""
    stream = phintys.tensor.shared_randomstreams.RandomStreams(123)
    x = T.dmatrix("x")
    drawn = stream.binomial(size=x.shape, p=x)
    rows, updates = phintys.scan(lambda value: value, non_sequences=drawn, n_steps=2)
    fresh, more = phintys.scan(lambda value: value + stream.uniform(size=(3, 3)), non_sequences=drawn, n_steps=2)
    f = phintys.function([x], [drawn, rows, fresh], updates=updates + more)
    chances = numpy.random.RandomState(0).uniform(size=(3, 3))
    first, second = f(chances), f(chances)
    for once, steps, noisy in (first, second):
        numpy.testing.assert_array_equal(steps, [once, once])
        numpy.testing.assert_array_equal(numpy.floor(noisy), [once, once])
        assert (noisy[0] != noisy[1]).all()
    assert (first[2] != second[2]).all()


def test_an_array_is_an_initial_state():
    rows, _ = phintys.scan(lambda x: x + 1, outputs_info=numpy.zeros(3), n_steps=2)
    assert phintys.function([], rows)().tolist() == [[1.0] * 3, [2.0] * 3]


def test_taps_that_are_explicitly_none(caplog):
    """Theano's warning; without the key there is none."""
    start = T.dscalar("start")
    with caplog.at_level(logging.WARNING):
        plain, _ = phintys.scan(lambda state: state * 2, outputs_info=[dict(initial=start)], n_steps=3)
        assert not caplog.records
        rows, _ = phintys.scan(lambda state, other: [state * 2, other], outputs_info=[
            start, dict(initial=start, taps=None)], n_steps=3)
    assert "Output start (index 1) has an initial state but taps is explicitly set to None" in caplog.text
    for values in (plain, rows[0]):
        numpy.testing.assert_array_equal(values.eval({start: 1.0}), [2, 4, 8])
