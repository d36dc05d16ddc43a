# `make figures/fig6.pdf` builds the environment and the figure, `make test` the environment and
# passes the tests. Everything else is Snakemake: see README.md.
# The first of these that runs the project.
PYTHON ?= $(shell for each in python3 python3.13 python3.12 python3.11; do \
  $$each -c "import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))" 2> /dev/null \
    && echo $$each && break; done)
VENV := .venv
READY := $(VENV)/.ready
TOOLS := $(VENV)/.tools
# Containers often forbid compiled files; without them every start compiles the project anew. Tests
# and tools read as UTF-8 under any locale; the project does so by itself.
RUN := PYTHONDONTWRITEBYTECODE= PYTHONUTF8=1 PATH="$(CURDIR)/$(VENV)/bin:$$PATH"
INSTALL := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check
# Of a lock, pip takes only files that `make lock` saw. The second command adds torch, each build of
# which has files of its own, and what only another system or Python needs. With wheels that were built
# by hand: `make HASHES= ...`.
HASHES := requirements.hashes
HASHED := $(VENV)/.hashed
install = $(if $(HASHES),awk 'NR == FNR {locked[$$1]; next} /==/ {on = $$1 in locked} on' $(1) $(HASHES) \
  > $(HASHED) && $(INSTALL) --no-deps --require-hashes -r $(HASHED) &&) $(INSTALL) -r $(1)

.PHONY: all environment tools cluster encoders test test-all portable campaigns explore faults recover lint format packages benchmark gallery lock newest audit clean

all: $(READY)
	$(RUN) snakemake

# The environment is rebuilt when the lock changes, not when its file is touched. Its mark goes first:
# an interruption leaves no environment that looks whole.
$(READY): requirements.lock pyproject.toml
	@if [ -f $@ ] && sha256sum --check --status $@; then touch $@; else \
	  { [ -n "$(PYTHON)" ] || { echo "Python 3.11, 3.12 or 3.13 is needed; install one, or name it:" \
	    "make PYTHON=/path/to/python3.13" >&2; exit 1; }; } && \
	  echo "Installing the environment into $(VENV), which takes minutes" && \
	  rm -f $@ && $(PYTHON) -m venv --clear $(VENV) && $(call install,requirements.lock) && \
	  $(INSTALL) --no-deps --no-build-isolation -e . && \
	  sha256sum $^ > $@; fi

# What tests and linters need, too.
$(TOOLS): requirements-dev.lock $(READY)
	@if [ -f $@ ] && sha256sum --check --status $@; then touch $@; else \
	  echo "Installing what the tests need" && $(call install,requirements-dev.lock) && \
	  sha256sum requirements-dev.lock > $@; fi

environment: $(READY)
tools: $(TOOLS)

# The environment with Snakemake's plugins for clusters.
cluster: $(READY)
	$(call install,requirements-cluster.lock)

# The environment with what reads pretrained encoders, in whatever format.
encoders: $(READY)
	$(call install,requirements-encoders.lock)

figures/%: $(READY) FORCE
	$(RUN) snakemake $@

FORCE:

# A file of tests shares what it has made.
PYTEST = python -m pytest --numprocesses logical --maxprocesses 8 --dist loadfile --no-loadscope-reorder

# Shows in minutes that the installation works, and that a change breaks nothing.
test: $(TOOLS)
	$(RUN) $(PYTEST)

# Everything: more and larger cases, many examples, and tests that wait. It takes an hour or two.
test-all: $(TOOLS)
	$(RUN) $(PYTEST) -m "" --hypothesis-profile thorough

# Many new examples of every property; all other targets draw the same ones in every run.
SEED := $(shell date +%s)
EXPLORE = --hypothesis-profile explore --hypothesis-seed=$(SEED)
explore: $(TOOLS)
	$(RUN) $(PYTEST) -m hypothesis $(EXPLORE) || { echo "The seed was $(SEED). To repeat an example that" \
	  "fails: \`.venv/bin/python -m pytest FILE $(EXPLORE)\`. To keep it: write it above its test, as" \
	  "@example(...)." >&2; exit 1; }

# Tests of what computes in float32, as other processors would: PyTorch without vector instructions,
# and with older ones. No test may need the last digits of this machine.
SETS = ATEN_CPU_CAPABILITY=default "ATEN_CPU_CAPABILITY=avx2 MKL_CBWR=COMPATIBLE"
NUMERICAL = numerical
portable: $(TOOLS)
	for set in $(SETS); do \
	  $(RUN) env $$set $(PYTEST) -m "$(NUMERICAL)" || exit 1; \
	done

# Tests that wait for minutes: the workflow on a real Slurm, kills and full disks.
campaigns: $(TOOLS)
	$(RUN) $(PYTEST) -m campaign

# Kills, full disks, wrong clocks: what each costs, for benchmarks/faults.csv. It takes a while.
faults: $(TOOLS)
	$(RUN) PYTHONPATH=tests python -m faults

# After a run that was killed outright; then the same command again.
recover: $(READY)
	$(RUN) python -m replication recover

lint: $(TOOLS)
	$(RUN) ruff check
	$(RUN) ruff format --check
	$(RUN) mypy
	$(RUN) snakefmt --check Snakefile workflow
	$(RUN) snakemake --lint
	$(RUN) python -m replication generate --check
	$(RUN) check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(RUN) check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
	$(RUN) check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(RUN) zizmor --offline --quiet .github/workflows

format: $(TOOLS)
	$(RUN) ruff check --fix
	$(RUN) ruff format
	$(RUN) snakefmt Snakefile workflow

# Wheels of the engine and of the papers, and the source of the last commit, in dist/. What an earlier
# build left would go into a wheel.
packages: $(READY)
	rm -rf build engine/build
	mkdir -p dist
	$(VENV)/bin/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist ./engine .
	version=$$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml) && git archive \
	  --prefix transformer-dynamics-$$version/ --output dist/transformer-dynamics-$$version.tar.gz HEAD

# What users type, then each study's costliest steps against the literal ways.
benchmark: $(TOOLS)
	$(RUN) python -m benchmarks
	$(RUN) python -m benchmarks.steps

# Previews for the README, from the same tables as the figures. Some take hours where their runs are
# not there yet; `make gallery PICTURES=figures/fig6.png` draws one.
PICTURES = $(patsubst docs/gallery/%,figures/%,$(wildcard docs/gallery/*.png docs/gallery/*/*.png))
gallery: $(READY)
	$(RUN) snakemake $(PICTURES)
	for picture in $(PICTURES); do install -D -m 644 $$picture docs/gallery/$${picture#figures/}; done

# Resolve anew, each lock with all that stands in the one before. torch's local version (+cpu) is cut
# off, so that they fit every platform.
RESOLVE = .lock-venv/bin/pip-compile --quiet --strip-extras --no-annotate --no-header --allow-unsafe \
  --no-emit-index-url --no-emit-find-links --no-emit-options pyproject.toml
lock:
	$(PYTHON) -m venv --clear .lock-venv
	.lock-venv/bin/python -m pip install --quiet pip-tools
	$(RESOLVE) --upgrade --extra dev -o requirements-dev.lock
	$(RESOLVE) --constraint requirements-dev.lock --extra cluster -o requirements-cluster.lock
	$(RESOLVE) --constraint requirements-dev.lock --extra onnx -o requirements-encoders.lock
	$(RESOLVE) --constraint requirements-dev.lock -o requirements.lock
	sed -i 's/^\(torch==[^+]*\)+.*/\1/' requirements*.lock
	.lock-venv/bin/python .github/hashes requirements*.lock > requirements.hashes
	rm -rf .lock-venv

# An environment of the newest versions of everything in the lock, to see what they would change.
newest:
	rm -f $(READY)
	$(PYTHON) -m venv --clear $(VENV)
	$(VENV)/bin/python -m pip install --quiet $$(sed '/^#/d; s/==.*//' requirements-encoders.lock)
	$(VENV)/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .

# Known vulnerabilities of the locked versions; asks PyPI's service. Without --strict a package that
# the service does not answer for would pass.
audit:
	$(PYTHON) -m venv --clear .lock-venv
	.lock-venv/bin/python -m pip install --quiet pip-audit
	.lock-venv/bin/pip-audit --strict --requirement requirements-dev.lock --no-deps --disable-pip || \
	  { echo "A locked package has a known vulnerability, or PyPI did not answer for it, see above" >&2; exit 1; }
	rm -rf .lock-venv

# The reference stays: it is in git.
clean:
	rm -rf $(VENV) figures logs .snakemake dist pages
	find results -mindepth 1 -maxdepth 1 ! -name reference -exec rm -rf {} +
