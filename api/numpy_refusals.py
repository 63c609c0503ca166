"""Why NumPy's other functions are not supported on variables, and what to use instead.

``numpy_protocol.py`` says it in errors, ``docs/write_numpy.py`` on a page.
"""

# Why → functions. What is printed in the reason can be used instead.
REASONS = {
    "read, write or print values, which symbols do not have; use them on results":
        """array2string array_repr array_str format_float_positional format_float_scientific fromfile fromregex
        fromstring genfromtxt get_printoptions load loadtxt printoptions save savetxt savez savez_compressed
        set_printoptions base_repr binary_repr info show_config show_runtime get_include test typename""",
    "change an array; use `T.set_subtensor`, `T.fill_diagonal` or `T.put_along_axis`, which return a new one":
        "copyto fill_diagonal place put put_along_axis putmask",
    "make arrays from what is no symbol; use `T.as_tensor` or `T.constant`":
        """array asanyarray asarray asarray_chkfinite ascontiguousarray asfortranarray asmatrix bmat from_dlpack
        frombuffer fromfunction fromiter require""",
    "take numbers only, which NumPy does not pass on; `T` has most of them under the same names":
        """bartlett blackman hamming hanning kaiser diag_indices tril_indices triu_indices tri indices mask_indices
        fft.fftfreq fft.rfftfreq""",
    "ask about dtypes, or about memory; a variable has `x.dtype`, `x.type`":
        """can_cast isdtype isfortran isscalar issubdtype iterable may_share_memory min_scalar_type mintypecode
        promote_types shares_memory nested_iters broadcast_shapes""",
    "have a dtype that depends on values; use `T.real`, or the function of complex numbers": "real_if_close",
    "belong to NumPy's own state": "getbufsize geterr geterrcall setbufsize seterr seterrcall einsum_path",
    "are about dates, strings or bits in bytes":
        """busday_count busday_offset datetime_as_string datetime_data is_busday isnat packbits unpackbits""",
    "call a Python function for parts of an array; use `phintys.vectorize` or `phintys.scan`": "frompyfunc",
    "have results whose length depends on leading zeros": "roots polydiv",
    "NumPy 2.5 no longer has; use `vstack`, `isin` and `trapezoid`": "row_stack in1d trapz",
}


def refusal(name: str) -> str:
    """The message of an error that a function of NumPy is not supported."""
    kin = "real_if_close" if name.startswith("lib.scimath.") else name
    for reason, names in REASONS.items():
        if kin in names.split():
            return f"numpy.{name} is not supported on symbolic variables. It is one of NumPy's functions that {reason}"
    return f"numpy.{name} is not supported on symbolic variables; look for a similar function in phintys.tensor"
