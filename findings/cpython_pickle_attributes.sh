#!/bin/bash
# CPython 3.13.0, which PYTHON must name: setting `persistent_id` of a `pickle.Pickler`, or `persistent_load` of an
# `Unpickler`, is how programs written before Python 3.13 give them a function. In 3.13.0 both attributes are read-only;
# methods of a subclass work in every version.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.13} install
shows "3.13.0: persistent_id is read-only, persistent_load is read-only; a subclass's method is called True" <<'PROGRAM'
import io, pickle, platform

def outcome(thing, name):
    try:
        setattr(thing, name, lambda value: None)
    except AttributeError:
        return f"{name} is read-only"
    return f"{name} is set"

class Own(pickle.Pickler):
    called = False

    def persistent_id(self, value):
        self.called = True

pickler = Own(io.BytesIO())
pickler.dump([1])
print(f"{platform.python_version()}: {outcome(pickle.Pickler(io.BytesIO()), 'persistent_id')}, "
      f"{outcome(pickle.Unpickler(io.BytesIO()), 'persistent_load')}; a subclass's method is called {pickler.called}")
PROGRAM
