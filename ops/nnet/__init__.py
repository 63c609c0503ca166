"""Neural networks: softmax, cross-entropies, hinge loss, batch normalization, activations."""
