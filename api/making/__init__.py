"""Making functions: from the user's graph to a private, optimized one, and to the object that the user calls.

``rebuild`` copies the graph, ``function_maker`` compiles it, ``compiled_function`` is the result; the other files are
copies of functions, dumps, and Theano's views of a program.
"""
