# `make figures/fig6.pdf` builds the environment and the figure, `make test` the environment and
# passes the tests. Everything else is Snakemake: see README.md.
PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.ready
RUN := PATH="$(CURDIR)/$(VENV)/bin:$$PATH"

.PHONY: all environment test faults recover lint format benchmark gallery wikitext-gallery lock newest audit clean

all: $(READY)
	$(RUN) snakemake

# The environment is rebuilt when the lock changes, not when its file is touched.
$(READY): requirements.lock pyproject.toml
	@if [ -f $@ ] && sha256sum --check --status $@; then touch $@; else \
	  $(PYTHON) -m venv --clear $(VENV) && \
	  $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.lock && \
	  $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . && \
	  sha256sum $^ > $@; fi

environment: $(READY)

figures/%: $(READY) FORCE
	$(RUN) snakemake $@

FORCE:

# Many tests wait for a Snakemake of their own; a file of tests shares what it has made.
test: $(READY)
	$(RUN) python -m pytest --numprocesses logical --maxprocesses 8 --dist loadfile --no-loadscope-reorder

# Kills, full disks, wrong clocks: what each costs, for docs/faults.md. It takes a while.
faults: $(READY)
	$(RUN) PYTHONPATH=tests python -m faults

# After a run that was killed outright; then the same command again.
recover: $(READY)
	$(RUN) python -m transformer_dynamics.recover

lint: $(READY)
	$(RUN) ruff check
	$(RUN) ruff format --check
	$(RUN) mypy
	$(RUN) snakefmt --check Snakefile workflow
	$(RUN) snakemake --lint
	$(RUN) python -m transformer_dynamics.generate --check
	$(RUN) check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(RUN) zizmor --offline --quiet .github/workflows

format: $(READY)
	$(RUN) ruff check --fix
	$(RUN) ruff format
	$(RUN) snakefmt Snakefile workflow

benchmark: $(READY)
	$(RUN) python -m benchmarks

# Previews for the README, from the same tables as the figures.
GALLERY := fig1 fig2 fig3 fig4 fig5 fig6 fig8 fig9 fig11 fig12 theory_vs_training phase_transition errata sensitivity
gallery: $(READY)
	$(RUN) snakemake $(GALLERY:%=figures/%.png)
	cp $(GALLERY:%=figures/%.png) docs/gallery/

# The same of training on text, which takes hours.
WIKITEXT_GALLERY := fig7 fig10 wikitext_dynamics
wikitext-gallery: $(READY)
	$(RUN) snakemake $(WIKITEXT_GALLERY:%=figures/%.png) --configfile config/wikitext_short.yaml
	cp $(WIKITEXT_GALLERY:%=figures/%.png) docs/gallery/

# Resolve anew. torch's local version (+cpu) is cut off, so that the lock fits every platform.
lock:
	$(PYTHON) -m venv --clear .lock-venv
	.lock-venv/bin/python -m pip install --quiet pip-tools
	.lock-venv/bin/pip-compile --quiet --upgrade --extra dev --strip-extras --no-annotate --no-header \
	  --allow-unsafe --no-emit-index-url --no-emit-find-links --no-emit-options -o requirements.lock pyproject.toml
	sed -i 's/^\(torch==[^+]*\)+.*/\1/' requirements.lock
	rm -rf .lock-venv

# An environment of the newest versions of everything in the lock, to see what they would change.
newest:
	$(PYTHON) -m venv --clear $(VENV)
	$(VENV)/bin/python -m pip install --quiet $$(sed '/^#/d; s/==.*//' requirements.lock)
	$(VENV)/bin/python -m pip install --quiet --no-deps --no-build-isolation -e .

# Known vulnerabilities of the locked versions; asks PyPI's service. Without --strict a package that
# the service does not answer for would pass.
audit:
	$(PYTHON) -m venv --clear .lock-venv
	.lock-venv/bin/python -m pip install --quiet pip-audit
	.lock-venv/bin/pip-audit --strict --requirement requirements.lock --no-deps --disable-pip || \
	  { echo "A locked package has a known vulnerability, or PyPI did not answer for it, see above" >&2; exit 1; }
	rm -rf .lock-venv

# The locks of results stay: they are in git.
clean:
	rm -rf $(VENV) figures logs .snakemake
	find results -mindepth 1 -maxdepth 1 ! -name 'reference*' -exec rm -rf {} +
