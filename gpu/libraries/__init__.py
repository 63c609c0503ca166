"""NVIDIA's libraries, loaded at run time where they are installed, for what they do better than kernels of our own."""
