# Two commands do everything on a fresh machine with Python 3.11 or newer: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The bundled synthetic corpus has a home of its own; `make ui LUNGUAGE_HOME=.lunguage` opens another one.
LUNGUAGE_HOME ?= .lunguage-sample
REPORTS ?= 800
SEED ?= 0
PORT ?= 3000

.PHONY: run test ui lint lock clean

run: $(VENV)/installed
	$(BIN)/lunguage sample --reports $(REPORTS) --seed $(SEED) --out $(LUNGUAGE_HOME)/delivery
	$(BIN)/lunguage run --home $(LUNGUAGE_HOME) --data $(LUNGUAGE_HOME)/delivery --batch sample

ui: $(VENV)/installed
	$(BIN)/lunguage ui --home $(LUNGUAGE_HOME) --port $(PORT)

test: $(VENV)/installed-dev
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/installed: pyproject.toml requirements.lock
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	touch $@

# For maintainers: renew both lock files (needs uv on the PATH). They name no index host.
UV_LOCK := uv pip compile --universal --no-strip-extras --generate-hashes --no-emit-index-url --no-header --python-version 3.11
lock:
	$(UV_LOCK) --extra build pyproject.toml -o requirements.lock
	$(UV_LOCK) --extra build --extra dev -c requirements.lock pyproject.toml -o requirements-dev.lock

clean:
	rm -rf $(VENV) .lunguage-sample .pytest_cache .ruff_cache .mypy_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
