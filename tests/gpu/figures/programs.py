"""Whole programs: what a call costs, training of classifiers and recurrent nets, minibatches, loops."""
from time import perf_counter

import numpy
from runs import FLOAT, library


def launches(runs, phintys, T):
    """A program of 20 kernels on few elements: what a kernel costs the host, one by one and replayed."""
    mode = phintys.compile.get_default_mode().excluding("fusion")
    x = phintys.shared(numpy.zeros(10, FLOAT), target="cuda")
    value = x
    for number in range(20):
        value = T.tanh(value) if number % 2 else T.sin(value)
    step = phintys.function([], [], updates=[(x, value)], mode=mode)
    for name, graphs in (("one by one", False), ("replayed", True)):
        with phintys.change_flags({"gpu.graphs": graphs}):
            best = runs.minima({"phintys": (step, phintys.gpu.wait)})
            count = 1 if runs.small else 200
            phintys.gpu.wait()
            start = perf_counter()
            for _ in range(count):
                step()
            host = (perf_counter() - start) / count
            phintys.gpu.wait()
        runs.note("20 kernels, us a call", name, call=best["phintys"] * 1e6, host=host * 1e6,
                  host_a_kernel=host / 20 * 1e6)
    jax = runs.peer("jax")
    if jax is not None:
        def chain(value):
            for number in range(20):
                value = jax.lax.optimization_barrier(jax.numpy.tanh(value) if number % 2 else jax.numpy.sin(value))
            return value
        compiled, state = jax.jit(chain), [jax.numpy.zeros(10, FLOAT)]
        best = runs.minima({"jax": (lambda: state.__setitem__(0, compiled(state[0])),
                                    lambda: state[0].block_until_ready())})
        runs.note("20 kernels, us a call", "JAX", call=best["jax"] * 1e6)


def latency(runs, phintys, T):
    """What a call costs that does next to nothing: by argument, by result, by checked positions."""
    w = phintys.shared(numpy.ones(10, FLOAT), target="cuda")
    v, x, i = phintys.gpu.host_from_gpu(w), T.fvector(), T.lvector()
    ten, places = numpy.ones(10, FLOAT), numpy.arange(5)
    rows = {"update only": (phintys.function([], [], updates=[(w, v * FLOAT(0.99))]), ()),
            "an argument": (phintys.function([x], [], updates=[(w, v * FLOAT(0.5) + x)]), (ten,)),
            "a result": (phintys.function([], v * 2), ()),
            "an argument and a result": (phintys.function([x], v * x), (ten,)),
            "checked positions": (phintys.function([i], [], updates=[(w, T.inc_subtensor(v[i], FLOAT(1)))]), (places,))}
    for name, (function, arguments) in rows.items():
        best = runs.minima({"phintys": (lambda: function(*arguments), phintys.gpu.wait)}, 0.2)
        runs.note("latency of a call, us", name, phintys=best["phintys"] * 1e6)


SIZES = {"logreg": (784, 10), "mlp": (784, 500, 10)}


def classifiers(runs, phintys, T):
    """Steps of training of logistic regression and of a layer of tanh before it."""
    for name, sizes in SIZES.items():
        for rows in (4,) if runs.small else (32, 600):
            random = numpy.random.RandomState(0)
            x, y = random.uniform(-1, 1, (rows, sizes[0])).astype(FLOAT), random.randint(0, 10, rows)
            weights = [random.uniform(-0.05, 0.05, shape).astype(FLOAT) for shape in zip(sizes, sizes[1:])]
            makers = {"phintys": lambda *a: phintys_classifier(phintys, T, *a), "jax": jax_classifier,
                      "torch": torch_classifier}
            compare(runs, f"{name}, batch {rows}", makers, x, y, weights)


def minibatches(runs, phintys, T):
    """Training as in Theano's tutorials: the data are on the device, and a call takes a slice of them by its number."""
    random = numpy.random.RandomState(0)
    rows, sizes = (3, (6, 5, 10)) if runs.small else (100, (784, 500, 10))
    for count in (1, 2) if runs.small else (1, 10, 100):
        data = phintys.shared(random.uniform(-1, 1, (count * rows, sizes[0])).astype(FLOAT), target="cuda")
        labels = phintys.shared(random.randint(0, 10, count * rows).astype("int32"), target="cuda")
        w = [phintys.shared(random.uniform(-.05, .05, shape).astype(FLOAT), target="cuda")
             for shape in zip(sizes, sizes[1:])]
        x, y, index = T.fmatrix(), T.ivector(), T.lscalar()
        cost = T.nnet.categorical_crossentropy(T.nnet.softmax(T.dot(T.tanh(T.dot(x, w[0])), w[1])), y).mean()
        parts = [phintys.gpu.host_from_gpu(each)[index * rows:(index + 1) * rows] for each in (data, labels)]
        train = phintys.function([index], cost, givens=dict(zip((x, y), parts)), updates=[
            (each, each - FLOAT(0.1) * slope) for each, slope in zip(w, T.grad(cost, w))])

        def epoch():
            for number in range(count):
                train(number)
        before = phintys.gpu.memory_report()
        best = runs.minima({"phintys": (epoch, phintys.gpu.wait)})
        after = phintys.gpu.memory_report()
        lists, replayed = [after[name] - before[name] for name in ("submitted", "replayed")]
        runs.note("minibatches by index", f"{count} of {rows} rows", us_a_call=best["phintys"] / count * 1e6,
                  share_replayed=replayed / max(1, lists))


def compare(runs, row, makers, *arguments):
    made, making = {}, {}
    for name, maker in makers.items():
        if name == "phintys" or runs.peer(name):
            start = perf_counter()
            made[name] = maker(*arguments)
            making[name] = perf_counter() - start
    best = runs.minima(made)
    first = dict(runs.first)
    making["phintys, kernels on disk"] = 0.0
    first["phintys, kernels on disk"] = from_disk(makers["phintys"], arguments)
    runs.note("training, steps a second", row, **{name: 1 / seconds for name, seconds in best.items()})
    runs.note("compiling and the first call, s", row,
              **{name: making[name] + seconds for name, seconds in first.items()})


def from_disk(maker, arguments):
    """What compiling and the first call take where another process has compiled the kernels."""
    from phintys.gpu.runtime import compiler
    compiler._compiled.clear()
    start = perf_counter()
    step, wait = maker(*arguments)
    step()
    wait()
    return perf_counter() - start


def phintys_classifier(phintys, T, x, y, weights):
    w = [phintys.shared(value, target="cuda") for value in weights]
    data = phintys.shared(x, target="cuda")
    labels = phintys.shared(y.astype("int32"), target="cuda")
    value = data
    for each in w[:-1]:
        value = T.tanh(T.dot(value, each))
    cost = T.nnet.categorical_crossentropy(T.nnet.softmax(T.dot(value, w[-1])), labels.flatten()).mean()
    step = phintys.function([], [], updates=[(each, each - FLOAT(0.1) * gradient)
                                             for each, gradient in zip(w, T.grad(cost, w))])
    return step, phintys.gpu.wait


def jax_classifier(x, y, weights):
    jax = library("jax")

    def cost(w, x, y):
        for each in w[:-1]:
            x = jax.numpy.tanh(x @ each)
        return -jax.nn.log_softmax(x @ w[-1])[jax.numpy.arange(len(y)), y].mean()
    train = jax.jit(lambda w, x, y: [each - FLOAT(0.1) * g for each, g in zip(w, jax.grad(cost)(w, x, y))])
    state, x, y = [list(map(jax.numpy.asarray, weights))], jax.numpy.asarray(x), jax.numpy.asarray(y)
    return lambda: state.__setitem__(0, train(state[0], x, y)), lambda: jax.block_until_ready(state[0])


def torch_classifier(x, y, weights):
    torch = library("torch")
    w = [torch.tensor(value, device="cuda", requires_grad=True) for value in weights]
    x, y = torch.tensor(x, device="cuda"), torch.tensor(y, device="cuda")

    def step():
        value = x
        for each in w[:-1]:
            value = torch.tanh(value @ each)
        gradients = torch.autograd.grad(torch.nn.functional.cross_entropy(value @ w[-1], y), w)
        with torch.no_grad():
            for each, gradient in zip(w, gradients):
                each -= 0.1 * gradient
    return step, torch.cuda.synchronize


def recurrent(runs, phintys, T):
    """Steps of training of a recurrent layer over 100 steps."""
    for hidden in (8,) if runs.small else (64, 256, 1024):
        for rows in (2,) if runs.small else (1, 32):
            random = numpy.random.RandomState(0)
            x = random.uniform(-1, 1, (3 if runs.small else 100, rows, hidden)).astype(FLOAT)
            weights = [random.uniform(-0.1, 0.1, (hidden, hidden)).astype(FLOAT) / hidden ** 0.5 for _ in range(2)]
            makers = {"phintys": lambda *a: phintys_recurrent(phintys, T, *a), "jax": jax_recurrent,
                      "torch": torch_recurrent}
            compare(runs, f"RNN, hidden {hidden}, batch {rows}", makers, x, weights)


def phintys_recurrent(phintys, T, x, weights):
    w = [phintys.shared(value, target="cuda") for value in weights]
    data = phintys.shared(x, target="cuda")
    rows, _ = phintys.scan(lambda row, state: T.tanh(T.dot(row, w[0]) + T.dot(state, w[1])),
                           sequences=phintys.gpu.host_from_gpu(data),
                           outputs_info=T.unbroadcast(T.zeros((x.shape[1], x.shape[2]), "float32"), 0, 1))
    cost = (rows[-1] ** 2).sum()
    step = phintys.function([], [], updates=[(each, each - FLOAT(0.01) * gradient)
                                             for each, gradient in zip(w, T.grad(cost, w))])
    return step, phintys.gpu.wait


def jax_recurrent(x, weights):
    jax = library("jax")

    def cost(w, x):
        def step(state, row):
            return jax.numpy.tanh(row @ w[0] + state @ w[1]), None
        return (jax.lax.scan(step, jax.numpy.zeros(x.shape[1:], FLOAT), x)[0] ** 2).sum()
    train = jax.jit(lambda w, x: [each - FLOAT(0.01) * g for each, g in zip(w, jax.grad(cost)(w, x))])
    state, x = [list(map(jax.numpy.asarray, weights))], jax.numpy.asarray(x)
    return lambda: state.__setitem__(0, train(state[0], x)), lambda: jax.block_until_ready(state[0])


def torch_recurrent(x, weights):
    torch = library("torch")
    w = [torch.tensor(value, device="cuda", requires_grad=True) for value in weights]
    x = torch.tensor(x, device="cuda")

    def step():
        state = torch.zeros(x.shape[1:], device="cuda")
        for row in x:
            state = torch.tanh(row @ w[0] + state @ w[1])
        gradients = torch.autograd.grad((state ** 2).sum(), w)
        with torch.no_grad():
            for each, gradient in zip(w, gradients):
                each -= 0.01 * gradient
    return step, torch.cuda.synchronize


# ---- loops without training ------------------------------------------------------------------------------------------
def loops(runs, phintys, T):
    """Microseconds a step: elementwise bodies, recurrent layers and LSTM layers, beside those of PyTorch (cuDNN)."""
    steps = 5 if runs.small else 1000
    for length in (7,) if runs.small else (10, 10 ** 5):
        v = phintys.shared(numpy.ones(length, FLOAT), target="cuda")
        states, _ = phintys.scan(lambda s: s * FLOAT(0.5) + 1, outputs_info=phintys.gpu.host_from_gpu(v), n_steps=steps)
        function = phintys.function([], phintys.Out(phintys.gpu.gpu_from_host(states[-1]), borrow=True))
        best = runs.minima({"phintys": (function, phintys.gpu.wait)})
        runs.note("loops, us a step", f"s / 2 + 1 of {length}", phintys=best["phintys"] / steps * 1e6)
    for cell, makers in CELLS.items():
        for hidden in (8,) if runs.small else (64, 128, 256, 1024):
            for rows in (2,) if runs.small else (1, 32):
                recurrent_layer(runs, phintys, T, cell, makers, hidden, rows, 3 if runs.small else 200)


def recurrent_layer(runs, phintys, T, cell, makers, hidden, rows, steps):
    """The last state of a layer; its inputs have been multiplied by their weights."""
    gates, body, peer = makers
    random = numpy.random.RandomState(0)
    x = random.uniform(-1, 1, (steps, rows, gates * hidden)).astype(FLOAT)
    u = (random.uniform(-1, 1, (hidden, gates * hidden)) / hidden ** 0.5).astype(FLOAT)
    data, weights = [phintys.gpu.host_from_gpu(phintys.shared(each, target="cuda")) for each in (x, u)]
    first = T.unbroadcast(T.zeros((rows, hidden), "float32"), 0, 1)
    states, _ = phintys.scan(lambda *given: body(T, hidden, *given), sequences=data, non_sequences=weights,
                             outputs_info=[first] * (1 + (cell == "LSTM")))
    last = (states[0] if isinstance(states, list) else states)[-1]
    function = phintys.function([], phintys.Out(phintys.gpu.gpu_from_host(last), borrow=True))
    competitors = {"phintys": (function, phintys.gpu.wait)}
    torch = runs.peer("torch")
    if torch is not None:
        layer = getattr(torch.nn, peer)(gates * hidden, hidden).cuda()
        given = torch.from_numpy(x).cuda()
        with torch.no_grad():
            competitors["torch, with the inputs' product"] = (lambda: layer(given), torch.cuda.synchronize)
            best = runs.minima(competitors)
    else:
        best = runs.minima(competitors)
    runs.note("loops, us a step", f"{cell}, hidden {hidden}, batch {rows}",
              **{name: seconds / steps * 1e6 for name, seconds in best.items()})


def rnn_body(T, hidden, row, state, weights):
    return T.tanh(row + T.dot(state, weights))


def lstm_body(T, hidden, row, state, memory, weights):
    gates = row + T.dot(state, weights)
    inward, forget, outward, new = [gates[:, number * hidden:(number + 1) * hidden] for number in range(4)]
    memory = T.nnet.sigmoid(forget) * memory + T.nnet.sigmoid(inward) * T.tanh(new)
    return T.nnet.sigmoid(outward) * T.tanh(memory), memory


CELLS = {"RNN": (1, rnn_body, "RNN"), "LSTM": (4, lstm_body, "LSTM")}


# ---- images ----------------------------------------------------------------------------------------------------------
def images(runs, phintys, T):
    """Steps of training of LeNet, as in Theano's tutorials."""
    rows, filters = (2, (3, 4)) if runs.small else (500, (20, 50))
    random = numpy.random.RandomState(0)
    x, y = random.uniform(0, 1, (rows, 1, 28, 28)).astype(FLOAT), random.randint(0, 10, rows)
    shapes = [(filters[0], 1, 5, 5), (filters[1], filters[0], 5, 5), (filters[1] * 16, 500), (500, 10)]
    weights = [random.uniform(-0.05, 0.05, shape).astype(FLOAT) for shape in shapes]
    compare(runs, f"LeNet, batch {rows}", {"phintys": lambda *a: phintys_lenet(phintys, T, *a), "torch": torch_lenet},
            x, y, weights)


def phintys_lenet(phintys, T, x, y, weights):
    w = [phintys.shared(value, target="cuda") for value in weights]
    value, labels = phintys.shared(x, target="cuda"), phintys.shared(y.astype("int32"), target="cuda")
    for each in w[:2]:
        value = T.tanh(T.signal.pool.pool_2d(T.nnet.conv2d(value, each), (2, 2), ignore_border=True))
    value = T.nnet.softmax(T.dot(T.tanh(T.dot(value.flatten(2), w[2])), w[3]))
    cost = T.nnet.categorical_crossentropy(value, labels.flatten()).mean()
    step = phintys.function([], [], updates=[(each, each - FLOAT(0.1) * slope)
                                             for each, slope in zip(w, T.grad(cost, w))])
    return step, phintys.gpu.wait


def torch_lenet(x, y, weights):
    torch = library("torch")
    F = torch.nn.functional
    w = [torch.tensor(value, device="cuda", requires_grad=True) for value in weights]
    x, y = torch.tensor(x, device="cuda"), torch.tensor(y, device="cuda")

    def step():
        value = x
        for each in w[:2]:
            value = torch.tanh(F.max_pool2d(F.conv2d(value, each), 2))
        gradients = torch.autograd.grad(F.cross_entropy(torch.tanh(value.flatten(1) @ w[2]) @ w[3], y), w)
        with torch.no_grad():
            for each, gradient in zip(w, gradients):
                each -= 0.1 * gradient
    return step, torch.cuda.synchronize
