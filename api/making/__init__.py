"""How a function is made: from the user's graph to a private, optimized one, and to what the user calls.

``rebuild`` copies the graph, ``function_maker`` compiles it, ``compiled_function`` is the result; the other files are
copies of functions, dumps, and the views of a program that Theano's users expect.
"""
