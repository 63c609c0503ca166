"""Recurrent networks over windows of words: a label for each word; embeddings are kept at length one.

Elman's network passes its hidden layer on to the next word, Jordan's (``--network jordan``) the labels' probabilities.
"""
import argparse
import time
from collections import OrderedDict

import numpy as np
from command_line import arguments
import sequences

import theano
from theano import tensor as T


def contextwin(sentence, size):
    """For each word the window around it; -1 beyond the ends."""
    padded = [-1] * (size // 2) + list(sentence) + [-1] * (size // 2)
    return [padded[place:place + size] for place in range(len(sentence))]


class RNNSLU(object):
    """Elman's network: what a step passes on is its hidden layer."""

    def __init__(self, nh, nc, ne, de, cs):
        draw = np.random.RandomState(345)

        def matrix(name, *shape):
            return theano.shared(name=name, value=0.2 * draw.uniform(-1.0, 1.0, shape).astype(theano.config.floatX))

        def zeros(name, *shape):
            return theano.shared(name=name, value=np.zeros(shape, dtype=theano.config.floatX))

        passed_on = self.passed_on(nh, nc)
        self.emb = matrix("embeddings", ne + 1, de)
        self.wx, self.wh, self.w = matrix("wx", de * cs, nh), matrix("wh", passed_on, nh), matrix("w", nh, nc)
        self.bh, self.b, self.start = zeros("bh", nh), zeros("b", nc), zeros("start", passed_on)
        self.params = [self.emb, self.wx, self.wh, self.w, self.bh, self.b, self.start]
        idxs = T.imatrix()
        x = self.emb[idxs].reshape((idxs.shape[0], de * cs))
        y_sentence = T.ivector("y_sentence")
        p_y_given_x_sentence = self.probabilities(x)
        lr = T.scalar("lr")
        sentence_nll = -T.mean(T.log(p_y_given_x_sentence)[T.arange(x.shape[0]), y_sentence])
        updates = OrderedDict((p, p - lr * g) for p, g in zip(self.params, T.grad(sentence_nll, self.params)))
        self.classify = theano.function(inputs=[idxs], outputs=T.argmax(p_y_given_x_sentence, axis=1))
        self.sentence_train = theano.function(inputs=[idxs, y_sentence, lr], outputs=sentence_nll, updates=updates)
        self.normalize = theano.function(inputs=[], updates={
            self.emb: self.emb / T.sqrt((self.emb ** 2).sum(axis=1)).dimshuffle(0, "x")})

    def passed_on(self, nh, nc):
        """The length of what a step passes on."""
        return nh

    def layers(self, x_t, before):
        """The hidden layer and the probabilities of a word's labels, which are a row."""
        h_t = T.nnet.sigmoid(T.dot(x_t, self.wx) + T.dot(before, self.wh) + self.bh)
        return h_t, T.nnet.softmax(T.dot(h_t, self.w) + self.b)

    def probabilities(self, x):
        """The probabilities of the labels of all words."""
        [h, s], _ = theano.scan(fn=lambda x_t, h_tm1: list(self.layers(x_t, h_tm1)), sequences=x,
                                outputs_info=[self.start, None], n_steps=x.shape[0])
        return s[:, 0, :]

    def train(self, x, y, window_size, learning_rate):
        words = np.asarray(contextwin(x, window_size)).astype("int32")
        self.sentence_train(words, y, learning_rate)
        self.normalize()


class Jordan(RNNSLU):
    """Jordan's network: what a step passes on are the probabilities of its labels."""

    def passed_on(self, nh, nc):
        return nc

    def probabilities(self, x):
        s, _ = theano.scan(fn=lambda x_t, s_tm1: self.layers(x_t, s_tm1)[1][0], sequences=x,
                           outputs_info=[self.start], n_steps=x.shape[0])
        return s


NETWORKS = {"elman": RNNSLU, "jordan": Jordan}


def f1(found, labels):
    """Harmonic mean of precision and recall over the words that fill a slot."""
    right = float(np.sum((found == labels) & (labels > 0)))
    return 2 * right / max(np.sum(found > 0) + np.sum(labels > 0), 1)


def labels_of(rnn, sentences, window_size):
    """What the network finds, and what is right, for the words of all sentences."""
    found = [rnn.classify(np.asarray(contextwin(words, window_size)).astype("int32")) for words, _ in sentences]
    return np.concatenate(found), np.concatenate([labels for _, labels in sentences])


def main(epochs=5, n=300, window_size=3, network="elman", learning_rate=0.2, decay=10):
    """Train; the learning rate is halved after ``decay`` epochs without a better F1, and the best epoch is kept."""
    train, valid = sequences.slots(n, 1), sequences.slots(100, 2)
    rnn = NETWORKS[network](nh=40, nc=3, ne=sequences.WORDS, de=20, cs=window_size)
    seconds, best, best_epoch, kept = [], -1.0, 0, None
    for epoch in range(epochs):
        start = time.perf_counter()
        for words, labels in train:
            rnn.train(words, labels, window_size, learning_rate)
        seconds.append(time.perf_counter() - start)
        score = f1(*labels_of(rnn, valid, window_size))
        if score > best:
            best, best_epoch, kept = score, epoch, [param.get_value() for param in rnn.params]
        elif epoch - best_epoch >= decay:
            learning_rate, best_epoch = learning_rate * 0.5, epoch
            for param, value in zip(rnn.params, kept):
                param.set_value(value)
    for param, value in zip(rnn.params, kept):
        param.set_value(value)
    found, right = labels_of(rnn, valid, window_size)
    return float(np.mean(found != right)), best, min(seconds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--network", choices=sorted(NETWORKS), default="elman")
    options = arguments(5, 300, parser)
    print("validation error %.4f, F score %.4f, seconds an epoch %.4f"
          % main(options.epochs, options.n, network=options.network))
