# `make demo` and `make test` are all the set-up there is. Both make a virtual environment in .venv, build phintys into
# it, and run; a second time they only build what changed. The tests see the installed package, never the source tree.
#
# PYTHON   the interpreter to make .venv from        make test PYTHON=python3.12
# VENV     where the virtual environment is          make test VENV=/tmp/environment
# EDITABLE where that of `make develop` is           make develop EDITABLE=/tmp/editable
# ARGS     arguments for pytest, ruff, the demo, asv make test ARGS="tests/graph -x"
# PYTENSOR the version for the tests of PyMC           make test-interop PYTENSOR=2.38   (3.0; 3.3 from Python 3.12 on)
# MINUTES  how long a campaign runs this time         make campaign-random MINUTES=60
# WORKERS  how many tests run at a time              make test WORKERS=0 ARGS="tests/graph --pdb"

PYTHON ?= python3
VENV ?= .venv
EDITABLE ?= .venv-editable
ARGS ?=
WORKERS ?= auto
MINUTES ?= 10
PYTENSOR ?= 3.3

RUN := "$(VENV)/bin/python"
# The folder in the names of targets, where make needs a backslash before a space.
NOTHING :=
STAMPS := $(subst $(NOTHING) $(NOTHING),\ ,$(VENV))
ASV := $(RUN) -m asv --config asv_bench/asv.conf.json
# -I keeps the source tree out of the import path. The tests use all cores.
TEST := $(RUN) -I -m pytest -n $(WORKERS)
# What `make check` runs: at least one test file for each floor, those that find most for their time.
QUICK := tests/test_tiny.py tests/test_layers.py tests/test_mirror.py tests/docs tests/graph/test_function_graph.py \
	tests/graph/test_nodes.py tests/vm/linking tests/optimizer/engine tests/ops/elementwise tests/ops/shape \
	tests/ops/nnet tests/ops/types
# Short, but long enough that results are worth keeping; asv throws those of its own --quick away.
SHORT := -a rounds=1 -a warmup_time=0.05 -a sample_time=0.02
INSTALL := $(RUN) -m pip install --quiet --disable-pip-version-check
# The PyMC that uses a version of PyTensor; PyMC 6 needs Python 3.12, PyTensor 3.0 does not.
PYMC_2.38 := pymc==5.28.*
PYMC_3.0 := pymc==6.0.*; python_version>='3.12'
PYMC_3.3 := pymc>=6.4,<7
FOLDERS := api graph vm ops optimizer gpu
LIST_SOURCES := find $(FOLDERS) -name '*.py' -o -name '*.pyx' -o -name '*.pyi' -o -name '*.pxd' \
	-o -name '*.pxi' -o -name '*.h'
SOURCES := setup.py pyproject.toml $(shell $(LIST_SOURCES))

ifneq ($(origin CC),default)
export CC
endif

.PHONY: help demo test test-long array-api-tests test-interop interop test-gpu gpu-visit check lint types coverage develop editable annotate build-times wheel-check stress stress-files bench docs clean \
	list-sources
.DELETE_ON_ERROR:

help:
	@echo 'make demo      train the logistic regression of the 2010 paper on real data'
	@echo 'make test      run the tests'
	@echo 'make test-long  run the long random tests, which `make test` leaves out'
	@echo 'make array-api-tests  run the suite of the array API standard (SUITE: its checkout)'
	@echo 'make test-interop PYTENSOR=3.0  run the tests of PyTensor and PyMC with another version: 2.38, 3.0 or 3.3'
	@echo 'make check     lint, and run the quick half of the tests: a verdict in two minutes'
	@echo 'make lint      look for mistakes in the Python files (ruff)'
	@echo 'make types     let pyright read the programs of tests/types, beside mypy'
	@echo 'make coverage  say which lines of the Python files no test runs'
	@echo 'make develop   build in the source tree, for an editable install'
	@echo 'make annotate  write a page for each Cython file that shows the C code of each line'
	@echo 'make build-times  build anew and say what Cython and the C compiler take for each module'
	@echo 'make wheel-check  build the wheel twice, in other places and at other times, and compare the bytes'
	@echo 'make stress    run the tests with poisoned memory, and under AddressSanitizer'
	@echo 'make test-gpu  run the tests of the GPU on the GPU of this machine (needs pycuda, and NVRTC or nvcc)'
	@echo 'make campaign-random MINUTES=60  look for faults: also -faults -signals -forks -threads -sanitizers -mutants -native -soak'
	@echo 'make bench     run the benchmarks on the last commit (needs git)'
	@echo 'make docs      build the site in build/site, with its notebooks, and check its links'
	@echo 'make clean     remove everything that can be built again'

demo: $(STAMPS)/examples.stamp
	$(RUN) examples/logistic_regression.py $(ARGS)

test: $(STAMPS)/test.stamp
	$(TEST) $(ARGS)

test-long: $(STAMPS)/test.stamp
	$(TEST) -m long $(ARGS)

# The public test suite of the array API standard, whose requirements must be installed. SUITE: where its checkout is.
array-api-tests: $(STAMPS)/test.stamp
	ARRAY_API_TESTS_MODULE=evaluated_arrays PYTHONPATH="$(CURDIR)/tests/support:$(SUITE)" $(RUN) -m pytest \
		--rootdir="$(SUITE)" -c "$(SUITE)/pytest.ini" --max-examples 20 --disable-deadline "$(SUITE)/array_api_tests" $(ARGS)

# Each version has an environment of its own.
test-interop:
	@$(MAKE) --no-print-directory VENV="$(VENV)-pytensor-$(PYTENSOR)" interop

interop: $(STAMPS)/pytensor-$(PYTENSOR).stamp
	@$(RUN) -m pip list --disable-pip-version-check --format=freeze | grep -E '^(numpy|pytensor|pymc)=='
	$(TEST) tests/api/interop $(ARGS)

check: lint $(STAMPS)/test.stamp
	$(TEST) $(QUICK) $(ARGS)

lint: $(STAMPS)/lint.stamp
	$(RUN) -m ruff check $(ARGS) .

# mypy is a part of the tests. pyright is not: its package fetches the checker from the registry of npm.
types: $(STAMPS)/test.stamp $(STAMPS)/types.stamp
	$(TEST) tests/types $(ARGS)

coverage: $(STAMPS)/test.stamp $(STAMPS)/coverage.stamp
	$(TEST) --cov --cov-report=term --cov-report=html:build/coverage $(ARGS)
	@echo 'Line by line: build/coverage/index.html'

# Modules are built beside their sources, by the interpreter of an environment of its own: that of `make test` has
# phintys installed. Python files are used as they are; run this again after changing any other file.
develop:
	@$(MAKE) --no-print-directory VENV="$(EDITABLE)" editable

editable: $(STAMPS)/editable.stamp
	$(RUN) setup.py -q build_ext --inplace
	@echo 'phintys is ready: . $(VENV)/bin/activate, then python -I -m pytest tests/graph, for instance'

annotate: $(STAMPS)/build-requirements.stamp
	$(RUN) setup.py -q annotate

# The wheel of a commit has the same bytes wherever and whenever it is built; PHINTYS_ONLY builds some of the modules.
wheel-check: $(STAMPS)/build-requirements.stamp
	.ci/same_wheels $(RUN)

# Below build/times; nothing that was built before is changed. A cache of the C compiler would hide what it takes.
build-times: $(STAMPS)/build-requirements.stamp
	CCACHE_DISABLE=1 PHINTYS_BUILD_TIMES=1 $(RUN) setup.py -q build_ext

# Under `stress` all memory comes from malloc, so that the sanitizer sees each use of memory that was given back. With
# STRESS= frames keep memory and repeat calls, as for users; then the pool tells the sanitizer which blocks it keeps.
# Python itself is not built with it, hence the preloading, and leaves memory to the system when it ends. C++ is loaded
# before, too: otherwise the first exception of a library such as PyTorch ends the process. pytest holds what a process
# wrote that ends, so reports go to files.
STRESS = stress
BUILD_SANITIZED = PHINTYS_SANITIZE=address $(RUN) setup.py -q build --build-base build/address --build-lib build/address/lib
SANITIZED = ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:quarantine_size_mb=16:log_path="$(CURDIR)/build/address/report" \
	PHINTYS_FLAGS=$(STRESS) PYTHONMALLOC=malloc \
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so.6)" \
	PYTHONPATH=build/address/lib $(RUN) -m pytest -n $(WORKERS)
stress: $(STAMPS)/test.stamp
	PHINTYS_FLAGS=stress $(TEST) $(ARGS)
	$(BUILD_SANITIZED)
	$(SANITIZED) --ignore=tests/packaging $(ARGS)

# 400,000 damaged and forged files of saved programs under AddressSanitizer.
stress-files: $(STAMPS)/test.stamp
	$(BUILD_SANITIZED)
	$(SANITIZED) -m long tests/vm/files $(ARGS)

# Campaigns go on where the last run stopped; each has a file in build/campaign. Sanitizers need builds of their own.
campaign-%: $(STAMPS)/test.stamp
	$(RUN) -I tests/campaign/run.py $* --minutes $(MINUTES) $(ARGS)

campaign-sanitizers: $(STAMPS)/test.stamp
	for sanitizer in address undefined thread; do \
		PHINTYS_SANITIZE=$$sanitizer $(RUN) setup.py -q build --build-base build/$$sanitizer \
			--build-lib build/$$sanitizer/lib || exit; \
	done
	$(RUN) -I tests/campaign/run.py sanitizers --minutes $(MINUTES) $(ARGS)

# On the machine's own GPU; `make test` takes the stand-in of tests/gpu where there is none.
test-gpu: $(STAMPS)/test.stamp $(STAMPS)/gpu.stamp
	PHINTYS_TEST_GPU=1 $(TEST) -n 0 tests/gpu $(ARGS)
	@echo "Figures: $(VENV)/bin/python -I tests/gpu/measure.py"

# A folder to carry to a machine with a GPU that is lent for minutes: tests/gpu/visit/README.md.
gpu-visit: $(STAMPS)/test.stamp
	bash tests/gpu/visit/prepare.sh build/gpu_visit $(RUN)

bench: $(STAMPS)/bench.stamp
	@$(ASV) machine --yes >/dev/null
	$(ASV) run --show-stderr $(SHORT) $(ARGS) 'HEAD^!'

# Needs no network: what pages use is in the folder. Warnings are errors. asv's pages of what `make bench` has measured
# are beside it, in build/site/benchmarks; where there is npm, with the scripts that they use.
docs: $(STAMPS)/docs.stamp
	$(RUN) -I -m sphinx --quiet --fail-on-warning --keep-going $(ARGS) docs build/site
	$(RUN) -I docs/check_site.py build/site
	@if ls asv_bench/.asv/results/*/*.json >/dev/null 2>&1; then \
		$(RUN) -m pip install --quiet --disable-pip-version-check "phintys[bench]" && \
		$(ASV) publish --html-dir "$(CURDIR)/build/site/benchmarks" >/dev/null && \
		{ $(RUN) asv_bench/offline_pages.py build/site/benchmarks || true; }; fi
	@echo 'The site: build/site/index.html'

clean:
	rm -rf .venv .venv-editable .venv-pytensor-* build dist phintys.egg-info .pytest_cache .ruff_cache .hypothesis .coverage*
	rm -rf examples/output asv_bench/.asv/env
	rm -rf examples/out_of_tree_op/build examples/out_of_tree_op/*.c examples/out_of_tree_op/*.so
	find graph vm ops optimizer gpu '(' -name '*.c' -o -name '*.so' ')' -delete
	find $(FOLDERS) tests examples asv_bench -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMPS)/created.stamp:
	@sh .ci/prerequisites "$(PYTHON)"
	"$(PYTHON)" -m venv "$(VENV)"
	@touch "$@"

# Changes only when a source file appears or disappears, which time stamps of the files left cannot show.
$(STAMPS)/sources.txt: list-sources $(STAMPS)/created.stamp
	@$(LIST_SOURCES) | sort > "$@.new"
	@if cmp -s "$@.new" "$@"; then rm "$@.new"; else mv "$@.new" "$@"; fi

# The build requirements come from pyproject.toml; xargs takes the quotes off.
$(STAMPS)/build-requirements.stamp: pyproject.toml $(STAMPS)/created.stamp
	@sed -n 's/^requires = \[\(.*\)\]/\1/p' pyproject.toml | tr -d , | xargs $(INSTALL)
	@touch "$@"

# Without build isolation, so that the compiled modules of the last build are still good. pip hides what it builds, so
# that is built before, and setup.py says which module of how many it is at.
$(STAMPS)/package.stamp: $(STAMPS)/sources.txt $(SOURCES) $(STAMPS)/build-requirements.stamp
	@echo 'Building phintys; the first time this takes some minutes.'
	@$(RUN) setup.py -q build
	$(INSTALL) --no-build-isolation .
	@touch "$@"

# Only which folders are packages and what the metadata says is installed: again when one of them may have changed. pip
# would compile every module in a folder that it throws away, so it gets one; `editable` builds them all in place.
$(STAMPS)/editable.stamp: $(STAMPS)/sources.txt setup.py pyproject.toml $(STAMPS)/build-requirements.stamp
	@echo 'Building phintys; the first time this takes some minutes.'
	PHINTYS_ONLY=vm.pool $(INSTALL) --no-build-isolation --editable ".[test,examples]"
	@touch "$@"

# A linter needs no phintys.
$(STAMPS)/lint.stamp: pyproject.toml $(STAMPS)/created.stamp
	@sed -n 's/^lint = \[\(.*\)\]/\1/p' pyproject.toml | tr -d , | xargs $(INSTALL)
	@touch "$@"

$(STAMPS)/pytensor-$(PYTENSOR).stamp: $(STAMPS)/package.stamp
	$(INSTALL) "pytest>=9" "pytest-xdist>=3.6" "hypothesis>=6" "threadpoolctl>=3.2" "pytensor==$(PYTENSOR).*" \
		"$(PYMC_$(PYTENSOR))"
	@touch "$@"

# phintys itself is there: this adds what the extra asks for.
$(STAMPS)/%.stamp: $(STAMPS)/package.stamp
	$(INSTALL) "phintys[$*]"
	@touch "$@"
