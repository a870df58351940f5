# `make demo` and `make test` install everything they need; they require Python 3.11, make and git.

PYTHON ?= python3.11
ifeq ($(shell command -v $(PYTHON)),)
PYTHON := python3
endif
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Real datasets for tests and benchmarks; tests that need one are skipped without it.
export ASSAY_DATA ?= $(wildcard ../shared/data)

.PHONY: demo test lint bench torture receipts replay eval-hybrid serve-hybrid docs model requirements audit clean help

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: $(VENV)/.installed model ## Index the sample handbook, search it, explain the answer
	@$(BIN)/python examples/demo.py

# The tests of the workbench need Chromium: root installs Debian's package, others skip them (ASSAY_REQUIRE_CHROMIUM=1: fail).
test: lint model ## Lint, types, import law, docs checks, then every test
	@$(BIN)/python -m assay.testing.chromium
	ASSAY_REQUIRE_POSTGRES=1 ASSAY_REQUIRE_QDRANT=1 $(BIN)/pytest -n 2 --dist loadgroup

lint: $(VENV)/.installed ## Style, types, import law, generated docs up to date
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.docs.cli_reference docs/reference --check
	$(BIN)/python -m tools.docs.mcp_reference docs/mcp.md --check
	$(BIN)/python -m tools.docs.api_reference docs/api.md --check
	$(BIN)/python -m tools.docs.check

docs: $(VENV)/.installed ## Regenerate references, number blocks and pictures
	$(BIN)/python -m tools.docs.cli_reference docs/reference
	$(BIN)/python -m tools.docs.mcp_reference docs/mcp.md
	$(BIN)/python -m tools.docs.api_reference docs/api.md
	$(BIN)/python -m tools.docs.numbers_from_receipts
	$(BIN)/python -m tools.docs.pictures_from_receipts

bench: $(VENV)/.installed model ## Measure search and ingest speed; writes receipts/ (needs ASSAY_DATA)
	$(BIN)/python -m benchmarks.search --lance
	$(BIN)/python -m benchmarks.ingest

# It ends by itself after 50 minutes, and the next run goes on with the trials that are left: make torture ARGS="kill --minutes 90"
torture: $(VENV)/.installed model ## Try to break the package (under an hour); writes receipts/torture
	$(BIN)/python -m benchmarks.torture $(ARGS)

receipts: $(VENV)/.installed model ## Run the lab on every real dataset; writes receipts/lab (needs ASSAY_DATA)
	$(BIN)/python -m benchmarks.lab

# Options: make replay ARGS="receipts/lab --systems bm25,dense"
replay: $(VENV)/.installed model ## Run every committed receipt again and compare; takes hours (needs ASSAY_DATA)
	$(BIN)/python -m tools.replay_receipts $(ARGS)

# With your own bank: make eval-hybrid BANK=bank.npz VAL=sequences.npz. Without one, a bank with planted next vectors is built.
EVALS := artifacts/evals
eval-hybrid: $(VENV)/.installed ## Run the grid of the vector cascade; writes artifacts/evals
	$(BIN)/python tools/eval_hybrid.py $(if $(BANK),--bank $(BANK)) $(if $(VAL),--val $(VAL)) \
	  --k0 100 200 500 1000 --lambda 0.6 0.7 0.8 --nprobe 8 16 --k1 50 --k 5 10 --out $(EVALS)/hybrid_grid.json

# Serves what the last make eval-hybrid wrote; BANK= and VAL= as there, or INDEX= and MODEL= of your own.
serve-hybrid: $(VENV)/.installed ## Serve the vector cascade over HTTP on port 8088; needs make eval-hybrid, or BANK= INDEX= MODEL=
	$(BIN)/assay serve-hybrid --bank $(or $(BANK),$(EVALS)/planted/bank.npz) --index $(or $(INDEX),$(EVALS)/eval_index) \
	  --model $(or $(MODEL),$(EVALS)/eval_lvm) --val $(or $(VAL),$(dir $(or $(BANK),$(EVALS)/planted/bank.npz))sequences.npz) \
	  --address 127.0.0.1:8088

model: $(VENV)/.installed ## Install the local embedding model, checked by hash
	@$(BIN)/assay model install --if-missing

$(VENV)/.installed: pyproject.toml requirements/dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements/dev.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

requirements: ## Pin all dependencies with hashes, without the address of an index
	$(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --no-strip-extras --no-emit-index-url --no-emit-trusted-host \
	  --no-emit-find-links --no-annotate --extra all --output-file requirements/dev.txt pyproject.toml requirements/dev.in

AUDIT := artifacts/audit
audit: ## Bandit, a bill of materials, and known vulnerabilities of the pinned packages (the last needs the network)
	@test -x $(AUDIT)/bin/bandit || { $(PYTHON) -m venv $(AUDIT) && $(AUDIT)/bin/pip install --quiet bandit pip-audit cyclonedx-bom; }
	$(AUDIT)/bin/bandit -q -r assay -f json | $(PYTHON) -m tools.check_bandit
	$(AUDIT)/bin/cyclonedx-py requirements requirements/dev.txt --of JSON -o artifacts/sbom.json
	$(AUDIT)/bin/pip-audit --disable-pip --require-hashes -r requirements/dev.txt -f json 2>/dev/null | $(PYTHON) -m tools.check_pip_audit

clean: ## Remove the virtual environment and caches
	rm -rf $(VENV) .demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
