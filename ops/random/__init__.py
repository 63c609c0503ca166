"""Random numbers: MRG31k3p, streams of NumPy's generators, multinomial samples."""
