"""Elementwise operations: the table of scalar ops, ``Elemwise``, ``Composite``, and the kernel that runs them.

``scalar`` is the table. ``elementwise_kernel``, ``block_code`` and ``arithmetic_tree`` run it over arrays; the
``scalar_*`` and ``impl_*`` files are the protocol of users' scalar ops.
"""
