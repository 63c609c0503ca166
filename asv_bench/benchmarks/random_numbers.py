"""Random numbers of the three kinds of streams: a few, where the call counts, and many."""
import phintys
from phintys.sandbox.rng_mrg import MRG_RandomStreams
from phintys.tensor.shared_randomstreams import RandomStreams


class Numbers:
    params = [["generator", "random_state", "mrg"], ["uniform", "normal", "binomial"], [10, 1_000_000]]
    param_names = ["stream", "distribution", "size"]

    def setup(self, stream, distribution, size):
        made = {"generator": phintys.random.default_rng, "random_state": RandomStreams, "mrg": MRG_RandomStreams}
        draw = getattr(made[stream](5), distribution)
        parameters = (1, 0.5) if distribution == "binomial" else ()
        sample = draw(*parameters, size=(size,)) if stream == "generator" else draw((size,), *parameters)
        self.sample = phintys.function([], phintys.Out(sample, borrow=True))

    def time_numbers(self, stream, distribution, size):
        self.sample()


class Orders:
    params = [["permutation", "choice", "multinomial"]]
    param_names = ["what"]

    def setup(self, what):
        generator = phintys.random.default_rng(5)
        sample = {"permutation": lambda: generator.permutation(10_000),
                  "choice": lambda: generator.choice(10_000, size=100, replace=False),
                  "multinomial": lambda: generator.multinomial(20, [0.1, 0.2, 0.3, 0.4], size=1000)}[what]()
        self.sample = phintys.function([], sample)

    def time_orders(self, what):
        self.sample()
