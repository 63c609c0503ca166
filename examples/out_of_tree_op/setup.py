"""Builds the kernel against the installed phintys: ``python setup.py build_ext --inplace``.

Cython finds the contract, ``phintys/vm/abi.pxd``, by ``get_include``; otherwise only NumPy's headers are needed.
"""
import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup

import phintys

kernel = Extension("moving_average_kernel", ["moving_average_kernel.pyx"], include_dirs=[numpy.get_include()],
                   define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")])
setup(name="moving_average", py_modules=["moving_average"],
      ext_modules=cythonize([kernel], include_path=[phintys.get_include()]))
