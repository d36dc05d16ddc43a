# `make figures/fig6.pdf` builds the environment and the figure, `make test` the environment and
# passes the tests. Everything else is Snakemake: see README.md.
# The first of these that runs the project.
PYTHON ?= $(shell for each in python3 python3.13 python3.12 python3.11; do \
  $$each -I -c "import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))" 2> /dev/null \
    && echo $$each && break; done)
VENV := .venv
# Nothing that a user's shell names takes the place of the environment's own packages.
unexport PYTHONPATH PYTHONHOME PYTHONUSERBASE PIP_USER PIP_TARGET PIP_PREFIX
# Containers often forbid compiled files; without them every start compiles the project anew. Tests
# and tools read as UTF-8 under any locale; the project does so by itself.
RUN := PYTHONDONTWRITEBYTECODE= PYTHONUTF8=1 PATH="$(CURDIR)/$(VENV)/bin:$$PATH"
# Of a lock, pip takes only files that `make lock` saw. torch, each build of which has files of its
# own, has no hashes. With wheels that were built by hand: `make HASHES= ...`.
HASHES := requirements.hashes
# Says nothing where the environment is as a lock says.
install = @python="$(PYTHON)"; [ -n "$$python" ] || { echo "Python 3.11, 3.12 or 3.13 is needed;" \
  "install one, or name it: make PYTHON=/path/to/python3.13" >&2; exit 1; }; \
  "$$python" -I src/replication/new/environment.py $(1) --venv $(VENV) --hashes "$(HASHES)" \
  --imports replication.__main__ transformer_dynamics snakemake.cli torch scipy.stats pandas pyarrow.parquet seaborn

# Two targets that install would do so at once.
.NOTPARALLEL:
.PHONY: all environment tools cluster encoders test test-all portable campaigns explore faults recover lint format packages benchmark gallery lock newest audit clean

all: environment
	$(RUN) snakemake

environment:
	$(call install,requirements.lock)

# What tests and linters need, too.
tools:
	$(call install,requirements-dev.lock)

# The environment with Snakemake's plugins for clusters.
cluster:
	$(call install,requirements-cluster.lock)

# The environment with what reads pretrained encoders, in whatever format.
encoders:
	$(call install,requirements-encoders.lock)

figures/%: environment
	$(RUN) snakemake $@

# A file of tests shares what it has made.
PYTEST = python -m pytest --numprocesses logical --maxprocesses 8 --dist loadfile --no-loadscope-reorder

# Shows in minutes that the installation works, and that a change breaks nothing.
test: tools
	$(RUN) $(PYTEST)

# Everything: more and larger cases, many examples, and tests that wait. It takes an hour or two.
test-all: tools
	$(RUN) $(PYTEST) -m "" --hypothesis-profile thorough

# Many new examples of every property; all other targets draw the same ones in every run.
explore: tools
	@seed=$(or $(SEED),$$(date +%s)); new="--hypothesis-profile explore --hypothesis-seed=$$seed"; \
	echo "New examples, from the seed $$seed"; $(RUN) $(PYTEST) -m hypothesis $$new || { \
	  echo "The seed was $$seed. To repeat an example that fails: \`.venv/bin/python -m pytest FILE $$new\`." \
	  "To keep it: write it above its test, as @example(...)." >&2; exit 1; }

# Tests of what computes in float32, as other processors would: PyTorch without vector instructions,
# and with older ones. No test may need the last digits of this machine.
SETS = ATEN_CPU_CAPABILITY=default "ATEN_CPU_CAPABILITY=avx2 MKL_CBWR=COMPATIBLE"
NUMERICAL = numerical
portable: tools
	for set in $(SETS); do \
	  $(RUN) env $$set $(PYTEST) -m "$(NUMERICAL)" || exit 1; \
	done

# Tests that wait for minutes: the workflow on a real Slurm, kills and full disks.
campaigns: tools
	$(RUN) $(PYTEST) -m campaign

# Kills, full disks, wrong clocks: what each costs, for benchmarks/faults.csv. It takes a while.
faults: tools
	$(RUN) PYTHONPATH=tests python -m faults

# After a run that was killed outright; then the same command again.
recover: environment
	$(RUN) snakemake --unlock

lint: tools
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

format: tools
	$(RUN) ruff check --fix
	$(RUN) ruff format
	$(RUN) snakefmt Snakefile workflow

# Wheels of the engine and of the papers, and the source of the last commit, in dist/. What an earlier
# build left would go into a wheel.
packages: environment
	rm -rf build engine/build
	mkdir -p dist
	$(VENV)/bin/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir dist ./engine .
	version=$$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml) && git archive \
	  --prefix transformer-dynamics-$$version/ --output dist/transformer-dynamics-$$version.tar.gz HEAD

# What users type, then each study's costliest steps against the literal ways.
benchmark: tools
	$(RUN) python -m benchmarks
	$(RUN) python -m benchmarks.steps

# Previews for the README, from the same tables as the figures. Some take hours where their runs are
# not there yet; `make gallery PICTURES=figures/fig6.png` draws one.
PICTURES = $(patsubst docs/gallery/%,figures/%,$(wildcard docs/gallery/*.png docs/gallery/*/*.png))
gallery: environment
	$(RUN) snakemake $(PICTURES)
	for picture in $(PICTURES); do \
	  kept=docs/gallery/$${picture#figures/} && mkdir -p $${kept%/*} && cp $$picture $$kept || exit 1; \
	done

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
	for lock in requirements*.lock; do \
	  sed 's/^\(torch==[^+]*\)+.*/\1/' $$lock > $$lock.new && mv $$lock.new $$lock || exit 1; \
	done
	.lock-venv/bin/python .github/hashes requirements*.lock > requirements.hashes
	rm -rf .lock-venv

# An environment of the newest versions of everything in the lock, to see what they would change.
newest:
	$(PYTHON) -I -m venv --clear $(VENV)
	$(VENV)/bin/python -I -m pip install --quiet $$(sed '/^#/d; s/==.*//' requirements-encoders.lock)
	$(VENV)/bin/python -I -m pip install --quiet --no-deps --no-build-isolation -e .

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
