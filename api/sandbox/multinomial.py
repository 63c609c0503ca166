"""Multinomial samples from uniform numbers. Names only, as Theano has them here."""
from phintys.graph import public_names as _public_names
from phintys.missing_names import lookup
from phintys.ops.random.multinomial import (
    ChoiceFromUniform,
    MultinomialFromUniform,
    MultinomialWOReplacementFromUniform,
)

__all__ = ["ChoiceFromUniform", "MultinomialFromUniform", "MultinomialWOReplacementFromUniform"]
_public_names.adopt(globals())
__getattr__ = lookup(__name__)
