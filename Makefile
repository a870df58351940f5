# Two commands are enough: `make demo` and `make test`. Both set themselves up on a machine with Python 3.11, make and git.

PYTHON ?= python3.11
ifeq ($(shell command -v $(PYTHON)),)
PYTHON := python3
endif
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Real data for tests and benchmarks; they skip with a reason where it is absent.
export ASSAY_DATA ?= $(wildcard ../shared/data)

.PHONY: demo test lint bench receipts eval-hybrid serve-hybrid docs model requirements clean help

help: ## What this Makefile can do
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

demo: $(VENV)/.installed model ## Index the shipped sample, ask, explain
	@$(BIN)/python examples/demo.py

test: lint model ## Lint, types, import law, docs checks, then every test
	ASSAY_REQUIRE_POSTGRES=1 $(BIN)/pytest -n 2 --dist loadgroup

lint: $(VENV)/.installed ## Style, types, import law, generated docs in step
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.docs.cli_reference docs/reference --check
	$(BIN)/python -m tools.docs.mcp_reference docs/mcp.md --check
	$(BIN)/python -m tools.docs.check

docs: $(VENV)/.installed ## Write the generated references anew
	$(BIN)/python -m tools.docs.cli_reference docs/reference
	$(BIN)/python -m tools.docs.mcp_reference docs/mcp.md
	$(BIN)/python -m tools.docs.numbers_from_receipts
	$(BIN)/python -m tools.docs.pictures_from_receipts

bench: $(VENV)/.installed model ## Search and ingest, compared in one run; writes receipts/ (needs ASSAY_DATA)
	$(BIN)/python -m benchmarks.search --lance
	$(BIN)/python -m benchmarks.ingest

receipts: $(VENV)/.installed model ## The lab on every real set; writes receipts/lab (needs ASSAY_DATA)
	$(BIN)/python -m benchmarks.lab

# A bank of your own: make eval-hybrid BANK=bank.npz VAL=sequences.npz; without, one with planted next vectors is made.
EVALS := artifacts/evals
eval-hybrid: $(VENV)/.installed ## The cascade's grid (specification 001); writes artifacts/evals
	$(BIN)/python tools/eval_hybrid.py $(if $(BANK),--bank $(BANK)) $(if $(VAL),--val $(VAL)) \
	  --k0 100 200 500 1000 --lambda 0.6 0.7 0.8 --nprobe 8 16 --k1 50 --k 5 10 --out $(EVALS)/hybrid_grid.json

# Serves what make eval-hybrid made last; with BANK= (and VAL=) as there, or with INDEX= and MODEL= of your own.
serve-hybrid: $(VENV)/.installed ## The cascade over HTTP on port 8088; make eval-hybrid first, or BANK= INDEX= MODEL=
	$(BIN)/assay serve-hybrid --bank $(or $(BANK),$(EVALS)/planted/bank.npz) --index $(or $(INDEX),$(EVALS)/eval_index) \
	  --model $(or $(MODEL),$(EVALS)/eval_lvm) --val $(or $(VAL),$(dir $(or $(BANK),$(EVALS)/planted/bank.npz))sequences.npz) \
	  --address 127.0.0.1:8088

model: $(VENV)/.installed ## The local embedding model, fetched once and checked by hash
	@$(BIN)/assay model install --if-missing

$(VENV)/.installed: pyproject.toml requirements/dev.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes -r requirements/dev.txt
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

requirements: ## Pin everything anew (hashes, no index address)
	$(BIN)/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --no-emit-index-url --no-emit-trusted-host \
	  --no-emit-find-links --no-annotate --extra all --output-file requirements/dev.txt pyproject.toml requirements/dev.in

clean: ## Forget the virtual environment and caches
	rm -rf $(VENV) .demo .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
