"""Theano's logger, under its name "theano": ``theano_logger``, with ``logging_default_handler``.

Programs set its level or give it another handler. phintys logs few messages, because it uses exceptions and Python's
warnings instead.
"""
import logging

__all__ = ["logging_default_handler", "theano_logger"]

theano_logger = logging.getLogger("theano")
logging_default_handler = logging.StreamHandler()
logging_default_handler.setFormatter(logging.Formatter("%(levelname)s (%(name)s): %(message)s"))
theano_logger.addHandler(logging_default_handler)
theano_logger.setLevel(logging.WARNING)
