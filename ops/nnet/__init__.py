"""Neural networks: softmax, cross-entropies, batch normalization, activations."""
