PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

PYTEST := $(BIN)/pytest -q --durations=15

# the extras that tests need
TESTED := test,stemming,embeddings,dask,docs

# what `make test` runs
TESTS := tests/unit tests/contract tests/peers

# the newest Python beside 3.11, if there is one; pyenv starts only what it is told to: all that it has
ANY    := env PYENV_VERSION=$$(pyenv versions --bare 2>/dev/null | paste -sd:)
NEWEST  = $(shell for one in python3.14 python3.13 python3.12; do $(ANY) $$one -c '' 2>/dev/null && echo $$one && break; done)

# uv takes a tenth of the time of pip, which knows more settings (its own file, indexes of companies)
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python -e '$(1)' || $(BIN)/pip install -qq -e '$(1)'

# the tests start many programs, which would compile their modules again and again
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-lowest test-newest test-all lint lint-js docs notebooks bench broker soak sbom clean

demo: $(VENV)/.installed  ## the main job on the built-in stream: a page, a run file, and how well the truth was recovered
	$(BIN)/vmfstream demo --out demo

test: $(VENV)/.installed-test  ## what shows most mistakes in a few minutes; needs no data, no Java and no browser
	$(PYTEST) -n 2 --dist worksteal -m 'not (thorough or corpus or browser or broker)' $(TESTS)

test-lowest:  ## make test in .venv-lowest, with the lowest versions that pyproject.toml allows; test-all has the newest
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/pip install --quiet --upgrade pip uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct -e '.[$(TESTED)]'
	touch .venv-lowest/.installed .venv-lowest/.installed-test
	$(MAKE) test VENV=.venv-lowest

test-newest:  ## a part of make test in .venv-newest, with the newest Python here, for which there may be newer libraries
	@[ -n "$(NEWEST)" ] || echo "No Python 3.12 or newer: not tried (install one to try it)."
	@[ -z "$(NEWEST)" ] || $(MAKE) --no-print-directory test VENV=.venv-newest PYTHON="$(ANY) $(NEWEST)" \
		TESTS="$(wildcard tests/unit/test_*.py) $(addprefix tests/unit/,cli connectors runfile text topic_tracker)"

test-all:  ## everything that must hold: also programs, browser, Kafka, real data
	@$(MAKE) --no-print-directory -j2 $(VENV)/.installed-test chromium
	@# beside the types, the demo compiles what the test processes and their programs would compile again each
	$(MAKE) --no-print-directory -j2 lint lint-js demo
	@# two processes more than cores, since tests of brokers and browsers often wait; each kind stays in one of them
	$(PYTEST) -n 4 --dist loadgroup --no-loadscope-reorder
	$(MAKE) --no-print-directory test-newest

lint: $(VENV)/.installed-test  ## format, mistakes and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

lint-js:  ## the rules of eslint.config.js for the page's script; needs Node.js 20 or newer
	@if command -v npm >/dev/null; then \
		{ [ node_modules/.installed -nt package-lock.json ] || npm ci --no-audit --no-fund --loglevel=error; } && \
		touch node_modules/.installed && node_modules/.bin/eslint dashboards/browser; \
	elif [ -n "$$CI" ]; then echo "No npm: the page's script cannot be checked."; exit 1; \
	else echo "No npm: the page's script was not checked (install Node.js to check it)."; fi

docs: $(VENV)/.installed-docs  ## the site of the documentation, build/site/index.html; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

notebooks: $(VENV)/.installed-test $(VENV)/.installed-docs  ## run the notebooks and store what they print; $VMFSTREAM_DATA may have the posts
	PLOTLY_RENDERER=jpg $(BIN)/jupyter nbconvert --to notebook --execute --inplace --ExecutePreprocessor.record_timing=False --ExecutePreprocessor.coalesce_streams=True docs/notebooks/*.ipynb
	rm -f docs/notebooks/papers.csv

bench: $(VENV)/.installed-test  ## measurements, one JSON line each; slow
	for script in tests/benchmarks/bench_*.py; do $(BIN)/python $$script; done

broker: $(VENV)/.installed-test  ## a Kafka to try things out, until Ctrl-C; needs Java and Maven
	$(BIN)/python -m tests.system.broker.cluster

soak: $(VENV)/.installed-test  ## 4,000 power cuts and damaged files, every call of a run failing, 100,000 schedules in memory, 10,000 simulated clusters, 200 kills with one partition and with four, 10 outages, three brokers of which one is lost, a clock that is set back, 100 kills of a cluster, 30 minutes at full speed; needs Java and Maven
	$(BIN)/python -m tests.system.powercut.power_cuts
	$(BIN)/python -m tests.system.powercut.failing_calls
	$(BIN)/python -m tests.unit.engine.test_schedules 100000
	$(BIN)/python -m tests.unit.engine.test_simulation 10000
	VMFSTREAM_SOAK_KILLS=200 VMFSTREAM_SOAK_OUTAGES=10 $(BIN)/pytest -q --durations=0 tests/system/broker/test_exactly_once.py
	VMFSTREAM_SOAK_BROKERS=3 $(BIN)/pytest -q --durations=0 tests/system/broker/test_three_brokers.py
	VMFSTREAM_SOAK_CLOCK=1 $(BIN)/pytest -q --durations=0 tests/system/broker/test_clock_set_back.py
	VMFSTREAM_DASK_KILLS=100 $(BIN)/pytest -q --durations=0 tests/system/broker/test_dask.py
	$(BIN)/python -m tests.system.broker.soak

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "vmfstream needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip uv
	$(call INSTALL,.)
	touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(call INSTALL,.[$(TESTED)])
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(call INSTALL,.[docs])
	touch $@

.PHONY: chromium
chromium:  # the browser tests need Debian's Chromium and its driver
	@if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium chromium-driver >/dev/null; \
	else echo "No Chromium and chromedriver: the browser tests are left out (install both to run them)."; fi

sbom:  ## the wheel, and beside it what it installs: names, versions, licences, hashes (CycloneDX), dist/
	$(PYTHON) -m venv --clear build/installed
	$(PYTHON) -m venv build/tools
	build/tools/bin/pip install --quiet build 'cyclonedx-bom>=7'
	build/tools/bin/python -m build --wheel --outdir dist .
	build/installed/bin/pip install --quiet --find-links dist "vmfstream[all]"
	build/tools/bin/cyclonedx-py environment --pyproject pyproject.toml --mc-type library --output-reproducible \
		--output-file dist/vmfstream.cdx.json build/installed/bin/python

clean:
	rm -rf $(VENV) .venv-lowest .venv-newest demo build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
