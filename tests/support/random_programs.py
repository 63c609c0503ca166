"""Random programs over all families of ops: a step is a text that NumPy and variables both evaluate.

The values of a program are known while it is made, so a step is taken only if NumPy computes it. One function without
optimizations returns every value: each step is compared with NumPy's from the values that it read, so that errors do
not add up. Functions in other modes must then agree with that one, whatever ways they are called in (``WAYS``). Where
they do not, inputs are moved by some roundings: only what is worse than that is a fault.

``python tests/support/random_programs.py FIRST LAST`` checks the programs of these seeds.
"""
import copy
import os
import pickle
import re
import tempfile
import threading
import warnings
from functools import partial

import numpy
import scipy.special
from c_calls import call_general
from family_cases import DTYPES, LAYOUTS
from random_derivatives import Derivatives
from seed_ranges import main

import phintys
import phintys.sparse
import phintys.tensor as T
from phintys import In, Out
from phintys.debugging.debug_mode import DebugMode
from phintys.ifelse import ifelse
from phintys.ops.types.tensor_type import TensorType

# Kinds of the dtypes ("g": floats from 32 bits), least and most dimensions of the first operand, and texts. In these,
# ``a`` has such a value, ``b`` and ``c`` have its type and shape, ``r`` its dtype and a shape that broadcasts, ``v``
# is a vector of its dtype and ``n`` is NumPy; braces are filled in by ``fill``. Where NumPy's text is another one, it
# follows ``<>``.
STEPS = """
biufc 0 4 | a + b; a * b; n.isnan(a); n.real(a)
biufc 0 4 | n.where(n.not_equal(b, 0), a, b); n.equal(a, b); n.not_equal(a, r); n.logical_and(a, b)
biufc 0 4 | n.logical_not(a); n.imag(a)
biufc 0 4 | a + r; a * r; n.logical_or(a, r); n.logical_xor(a, b); n.isfinite(a); a.copy()
iufc 0 4 | a - b; -a; abs(a); a * a; a ** 2; a ** 3; a - r; 2 * a; a + 1; n.square(a); n.positive(a)
iufc 0 4 | n.conjugate(a); a - a; a * 0; a + a + b; (a - b) * (a + b); a * b + c; a - b * c; n.conj(a) * a
fc 0 4 | a / (abs(b) + 1); n.tanh(a); n.sin(a); n.cos(a); n.exp(-abs(a)); n.sqrt(abs(a)); a / 3
fc 0 4 | n.log(abs(a) + 1); n.sinh(n.tanh(a)); n.sqrt(a * a + 1); 1 / (a * a + 1); n.angle(a)
iufc 0 4 | a * 1; a + 0; a * -1; 0 - a; a ** 1; 1 * a - 0; a * 2 - a; a ** 0; -1 - a
fc 0 4 | a * 2 * 0.5; a / -1; 2 / (a * 0 + 0.5); a * 0.5 + a * 0.5; 0 * a - 1; (abs(a) + 1) ** -1; (abs(a) + 1) ** 0.5
fc 0 4 | n.exp(n.tanh(a)); n.expm1(n.tanh(a)); n.log1p(abs(a)); a * 0.5
biuf 0 4 | a.astype('float64'); a.astype('float32'); n.maximum(a, b); n.minimum(a, r); a < b; a >= r
biuf 0 4 | n.clip(a, 0, 2); n.where(a > b, a, b)
biuf 0 4 | n.floor(a); n.sign(a * 1); a.astype('int64'); n.fmax(a, b); n.fmin(a, r); a > 0; a <= 1
iuf 0 4 | a // (abs(b) + 1); a % (abs(b) + 1); n.remainder(a, abs(b) + 2); n.sign(a); n.fmod(a, abs(b) + 1)
iuf 0 4 | n.clip(a, b, c); n.clip(a, -1, 1); n.round(a); n.heaviside(a, 1); n.float_power(abs(a), 2)
f 0 4 | n.arctan(a); n.arctan2(a, abs(b) + 1); n.hypot(a, b); n.logaddexp(a, b); n.ceil(a)
f 0 4 | n.trunc(a); n.rint(a); n.copysign(a, b); n.sinc(a); n.signbit(a); n.cbrt(a)
f 0 4 | n.fabs(a)
f 0 4 | n.frexp(a)[0]; n.modf(a)[0]; n.nan_to_num(a); n.power(abs(a) + 0.5, n.tanh(b))
f 0 4 | n.exp2(-abs(a))
f 0 4 | n.log2(abs(a) + 1); n.log10(abs(a) + 1); n.arcsinh(a); n.arctanh(n.tanh(a) / 2)
f 0 4 | n.deg2rad(a)
f 0 4 | n.arccosh(abs(a) + 1); n.arcsin(n.tanh(a) / 2); n.arccos(n.tanh(a) / 2); n.logaddexp2(a, r)
f 0 4 | n.i0(n.tanh(a))
f 0 4 | T.nnet.sigmoid(a) <> 1 / (1 + n.exp(-a)); T.nnet.softplus(a) <> n.log1p(n.exp(a))
f 0 4 | T.nnet.relu(a) <> n.maximum(a, 0)
f 0 4 | T.log(T.exp(a) + T.exp(b)) <> n.logaddexp(a, b); T.log(1 + T.exp(a)) <> n.log1p(n.exp(a))
f 0 4 | T.erf(a) <> special.erf(a)
f 0 4 | T.nnet.elu(a) <> n.where(a > 0, a, n.expm1(n.minimum(a, 0)))
f 0 4 | T.gammaln(abs(a) + 1) <> special.gammaln(abs(a) + 1)
iu 0 4 | a & b; a | b; a ^ r; n.gcd(a, b); n.left_shift(a, n.equal(a, b).astype(a.dtype))
iu 0 4 | n.right_shift(a, (a > b).astype(a.dtype)); n.bitwise_count(a)
biu 0 4 | ~a; n.bitwise_and(a, b); n.invert(a)
biufc 0 4 | n.sum(a{axes}); n.prod(n.sign(n.real(a) * 1.0){axes}); a.mean({axes1})
biufc 0 4 | n.sum(a * b{axes}); n.sum(a)
biuf 0 4 | n.any(a{axes}); n.all(a{axes}); n.count_nonzero(a{axis}); n.average(a{axis})
iuf 0 4 | n.max(a{axes}); n.min(a{axes}); n.ptp(a{axis}); n.argmax(a{axis}); n.argmin(a{axis})
iuf 0 4 | n.max(a) - n.min(b)
fc 0 4 | n.var(a{axes}); n.std(a{axes}); n.linalg.norm(a); n.sum(abs(a){axes}); n.sum(a * a{axes})
fc 0 4 | n.mean(a * b{axes})
f 1 4 | n.nanmean(a{axis}); n.nansum(a{axis}); n.median(a{axis}); n.quantile(a, 0.3{axis})
f 1 4 | n.nanmax(a{axis})
f 1 4 | T.log(T.exp(a).sum(axis={ax})) <> n.log(n.exp(a).sum(axis={ax}))
f 1 4 | T.exp(a) / T.exp(a).sum({ax}, keepdims=True) <> softmax(a, {ax})
f 1 4 | T.log(T.exp(a) / T.exp(a).sum({ax}, keepdims=True)) <> n.log(softmax(a, {ax}))
f 1 4 | (a - n.mean(a, axis={ax}, keepdims=True)) / (n.std(a, axis={ax}, keepdims=True) + 1)
f 1 4 | a / (1 + abs(a).sum({ax}, keepdims=True))
biufc 1 4 | a[::-1]; a[{int}]; a[{slice}]; a[..., {slice_last}]; a[{index}]; a[n.array({index})]; a[None]
biufc 1 4 | a[..., None]; a[{slice}][::2]
biufc 2 4 | a[{int}, {slice1}]; a[{slice}, {int1}]; a[{index}, {index1}]; a[:, {index1}]; a.T; a.swapaxes(0, 1)
biufc 2 4 | a[{int}].T; a[:, ::-1]
biufc 1 4 | n.take(a, {index}, axis={ax0}); a.reshape({shape}); a.ravel(); a.reshape(-1)[::2]; n.flip(a)
biufc 1 4 | n.roll(a, 1{axis})
biufc 1 4 | n.concatenate([a, b], axis={ax}); n.stack([a, b], axis={ax}); n.concatenate([a[::2], b])
biufc 1 4 | n.repeat(a, 2{axis})
biufc 1 4 | n.tile(a, 2); n.expand_dims(a, {ax}); n.squeeze(a[None], 0); n.pad(a, 1)
biufc 1 4 | n.pad(a, 1, 'edge'); n.append(a, b)
biufc 1 4 | n.pad(a, 1, 'wrap'); n.pad(a, (1, 2), 'symmetric'); n.insert(a, 1, 1)
biufc 1 4 | n.delete(a, 0, axis={ax}); a[a.shape[0] - 1]
biufc 1 4 | n.moveaxis(a, 0, -1); n.broadcast_to(a, (2,) + tuple({lengths})); n.diff(a * 1{axis})
biufc 1 4 | n.split(a, 1)[0]; n.resize(a, (3, 2))
biufc 1 4 | n.cumsum(a{axis}); n.cumprod(n.sign(n.real(a) * 1.0){axis}); n.nonzero(a)[0]
biufc 1 4 | a[n.not_equal(a, b)]; a[n.not_equal(b, 0)]; n.extract(a, b)
biufc 1 4 | T.set_subtensor(a[{slice}], b[{slice}]) <> put(a, ({slice_},), b[{slice}])
biufc 1 4 | T.inc_subtensor(a[{index}], b[{index}]) <> at(a, {index}, b[{index}])
biufc 1 4 | T.set_subtensor(a[{int}], b[{int}]) <> put(a, {int}, b[{int}])
biufc 1 4 | T.inc_subtensor(a[::2], a[::2] * b[::2]) <> at(a, slice(None, None, 2), (a * b)[::2])
biufc 1 4 | T.set_subtensor(a[T.neq(a, b)], b[T.neq(a, b)]) <> put(a, a != b, b[a != b])
biufc 1 4 | T.set_subtensor(a[::-1][{slice}], b[{slice}]) <> put(a[::-1], ({slice_},), b[{slice}])
biuf 1 4 | n.sort(a{axis}); n.argsort(a, kind='stable'{axis}); n.searchsorted(n.sort(v), a)
biuf 1 4 | n.unique(a); n.isin(a, v)
iuf 1 4 | n.partition(a, 1)[..., 1]; n.sort(a * b + a{axis}); n.digitize(a, [0, 1, 2])
iuf 1 4 | n.histogram(a, 3, (-4, 4))[0]; n.union1d(a, v)
iufc 1 4 | n.dot(a, a.T if a.ndim < 3 else 2); n.trapezoid(a * 1.0)
iufc 1 4 | n.gradient(n.concatenate([a, b], -1) * 1.0, axis=-1); n.ediff1d(a)
biufc 2 2 | n.diag(a); n.tril(a); n.triu(a, 1); n.trace(a); n.diagonal(a, 1); n.rot90(a)
biufc 2 2 | n.vstack([a, b]); n.fliplr(a)
iufc 2 2 | a @ b.T; n.dot(a, b.T); a.T @ b; n.einsum('ij,kj->ik', a, b); n.outer(a, b)
iufc 2 2 | n.kron(a, b[:2, :2]); a @ a[0]; b[:, 0] @ a
iufc 2 2 | n.tensordot(a, b, axes=([0], [0])); (a @ b.T) * 2 + 1; a @ b.T + a @ a.T; n.inner(a, b)
iufc 2 2 | n.vdot(a, b); n.vecdot(a, b)
fc 2 2 | solve(a @ n.conj(a.T) / (1 + abs(a).max() ** 2) + eye(a), a)
fc 2 2 | n.linalg.inv(a @ n.conj(a.T) / (1 + abs(a).max() ** 2) + eye(a))
fc 2 2 | n.linalg.det(a @ n.conj(a.T) / (1 + abs(a).max() ** 2) + eye(a))
fc 2 2 | n.linalg.cholesky(a @ n.conj(a.T) / (1 + abs(a).max() ** 2) + eye(a))
fc 2 2 | n.linalg.eigvalsh(a @ n.conj(a.T) / (1 + abs(a).max() ** 2)); n.linalg.svd(a, compute_uv=False)
fc 2 2 | n.linalg.slogdet(a @ n.conj(a.T) + eye(a))[1]
fc 1 4 | n.fft.fft(a, axis={ax}); n.real(n.fft.ifft(n.fft.fft(a * 1.0))); n.fft.fftshift(a)
f 1 4 | n.fft.rfft(a, axis={ax}); n.fft.irfft(n.fft.rfft(a, axis=-1), n=6, axis=-1)
f 1 4 | n.interp(a, [-1.0, 0.0, 2.0], [1.0, 3.0, 2.0])
iuf 3 4 | n.matmul(a, n.swapaxes(b, -1, -2)); n.einsum('i...j,i...j->...j', a, b)
iuf 3 4 | n.sum(a * b, axis=(0, -1)); n.max(a, axis=(0, 2))
f 4 4 | T.nnet.conv2d(a, b[:, :, :1, :1]) <> n.einsum('nchw,fc->nfhw', a, b[:, :, 0, 0])
f 4 4 | T.signal.pool.pool_2d(a, (2, 2), ignore_border=True) <> pool(a, n.max)
f 4 4 | T.nnet.conv2d(a, b[:, :, :2, :2], border_mode='full') <> convolved(a, b[:, :, :2, :2])
f 4 4 | T.signal.pool.pool_2d(a, (2, 2), ignore_border=True, mode='sum') <> pool(a, n.sum)
g 2 2 | dense(csr(a * (b > 0)) * 2) <> a * (b > 0) * 2
g 2 2 | sparse.dot(csc(a * (b > 0)), b.T) <> (a * (b > 0)) @ b.T
g 2 2 | sparse.sp_sum(csr(a * (b > 0)), axis={ax0}) <> (a * (b > 0)).sum({ax0})
g 2 2 | dense(csr(a) + csr(b)) <> a + b
g 2 2 | dense(sparse.true_dot(csr(a * (b > 0)), csr(b.T))) <> (a * (b > 0)) @ b.T
g 2 2 | dense(csr(a)[{slice}]) <> a[{slice}]
g 2 2 | dense(sparse.structured_sigmoid(csr(a * (b > 0)))) <> n.where(a * (b > 0) != 0, 1 / (1 + n.exp(-a)), 0)
biufc 0 4 | ifelse(T.gt(n.real(c).sum(), 0), a, b) <> a if n.real(c).sum() > 0 else b
g 1 4 | ifelse(T.gt(b.sum(), 0.0123), whole(lambda a: scan(lambda row, s: n.tanh(row + s * 0.5), a, a[0] * 0)[-1], a), \
b[0]) <> loop(lambda row, s: n.tanh(row + s * a.dtype.type(0.5)), a, a[0] * 0)[-1] if b.sum() > 0.0123 else b[0]
g 1 4 | whole(lambda a: ifelse(T.gt(b.sum(), 0.0123), scan(lambda row, s: s * 0.5 + row, a, b[0])[-1], a[-1]), a) \
<> loop(lambda row, s: s * a.dtype.type(0.5) + row, a, b[0])[-1] if b.sum() > 0.0123 else a[-1]
g 1 4 | scan(lambda row, s: ifelse(T.gt(row.sum(), s.sum() + 0.0123), whole(lambda s: n.tanh(s) + row, s), s * 0.5), \
a, b[0]) \
<> loop(lambda row, s: n.tanh(s) + row if row.sum() > s.sum() + a.dtype.type(0.0123) else s * a.dtype.type(0.5), a, \
b[0])
g 2 3 | phintys.vectorize(lambda row, other: scan(lambda x, t: x + t * 0.5, row, row[0] * 0)[-1] * other.sum())(a, b) \
<> rows(lambda row, other: loop(lambda x, t: x + t * a.dtype.type(0.5), row, row[0] * 0)[-1] * other.sum(), a, b)
g 2 2 | ifelse(T.gt(a.sum(), 0.0123), sparse.dot(csr(a * (b > 0)), b.T), a @ b.T) + a @ a.T \
<> ((a * (b > 0)) @ b.T if a.sum() > 0.0123 else a @ b.T) + a @ a.T
g 2 2 | whole(lambda a: dense(csr(a * 2)) + a @ b.T @ a, a) <> a * 2 + a @ b.T @ a
biufc 1 4 | chosen([whole(lambda a: a + b, a), a[::-1], b], 0) <> a + b; whole(lambda a: chosen([a, b], -1), a) <> b
iu 0 4 | a.astype('int16') * 32767 + b.astype('int16'); (a.astype('uint8') + 255) // 2; a * a * a * a * a
iu 1 4 | n.cumsum(a.astype('int8') * 127{axis}).astype('int8'); n.sum(a.astype('uint16') * 65535{axes}).astype('int8')
fc 1 4 | a[:0] * b[:0]; n.concatenate([a[:0], a * n.conj(a), b])
fc 2 2 | (a[:0].T @ b[:0]).sum() + a; a[:, :0] @ n.conj(b[:, :0].T)
biufc 0 4 | T.switch(T.gt(n.real(c), 0), a, b) <> n.where(n.real(c) > 0, a, b)
fc 0 4 | ifelse(T.lt(abs(c).sum(), 2), a - 1, n.cos(a) * b) <> a - 1 if abs(c).sum() < 2 else n.cos(a) * b
g 1 4 | scan(lambda row, state: n.tanh(row + state * 0.5), a, a[0] * 0) \
<> loop(lambda row, state: n.tanh(row + state * a.dtype.type(0.5)), a, a[0] * 0)
g 1 4 | phintys.scan(lambda row, s, t: [s * 0.5 + row, n.tanh(t) - s], sequences=a, outputs_info=[a[0] * 0, b[0]])\
[0][1] <> loop(lambda row, s: (s[0] * a.dtype.type(0.5) + row, n.tanh(s[1]) - s[0]), a, (a[0] * 0, b[0]))[:, 1]
iuf 1 4 | scan(lambda row, state: n.maximum(row, state), a, a[0] * 0) \
<> loop(lambda row, state: n.maximum(row, state), a, a[0] * 0)
iuf 1 4 | scan(lambda row, state: row - state, a, b[0]) <> loop(lambda row, state: row - state, a, b[0])
f 1 4 | phintys.scan(lambda row: (row * row).sum(), sequences=a)[0] <> (a * a).sum(tuple(range(1, a.ndim)))
f 1 4 | phintys.vectorize(lambda row, other: n.tanh(row) + other.sum())(a, b) \
<> rows(lambda row, other: n.tanh(row) + other.sum(), a, b)
fc 1 4 | phintys.vectorize(lambda row: n.cumsum(row * row, -1)[..., ::-1] if row.ndim else row)(a) \
<> n.cumsum(a * a, -1)[..., ::-1] if a.ndim > 1 else a
f 0 4 | slope(lambda a: (n.tanh(a) * b).sum(), a) <> b * (1 - n.tanh(a) ** 2)
f 0 4 | slope(lambda a: (a * a * b).sum() + a.sum(), a) <> 2 * a * b + 1
f 0 4 | slope(lambda a: T.sqrt(a * a + 1).sum(), a) <> a / n.sqrt(a * a + 1)
f 1 4 | slope(lambda a: a[{index}].sum() + n.tanh(a[{slice}]).sum(), a) \
<> at(at(a * 0, {index}, 1), {slice_}, 1 - n.tanh(a[{slice}]) ** 2)
f 1 4 | slope(lambda a: (n.cumsum(a, axis={ax}) * b).sum(), a) <> n.flip(n.cumsum(n.flip(b, {ax}), {ax}), {ax})
f 1 4 | slope(lambda a: n.max(a, axis={ax}).sum() + (a * b).sum(), a) * 0 + a \
<> a + 0 * n.max(a, axis={ax}, keepdims=True)
f 1 4 | slope(lambda a: T.log(T.exp(a).sum(axis={ax})).sum(), a) <> softmax(a, {ax})
f 1 4 | slope(lambda a: (n.sort(a, axis={ax}) ** 2).sum(), a) <> 2 * a
biufc 0 4 | n.sum(a, where=n.not_equal(a, b)); chosen([a, b, c], 1) <> b; whole(lambda a: a + a * b, a) <> a + a * b
biufc 1 4 | n.sum(a, axis={ax}, where=n.equal(a, b)); n.concatenate([a[:1], b[:1]]); chosen([a[::2], b], -1) <> b
biufc 1 4 | T.addbroadcast(a[:1], 0) * b <> a[0][None] * b
biufc 1 4 | T.addbroadcast(a[..., :1], a.ndim - 1) + b <> a[..., 0][..., None] + b
biufc 1 4 | n.sum(a[:0]{axes})
iuf 1 4 | n.max(a, axis={ax}, initial=0, where=n.greater(a, b)); n.min(a{axes}, initial=1)
fc 1 4 | n.mean(a, where=n.isfinite(a)); n.linalg.norm(a, axis={ax})
f 0 4 | slope(lambda a: slope(lambda a: (a ** 3 * b).sum(), a).sum(), a) <> 6 * a * b
f 0 4 | slope(lambda a: (slope(lambda a: (n.tanh(a) * b).sum(), a) * c).sum(), a) \
<> -2 * b * c * n.tanh(a) * (1 - n.tanh(a) ** 2)
f 0 4 | slope(lambda a: whole(lambda a: n.sin(a) * b, a).sum(), a) <> n.cos(a) * b
f 0 4 | slope(lambda a: ifelse(T.gt(c.sum(), 0.0123), a * b, n.sin(a)).sum(), a) \
<> b * 1 if c.sum() > 0.0123 else n.cos(a)
g 1 4 | slope(lambda a: slope(lambda a: scan(lambda row, s: s * 0.5 + row ** 3, a, a[0] * 0)[-1].sum(), a).sum(), a) \
<> a[0] * 0 + 6 * a * (0.5 ** n.arange(len(a) - 1, -1, -1)).astype(a.dtype).reshape((-1,) + (1,) * (a.ndim - 1))
g 2 3 | scan(lambda row, s: s * 0.5 + scan(lambda x, t: x + t * 0.5, row, row[0] * 0).sum(), a, a[0] * 0) \
<> loop(lambda row, s: s * a.dtype.type(0.5) + loop(lambda x, t: x + t * a.dtype.type(0.5), row, row[0] * 0).sum(), \
a, a[0] * 0)
f 0 4 | draws({seed}).normal(size=a.shape, ndim=a.ndim) * a <> generator({seed}).normal(size=a.shape) * a
f 0 4 | draws({seed}).uniform(a, a + 2.0) <> generator({seed}).uniform(a, a + 2.0)
f 0 4 | draws({seed}).gamma(abs(a) + 1) <> generator({seed}).gamma(abs(a) + 1)
f 0 4 | a + draws({seed}).exponential(abs(b) + 1) * c <> a + generator({seed}).exponential(abs(b) + 1) * c
iu 0 4 | draws({seed}).integers(0, 9, size={lengths}) + a <> generator({seed}).integers(0, 9, size={lengths}) + a
iuf 0 4 | draws({seed}).poisson(abs(a)) <> generator({seed}).poisson(abs(a))
biufc 1 4 | draws({seed}).permutation(a) <> generator({seed}).permutation(a)
f 0 4 | stream({seed}, 'normal', a.shape, a.ndim) + a <> numpy_stream({seed}).normal(size=a.shape) + a
f 0 4 | n.exp(-abs(stream({seed}, 'uniform', a.shape, a.ndim) * a)) \
<> n.exp(-abs(numpy_stream({seed}).uniform(size=a.shape) * a))
f 2 2 | T.nnet.softmax(a) <> softmax(a, 1); T.log(T.nnet.softmax(a + b)) <> n.log(softmax(a + b, 1))
f 2 2 | slope(lambda a: (a @ b.T).sum(), a) <> n.broadcast_to(b.sum(0), a.shape) * 1
f 2 2 | slope(lambda b: (n.tanh(a @ b.T)).sum(), b) <> ((1 - n.tanh(a @ b.T) ** 2).T @ a)
"""
ROWS = [(kinds, int(least), int(most), text.strip().partition(" <> ")[::2])
        for line in STEPS.strip().splitlines() for head, _, texts in [line.partition(" | ")]
        for kinds, least, most in [head.split()] for text in texts.split("; ")]
EXACT = {"f2": 2e-3, "f4": 2e-6, "c8": 2e-6, "f8": 1e-12, "c16": 1e-12}


def softmax(x, axis):
    """Along one axis, in the dtype of ``x``."""
    e = numpy.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def put(a, index, value):
    """A copy of which a part is set."""
    a = a.copy()
    a[index] = value
    return a


def at(a, index, value):
    """A copy to a part of which values are added, one after the other."""
    a = a.copy()
    numpy.add.at(a, index, value)
    return a


def pool(a, reduce):
    """Of two by two elements, without those left over."""
    n, c, h, w = a.shape
    return reduce(a[:, :, :h // 2 * 2, :w // 2 * 2].reshape(n, c, h // 2, 2, w // 2, 2), axis=(3, 5))


def convolved(a, filters):
    """Full convolution of images."""
    n, _, h, w = a.shape
    f, _, p, q = filters.shape
    out = numpy.zeros((n, f, h + p - 1, w + q - 1), a.dtype)
    for i in range(p):
        for j in range(q):
            out[:, :, i:i + h, j:j + w] += numpy.einsum("nchw,fc->nfhw", a, filters[:, :, i, j])
    return out


def loop(step, rows, state):
    """All states."""
    states = []
    for row in rows:
        state = step(row, state)
        states.append(state)
    return numpy.array(states)


def scan(step, rows, state):
    """The same as a graph."""
    return phintys.scan(step, sequences=rows, outputs_info=state)[0]


def slope(function, x):
    """The derivative by a value, whatever else depends on that."""
    x = T.tensor_copy(x)
    return T.grad(function(x), x)


def whole(function, x):
    """A function of a value, and of those that it holds, as one op."""
    x = T.as_tensor_variable(x)
    inside = x.type()
    result = function(inside)
    others = [variable for variable in phintys.gof.graph.inputs([result])
              if variable is not inside and not isinstance(variable, phintys.Constant)]
    return phintys.OpFromGraph([inside, *others], [result])(x, *others)


def draws(seed):
    """A generator whose random variables are the same in each call."""
    generator = phintys.random.default_rng(seed)
    next_state = generator._from_next_state

    def from_first_state(*arguments):
        sample = next_state(*arguments)
        del generator.state_updates[-1][0].default_update
        return sample
    generator._from_next_state = from_first_state
    return generator


def stream(seed, name, shape, ndim):
    """A draw of NumPy's old generator, the same in each call."""
    return getattr(T.raw_random, name)(phintys.shared(numpy.random.RandomState(seed)), size=shape, ndim=ndim)[1]


def rows(function, *operands):
    """Of each row."""
    return numpy.stack([function(*parts) for parts in zip(*operands)])


def overflows(text, a):
    """Whether an exponential that only rewrites avoid is beyond the floats of a value."""
    return "T.exp(" in text and a.size and abs(a).max() > (9 if a.dtype == "float16" else 80)


PLAIN = {"n": numpy, "softmax": softmax, "put": put, "at": at, "pool": pool,
         "convolved": convolved, "loop": loop, "rows": rows, "special": scipy.special, "solve": numpy.linalg.solve,
         "eye": lambda a: numpy.eye(len(a), dtype=a.dtype), "chosen": lambda values, at: values[at],
         "whole": lambda function, a: function(a),
         "generator": numpy.random.default_rng, "numpy_stream": numpy.random.RandomState}
SYMBOLIC = {"n": numpy, "T": T, "phintys": phintys, "ifelse": ifelse, "scan": scan, "slope": slope,
            "solve": T.slinalg.solve, "eye": lambda a: T.eye(a.shape[0], dtype=a.dtype), "sparse": phintys.sparse,
            "csr": phintys.sparse.csr_from_dense, "csc": phintys.sparse.csc_from_dense,
            "dense": phintys.sparse.dense_from_sparse, "whole": whole, "draws": draws, "stream": stream,
            "chosen": lambda values, at: phintys.typed_list.make_list(values)[at]}
WAYS = ("plain", "plain", "layouts", "updates", "lent", "saved", "pickled", "copied", "threads", "in place",
        "read-only", "one op", "borrowed", "C")
MODES = ([("FAST_RUN", {})] * 4 + [("FAST_RUN", {"allow_gc": False}), ("FAST_RUN", {"allow_gc": "plan"}),
         ("FAST_RUN", {"stress": True}), ("FAST_RUN", {"workers": 2}), ("FAST_COMPILE", {"allow_gc": "plan"}),
         ("FAST_RUN", {"math_rules": "strict"}), ("FAST_RUN", {"math_rules": "fast"}),
         ("FAST_RUN", {"memory_limit": 3000}), (phintys.Mode(optimizer=None), {})])


class Program:
    """The values, their texts, and the arrays that NumPy computes."""

    def __init__(self, seed, steps=8):
        self.random, self.seed = numpy.random.default_rng(seed), seed
        self.lengths = self.random.integers(2, 6, 4)
        if self.random.integers(6) == 0:
            self.lengths[self.random.integers(4)] = self.random.integers(2)
        self.dtypes = self.random.choice(DTYPES, 2)
        if self.random.integers(3):
            self.dtypes[0] = "float64"
        self.arrays, self.variables, self.texts = [], [], []
        self.every = self.derivatives = None
        for _ in range(self.random.integers(1, 4)):
            self.add_input(self.pick(self.dtypes), int(self.random.integers(0, 5)))
        self.inputs = len(self.arrays)
        for _ in range(100):
            if len(self.arrays) >= self.inputs + steps:
                break
            self.try_step()

    def pick(self, things):
        return things[int(self.random.integers(len(things)))]

    def readable(self):
        """The values that a step may read."""
        return range(len(self.arrays))

    def add_input(self, dtype, rank):
        self.arrays.append(self.operand(dtype, tuple(self.lengths[:rank])))
        lengths = self.arrays[-1].shape             # types state some; ones would broadcast
        stated = tuple([None if length == 1 else int(length) for length in lengths]) if self.random.integers(
            4) == 0 else None
        self.variables.append(TensorType(dtype, (False,) * rank, shape=stated)(f"x{len(self.arrays) - 1}"))
        self.texts.append(None)

    def operand(self, dtype, shape):
        """Random numbers, whole or not."""
        whole = self.random.integers(-3, 4, shape) if self.random.integers(2) else self.random.uniform(-3, 3, shape)
        if dtype.startswith("complex"):
            whole = whole + 1j * self.random.uniform(-3, 3, shape)
        array = numpy.asarray(abs(whole) if dtype.startswith("u") else whole > 0 if dtype == "bool" else whole)
        return array.astype(dtype)

    def fill(self, text, a):
        """A text whose braces are filled in for a value."""
        pick, shape = self.pick, a.shape
        axes = [*range(-a.ndim, a.ndim)]
        length = shape[0] if a.ndim else 0
        last, second = shape[-1] if a.ndim else 0, shape[1] if a.ndim > 1 else 0
        keep = pick(["", "", ", keepdims=True"])
        several = [None, *axes, *([(0, a.ndim - 1)] if a.ndim > 1 else [])]
        part = lambda n: pick([(None, None, None), (1, None, None), (None, -1, None), (None, None, 2),  # noqa: E731
                               (n // 2, n, None), (None, None, -1), (-2, None, None), (n, None, -2)])
        write = lambda parts: ":".join(["" if p is None else str(p) for p in parts])  # noqa: E731
        one = part(length)
        index = [int(self.random.integers(-length, length)) for _ in range(3)] if length else []
        choices = {
            "axis": f", axis={pick(axes)}" if axes else "", "ax": pick(axes) if axes else 0,
            "ax0": self.random.integers(2) if a.ndim > 1 else 0,
            "axes": pick([f", axis={pick(several)}{keep}", ""]), "axes1": f"axis={pick(several)}",
            "int": int(self.random.integers(-length, length)) if length else 0, "slice": write(one),
            "slice_": f"slice{one}", "slice1": write(part(second)), "slice_last": write(part(last)),
            "int1": second - 1, "index": index, "lengths": list(map(int, shape)),
            "seed": int(self.random.integers(1000)),
            "index1": [int(self.random.integers(-second, second)) for _ in index] if second else [],
            "shape": pick([(-1,), (a.size,), (1, a.size), (*shape[::-1],), (shape[0] if shape else 1, a.size // max(
                1, length))])}
        return re.sub(r"\{(\w+)\}", lambda found: str(choices[found[1]]), text)

    def try_step(self):
        kinds, least, most, (text, plain) = self.pick(ROWS)
        known = [(n, self.arrays[n]) for n in self.readable()]
        fitting = [n for n, array in known if least <= array.ndim <= most
                   and (array.dtype.kind in kinds or kinds == "g" and array.dtype.char in "fd")]
        if not fitting:
            return
        a = self.pick(fitting[-6:])
        array = self.arrays[a]
        same = [n for n, other in known if other.shape == array.shape
                and self.variables[n].type == self.variables[a].type]
        wider = [n for n, other in known if other.dtype == array.dtype
                 and 0 < other.ndim < array.ndim and other.shape == array.shape[array.ndim - other.ndim:]]
        vectors = [n for n, other in known if other.dtype == array.dtype and other.ndim == 1]
        names = {"a": a, "b": self.pick(same), "c": self.pick(same), "r": self.pick([*wider, *same])}
        if vectors:
            names["v"] = self.pick(vectors)
        filled = self.fill(f"{text} <> {plain or text}", array).partition(" <> ")[::2]
        if overflows(text, array):
            return
        if re.search(r"\bv\b", filled[0]) and "v" not in names:
            return
        value = self.evaluated(filled[1], names, self.arrays, PLAIN)
        if value is None or value.dtype.kind not in "biufc" or value.size > 2000 or value.ndim > 5 or (
                value.dtype.kind in "fc" and not (abs(value) < (200 if value.dtype.itemsize == 2 else 1e5)).all()):
            return
        if value.dtype.kind in "iu" and value.size and abs(value.astype("float64")).max() > 1e5:
            return
        try:
            variable = self.made(filled[0], names, self.variables)
        except Exception as error:
            raise AssertionError(f"{filled[0]} of {[(n, self.variables[n].type) for n in names.values()]}, which "
                                 f"NumPy computes") from error
        for n in names.values():                     # two lengths of 1 that no type knows would not broadcast
            if any([length == 1 for length in self.arrays[n].shape]) and "r" in names and re.search(r"\br\b", text):
                return
        assert variable.ndim == value.ndim, f"{filled[0]} has {variable.ndim} dimensions, not {value.ndim}"
        self.arrays.append(value.astype(variable.dtype))
        self.variables.append(variable)
        self.texts.append((*filled, names))

    @staticmethod
    def made(text, names, variables):
        """The variable of a text."""
        return T.as_tensor_variable(eval(text, {**SYMBOLIC, **{name: variables[n] for name, n in names.items()}}))

    def symbolic(self, n, variables):
        """A value computed from other variables."""
        return self.made(self.texts[n][0], self.texts[n][2], variables)

    def exact(self, n, arrays):
        """A value that NumPy computes from other arrays; None if it refuses."""
        return self.evaluated(self.texts[n][1], self.texts[n][2], arrays, PLAIN)

    def read_by(self, n):
        """A value and all that it is computed from."""
        if self.texts[n] is None:
            return {n}
        return {n}.union(*map(self.read_by, set(self.texts[n][2].values())))

    def chain(self, n):
        """The texts of these."""
        return [(m, *(self.texts[m] and (self.texts[m][0], self.texts[m][2]) or ["input"]), str(self.arrays[m].dtype),
                 self.arrays[m].shape) for m in sorted(self.read_by(n))]

    def evaluated(self, text, names, arrays, functions):
        """NumPy's value of a text; None if NumPy refuses it."""
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return numpy.asarray(eval(text, {
                    **functions, **{name: arrays[n].copy() for name, n in names.items()}}))
            except Exception:
                return None

    def check(self):
        """Every step against NumPy's, then other functions against these values."""
        arguments = self.arrays[:self.inputs]
        if self.random.integers(2):
            self.derivatives = Derivatives(self, [self.pick(range(self.inputs, len(self.arrays)))])
        values = self.computed(arguments)
        for n in range(self.inputs, len(values)):
            self.check_step(n, values)
        for _ in range(2):
            Variant(self, values).check()
        if self.derivatives:
            self.derivatives.compare_with_differences(values, self.derived)

    def computed(self, arguments):
        """The inputs, and each value without optimizations; ``derived`` are then the derivatives."""
        if self.every is None:
            self.every = phintys.function(self.variables[:self.inputs], [
                *self.variables[self.inputs:], *(self.derivatives.variables if self.derivatives else [])],
                mode="FAST_COMPILE", on_unused_input="ignore")
        results = list(map(numpy.asarray, self.every(*[array.copy() for array in arguments])))
        count = len(self.variables) - self.inputs
        self.derived = results[count:]
        return [*arguments, *results[:count]]

    def check_step(self, n, values):
        _, plain, names = self.texts[n]
        wanted, got = self.evaluated(plain, names, values, PLAIN), values[n]
        assert got.dtype == self.variables[n].dtype and got.ndim == self.variables[n].ndim, self.title(n)
        if wanted is None:                           # a rounded operand is out of its range now
            return
        if wanted.dtype == "uint64" and got.dtype.kind == "f" and (wanted > 1 << 53).any():
            return                                   # less than 0: it is a float where NumPy's scalars adapt
        assert got.shape == wanted.shape, f"{self.title(n)}: shape {got.shape}, not {wanted.shape}"
        kinds = {self.arrays[m].dtype.kind for m in names.values()} | {got.dtype.kind, wanted.dtype.kind}
        if got.dtype == wanted.dtype and kinds <= set("biu"):
            assert (got == wanted).all(), f"{self.title(n)}: {got.tolist()}, not {wanted.tolist()}"
        elif kinds & set("fc"):
            # What an op from a graph reads besides its argument is computed in it, from the inputs.
            read = [values[m] for m in (self.read_by(n) if "whole(" in plain else names.values())] + [wanted, got]
            worst = max([EXACT.get(array.dtype.str[1:], 0) for array in read])
            scale = max([abs(array.astype("complex128")).max(initial=1) for array in read])
            off = abs(got.astype("complex128") - wanted.astype("complex128")).max(initial=0)
            assert off <= 100 * worst * scale, f"{self.title(n)}: off by {off}: {got.tolist()}, not {wanted.tolist()}"

    def title(self, n):
        text, _, names = self.texts[n]
        read = {name: f"{self.arrays[m].dtype}{self.arrays[m].shape}" for name, m in names.items()}
        return f"{text} with {read}"


class Variant:
    """One more function of a program, and a way to call it."""

    def __init__(self, program, values, outputs=None):
        self.program, self.values, self.derived = program, values, program.derived
        pick, count = program.pick, len(values)
        self.mode = pick(MODES)
        self.ways = {pick(WAYS) for _ in range(program.random.integers(1, 4))}
        if program.random.integers(3) == 0:
            self.ways.add("cached")
        if program.random.integers(25) == 0:
            self.mode, self.ways = (DebugMode(check_isfinite=False, stability_patience=1), {}), {"plain"}
        wanted = set(outputs or (count - 1, *program.random.integers(count, size=2).tolist()))
        self.outputs = sorted(wanted, reverse=bool(program.random.integers(2)))
        self.stored = list(range(program.inputs)) if self.ways & {"updates", "borrowed"} else []
        self.derivatives = program.derivatives if outputs or program.random.integers(2) else None

    def compiled(self, mode, options):
        program, ways = self.program, self.ways
        inputs = program.variables[:program.inputs]
        outputs = [program.variables[n] for n in self.outputs]
        outputs += self.derivatives.variables if self.derivatives else []
        self.shared, updates, givens = [], [], {}
        if self.stored:
            self.shared = [phintys.shared(self.values[n].copy(), borrow="borrowed" in ways) for n in self.stored]
            givens = dict(zip([inputs[n] for n in self.stored], self.shared))
            for variable, n in zip(self.shared, self.stored):
                fitting = [m for m in range(program.inputs, len(self.values))
                           if program.variables[m].type == inputs[n].type
                           and self.values[m].shape == self.values[n].shape]
                if fitting:
                    updates.append((variable, program.variables[fitting[-1 - program.seed % min(3, len(fitting))]]))
            inputs = []
        self.updates = {self.shared.index(variable): program.variables.index(new) for variable, new in updates}
        if "one op" in ways and not self.stored:
            outputs = phintys.OpFromGraph(inputs, outputs, on_unused_input="ignore")(*inputs, return_list=True)
        if ways & {"lent", "borrowed"}:
            outputs = [Out(output, borrow=True) for output in outputs]
        if "in place" in ways:
            inputs = [In(variable, mutable=True) for variable in inputs]
        make = partial(phintys.function, inputs, outputs, updates=updates, givens=givens, mode=mode,
                       on_unused_input="ignore")
        with phintys.config.change_flags(**options):
            return self.found(make) if "cached" in ways else make()

    def found(self, make):
        """The function as a later process gets it, from the cache of programs; now and then with its graph."""
        with tempfile.TemporaryDirectory() as folder, phintys.config.change_flags(program_cache=folder):
            first, second = make(), make()
            states = first.maker.cached, second.maker.cached
            assert states in (("stored", "found"), ("found", "found")) or states[0] == states[1] != "found", states
            if self.program.seed % 3 == 0:
                listings = [function.explain().splitlines() for function in (first, second)]
                assert len(listings[0]) == len(listings[1]), "\n".join(listings[1])
        return second

    def check(self):
        program, ways = self.program, self.ways
        arguments = self.values[:program.inputs]
        function = self.compiled(*self.mode)
        wanted = self.wanted()
        given = self.given(arguments)
        try:
            first = [numpy.array(result) for result in function(*given)]
        except MemoryError:
            assert "memory_limit" in self.mode[1]
            return None
        self.agree(first, wanted)
        if self.stored:
            after = [variable.get_value() for variable in self.shared]
            new = [self.updates.get(n, n) for n in range(program.inputs)]
            self.agree(after, [self.values[n] for n in new], new)
            for variable, array in zip(self.shared, arguments):
                variable.set_value(array.copy(), borrow="borrowed" in ways)
        elif "in place" not in ways:
            for array, original in zip(given, arguments):
                numpy.testing.assert_array_equal(array, original, err_msg="an argument has changed")
        if "layouts" in ways and not self.stored:
            change = LAYOUTS[program.pick(sorted(LAYOUTS))]
            self.agree(list(map(numpy.array, function(*map(change, self.given(arguments))))), wanted)
        if "threads" in ways and not self.stored:
            self.in_threads(function, arguments, first)
        calls = self.moved(function, first)
        for turn in range(2):
            given = self.given(arguments)
            if turn and self.stored:
                calls = self.moved(function, first)             # with the values of the first call
            again = [numpy.array(result) for result in calls(*given)]
            for one, other in zip(first, again):
                assert one.tobytes() == other.tobytes(), f"{self.title()}: not the same bits: {one} {other}"
            for variable, array in zip(self.shared, arguments):
                variable.set_value(array.copy())
        return function

    def wanted(self):
        """What the other function computes."""
        return [self.values[n] for n in self.outputs] + (self.derived if self.derivatives else [])

    def moved(self, function, first):
        """The function after all that is done with it, one after the other."""
        for way in sorted(self.ways):
            if way == "saved":
                with tempfile.TemporaryDirectory() as folder:
                    phintys.save(os.path.join(folder, "program"), function)
                    function = phintys.load(os.path.join(folder, "program"))
            elif way == "pickled":
                function = pickle.loads(pickle.dumps(function))
            elif way == "copied":
                function = copy.copy(function) if self.program.seed % 2 else copy.deepcopy(function)
        return self.by_c(function, first) if "C" in self.ways else function

    def given(self, arguments):
        """What a call gets: new arrays, unless the values are stored."""
        given = [] if self.stored else [array.copy() for array in arguments]
        for array in given:
            array.flags.writeable = "read-only" not in self.ways
        return given

    def by_c(self, function, first):
        """The function as a C function; itself where it runs Python code."""
        try:
            entry = function.c_function("general")
        except NotImplementedError:
            return function

        def call(*arguments):
            outputs = [numpy.empty_like(result) for result in first]
            status, _ = call_general(entry, list(map(numpy.ascontiguousarray, arguments)), outputs)
            assert status == 0, f"{self.title()}: status {status}: {entry.error}"
            return outputs
        return call

    def in_threads(self, function, arguments, first):
        wrong = []

        def work():
            for _ in range(20):
                results = [numpy.array(result) for result in function(*[array.copy() for array in arguments])]
                if any([one.tobytes() != other.tobytes() for one, other in zip(first, results)]):
                    wrong.append(results)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong, f"in threads {wrong[0]}, not {first}"

    def agree(self, got, wanted, of=None):
        """Up to rounding, as far as roundings of the inputs change the values; ``of`` are positions of values."""
        of = of or self.outputs
        for position, (one, other) in enumerate(zip(got, wanted, strict=True)):
            row = self.derivatives.rows[position - len(of)] if position >= len(of) else None
            n = row.n if row else of[position]
            assert one.dtype == other.dtype, f"{self.title(n)}: dtype {one.dtype}, not {other.dtype}"
            if row and not numpy.isfinite(other).all():
                continue                            # a pole, which rewrites may remove
            read = sorted(self.program.read_by(n))
            tolerance = max([EXACT.get(self.values[m].dtype.str[1:], 0) for m in read])
            off = numpy.inf
            if one.shape == other.shape:
                scale = abs(other.astype("complex128")).max(initial=1)
                with numpy.errstate(all="ignore"):
                    off = abs(one.astype("complex128") - other.astype("complex128"))
                same = (numpy.isnan(one) & numpy.isnan(other)) | (one == other)
                off = numpy.where(same, 0, off).max(initial=0)
                if off <= 30 * tolerance * scale:
                    continue
            slack = self.derivatives.slack(position - len(of), self.values) if row else self.condition(n, read)
            if slack == numpy.inf or off <= 1000 * slack:
                continue
            what = f"the {row.kind} derivative by value {row.at}" if row else "the value"
            raise AssertionError(f"{self.title(n)}, {what}, result {position}: {one.tolist()}, not {other.tolist()}; "
                                 f"roundings change it by {slack}")

    def condition(self, at, read):
        """How much roundings of all values on the way change a value: steps are computed again from values that are
        slightly wrong. Infinite if shapes depend on them."""
        program, random, worst = self.program, numpy.random.default_rng(0), 0.0
        for _ in range(20):
            values = {}
            for n in read:
                value = self.values[n]
                if n >= program.inputs:
                    new = program.exact(n, values)
                    if new is None or new.shape != value.shape:
                        return numpy.inf
                    value = new.astype(value.dtype)
                eps = EXACT.get(value.dtype.str[1:])
                if eps:
                    value = (value + value * eps * random.uniform(-1, 1, value.shape)
                             + eps * 0.1 * random.uniform(-1, 1, value.shape)).astype(value.dtype)
                values[n] = value
            worst = max(worst, abs(values[at].astype("complex128") - self.values[at].astype("complex128")).max(
                initial=0))
        return worst

    def title(self, n=None):
        chain = [text and text[0] for text in self.program.texts] if n is None else self.program.chain(n)
        return f"seed {self.program.seed}: {self.mode} {sorted(self.ways)} outputs {self.outputs}: {chain}"


def check(seed):
    """The program of one seed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Program(seed).check()


if __name__ == "__main__":
    main(check)
