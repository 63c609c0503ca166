# `make demo` and `make test` are all the set-up there is. Both make a virtual environment in .venv, build phintys into
# it, and run; a second time they only build what changed. The tests see the installed package, never the source tree.
#
# PYTHON  the interpreter to make .venv from        make test PYTHON=python3.12
# VENV    where the virtual environment stands      make test VENV=/tmp/environment
# ARGS    arguments for pytest, the demo, or asv    make test ARGS="tests/graph -x"

PYTHON ?= python3
VENV ?= .venv
ARGS ?=

RUN := "$(VENV)/bin/python"
ASV := $(RUN) -m asv --config asv_bench/asv.conf.json
# Short, but long enough that results are worth keeping; asv throws those of its own --quick away.
SHORT := -a rounds=1 -a warmup_time=0.05 -a sample_time=0.02
INSTALL := $(RUN) -m pip install --quiet --disable-pip-version-check
FOLDERS := api graph vm ops optimizer gpu
LIST_SOURCES := find $(FOLDERS) -name '*.py' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.h'
SOURCES := setup.py pyproject.toml $(shell $(LIST_SOURCES))

ifneq ($(origin CC),default)
export CC
endif

.PHONY: help demo test stress bench clean list-sources
.DELETE_ON_ERROR:

help:
	@echo 'make demo    train the logistic regression of the 2010 paper on real data'
	@echo 'make test    run the tests'
	@echo 'make stress  run the tests with poisoned memory, and under AddressSanitizer'
	@echo 'make bench   run the benchmarks on the last commit (needs git)'
	@echo 'make clean   remove everything that can be built again'

demo: $(VENV)/examples.stamp
	$(RUN) examples/logistic_regression.py $(ARGS)

# -I keeps the source tree out of the import path.
test: $(VENV)/test.stamp
	$(RUN) -I -m pytest $(ARGS)

# Under `stress` all memory comes from malloc, so that the sanitizer sees each use of memory that was given back.
# Python itself is not built with it, hence the preloading, and leaves memory to the system when it ends.
stress: $(VENV)/test.stamp
	PHINTYS_FLAGS=stress $(RUN) -I -m pytest $(ARGS)
	PHINTYS_SANITIZE=address $(RUN) setup.py -q build --build-base build/address --build-lib build/address/lib
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=16 PHINTYS_FLAGS=stress \
		LD_PRELOAD="$$(gcc -print-file-name=libasan.so)" \
		PYTHONMALLOC=malloc PYTHONPATH=build/address/lib $(RUN) -m pytest --ignore=tests/packaging $(ARGS)

bench: $(VENV)/bench.stamp
	@$(ASV) machine --yes >/dev/null
	$(ASV) run --show-stderr $(SHORT) $(ARGS) 'HEAD^!'

clean:
	rm -rf .venv build dist phintys.egg-info .pytest_cache .hypothesis examples/output asv_bench/.asv/env
	rm -rf examples/out_of_tree_op/build examples/out_of_tree_op/*.c examples/out_of_tree_op/*.so
	find vm ops '(' -name '*.c' -o -name '*.so' ')' -delete
	find $(FOLDERS) tests examples asv_bench -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/created.stamp:
	@sh .ci/prerequisites "$(PYTHON)"
	"$(PYTHON)" -m venv "$(VENV)"
	@touch $@

# Changes only when a source file appears or disappears, which time stamps of the files left cannot show.
$(VENV)/sources.txt: list-sources $(VENV)/created.stamp
	@$(LIST_SOURCES) | sort > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# Without build isolation, so that the compiled modules of the last build are still good. The build requirements come
# from pyproject.toml; xargs takes the quotes off.
$(VENV)/package.stamp: $(VENV)/sources.txt $(SOURCES)
	@echo 'Building phintys; the first time this takes a minute or two.'
	@sed -n 's/^requires = \[\(.*\)\]/\1/p' pyproject.toml | tr -d , | xargs $(INSTALL)
	$(INSTALL) --no-build-isolation .
	@touch $@

# phintys itself is there: this adds what the extra asks for.
$(VENV)/%.stamp: $(VENV)/package.stamp
	$(INSTALL) "phintys[$*]"
	@touch $@
