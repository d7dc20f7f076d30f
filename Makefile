# Both `make demo` and `make test` set themselves up on a fresh machine: a virtual environment in
# .venv with the three packages installed editable and, as root on Debian, the system packages of apt/*.txt.
# A second run only checks; it installs again when a pyproject.toml has changed.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A stamp holds the folder it was made for: an editable install does not survive a move.
DEMO_STAMP := $(VENV)/.installed-demo
TEST_STAMP := $(VENV)/.installed-test
RECENT := import sys; sys.exit(sys.version_info < (3, 11))
PROJECTS := packages/trocar/pyproject.toml packages/trocar-learning/pyproject.toml packages/trocar-reproductions/pyproject.toml
DEMO_PACKAGES := -e 'packages/trocar[view,bags]' -e packages/trocar-learning -e packages/trocar-reproductions
TEST_PACKAGES := -e 'packages/trocar[view,bags,ros2,sweep,teleop,vr,symbolic]' -e packages/trocar-learning \
  -e 'packages/trocar-reproductions[zmq]' -r requirements-test.txt
UV := $(shell command -v uv 2>/dev/null)

ifneq ($(UV),)
  INSTALL := uv pip install --quiet --python $(BIN)/python
else
  # -qq: errors only.
  INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check
endif

.DEFAULT_GOAL := help
.PHONY: bench-history identification-loop site help demo results quick test fuzz fuzz-all fuzz-interfaces soak soak-ros2 boards gazebo gpu learn-gpu check-dds check-envs check-lerobot killed-recordings learn coppelia docs docs-links release-check sbom lock clean venv apt-demo apt-test

help:
	@echo 'make demo    set up, then run trocar demo (results in trocar-demo/)'
	@echo 'make results fetch the data, reproduce all publications, rewrite the results in docs/reproductions.md'
	@echo 'make test    set up, then run every check: ruff, mypy, import-linter, pytest'
	@echo 'make quick   the same checks, and the fast tests of the rooms that your change reaches; ALL=1: of all rooms'
	@echo 'make fuzz    set up, then send ROUNDS (default: 5000) random inputs to every interface, new ones in every run'
	@echo 'make fuzz-all  run every fuzz test, or those with DOOR in their names, up to INPUTS (200000); resumes'
	@echo 'make fuzz-interfaces  send INPUTS (200000) to every interface, divided evenly between its fuzz tests; resumes'
	@echo 'make soak    run arms and cart for HOURS (default: 24) of simulated time, arms freely for FREE (1) hours and a'
	@echo '             live page for PAGE (60) seconds, in pieces; report in build/soak'
	@echo 'make soak-ros2  send random commands in ROS 2 to a served robot for MINUTES (60): alive, no growth'
	@echo 'make boards  home and move ARMS (default: PSM1) through simulated controller boards for MINUTES (default: 10)'
	@echo 'make learn-gpu  learn NeedlePick and PegLift, or TASK, by cloning and PPO on an NVIDIA GPU with SEEDS (0 1);'
	@echo '             results in build/learn-gpu'
	@echo 'make gazebo  run the exported models in Gazebo Classic (root on Debian; installs 2.7 GB in build/gazebo)'
	@echo 'make bench-history  run trocar bench, add its ratios to a history outside the repository, name what got slower'
	@echo 'make gpu     test and time the CUDA and Warp backends of trocar.batch (needs an NVIDIA GPU)'
	@echo 'make docs    build the documentation site in build/docs, examples run; warnings are errors'
	@echo 'make site    build the arms in a browser tab, static files in build/site (needs node and npm)'
	@echo 'make docs-links  check the external links of the documentation'
	@echo 'make release-check  build sdist and wheel, install them elsewhere with all extras, run the demo there; with'
	@echo '             every Python from 3.11 to 3.13 on this machine. RELEASE=--help lists options'
	@echo 'make sbom    write the software bill of materials, build/sbom.json (CycloneDX)'
	@echo 'make lock    resolve all extras again and write requirements.lock'
	@echo 'make check-dds  exchange messages with a client on Fast DDS, another vendor of DDS (apt/dds.txt)'
	@echo 'make check-lerobot  record 20 episodes with stereo as LeRobot v3.0 and v2.1, load them with lerobot, train a policy,'
	@echo '             score it, record it, run it in the EnvHub file; record the dVRK with lerobot, in process and over ROS 2'
	@echo 'make killed-recordings  kill a recording with two processes and stereo films three times, resume it, compare all files'
	@echo 'make check-envs  run the checkers of Gymnasium and Stable-Baselines3 on every task, and hindsight replay on one'
	@echo 'make learn   train the policies of examples/policies with SEEDS (0 1), draw their curves, in build/learn'
	@echo 'make coppelia  run all tasks of Ferro et al. 2022 as a client of trocar serve coppelia, compare with the logs'
	@echo 'make clean   remove .venv, caches and results'

demo: apt-demo $(DEMO_STAMP)
	$(BIN)/trocar demo

# Claims that fail make the first command exit with 1; the table says so.
results: $(DEMO_STAMP)
	@mkdir -p build
	$(BIN)/trocar fetch
	-$(BIN)/trocar reproduce --json build/claims.json
	$(BIN)/python -m tools.results_pages build/claims.json

# Two workers per core: tests of sockets and pages mostly wait for other processes.
WORKERS ?= $(shell expr 2 \* $$(nproc 2>/dev/null || echo 2))

# The tools run as modules of the environment's own Python, so no other copy on the PATH can answer.
test: apt-test $(TEST_STAMP)
	$(BIN)/python -m ruff check
	$(BIN)/python -m ruff format --check
	$(BIN)/python -m mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup

# The rooms that uncommitted changes reach, or changes since BASE; ALL=1: all rooms. Without tests that are slow, or need
# sockets, a browser, random inputs or a GPU.
BASE ?= HEAD
QUICK := not slow and not net and not browser and not fuzz and not gpu
quick: $(TEST_STAMP)
	$(BIN)/python -m ruff check -q
	$(BIN)/python -m ruff format --check -q
	$(BIN)/lint-imports --no-logo
	$(BIN)/dmypy run -- --follow-imports=normal
	@folders="$(if $(ALL),packages tests,$$($(BIN)/python -m tools.affected $(BASE)))"; \
	  if [ -z "$$folders" ]; then echo 'no room is reached by the change'; else \
	  echo "$$folders" | tr '\n' ' '; echo; \
	  $(BIN)/python -m pytest -q -n auto --dist loadgroup -m '$(QUICK)' $$folders || [ $$? = 5 ]; fi

# A run that fails prints its seed: make fuzz SEED=...
ROUNDS ?= 5000
FUZZ = $(wildcard tests/test_*fuzz.py packages/*/tests/test_*fuzz.py packages/*/tests/*/test_*fuzz.py)
SEED ?= $(shell date +%s)
fuzz: apt-test $(TEST_STAMP)
	@echo 'SEED=$(SEED)'
	TROCAR_FUZZ=$(ROUNDS) TROCAR_FUZZ_SEED=$(SEED) $(BIN)/python -m pytest -q -s $(FUZZ)

# Resumes the last run, for hours: make fuzz-all DOOR=codec INPUTS=200000
DOOR ?=
INPUTS ?= 200000
fuzz-all: apt-test $(TEST_STAMP)
	$(BIN)/python -m tools.fuzz --rounds $(INPUTS) --seed $(SEED) --only '$(DOOR)' -o build/fuzz

# Resumes the last run, for about two hours of a processor.
fuzz-interfaces: apt-test $(TEST_STAMP)
	$(BIN)/python -m tools.fuzz --per-interface --rounds $(INPUTS) --seed $(SEED) --only '$(DOOR)' -o build/fuzz-interfaces

# Resumes the last run: make soak HOURS=24 FREE=1 PAGE=600
HOURS ?= 24
FREE ?= 1
PAGE ?= 60
soak: $(TEST_STAMP)
	$(BIN)/python -m tools.soak --hours $(HOURS) --free $(FREE) --page $(PAGE) -o build/soak

# On a quiet machine; the history is in $$TROCAR_BENCH_HISTORY or the user's folder of states
bench-history: $(DEMO_STAMP)
	@mkdir -p build
	$(BIN)/trocar bench --json build/bench.json
	$(BIN)/python -m tools.bench_history build/bench.json

# excite, play on the simulated robot and identify three arms; errors on the recording and on the rehearsal
identification-loop: $(TEST_STAMP)
	for arm in PSM MTMR ECM; do folder=build/loop/$$arm; \
	  $(BIN)/trocar excite --arm $$arm --starts 1 --periods 2 -o $$folder && \
	  $(BIN)/trocar run --scene $$arm --speed fast $$folder/play.py --arm $$arm --output $$folder/measured.csv && \
	  $(BIN)/trocar identify $$folder/measured.csv --arm $$arm -o $$folder/mine.toml && \
	  $(BIN)/trocar identify $$folder/rehearsal.npz --arm $$arm || exit 1; done

soak-ros2: MINUTES := $(or $(MINUTES),60)
soak-ros2: $(TEST_STAMP)
	$(BIN)/python -m tools.soak --hours 0 --free 0 --page 0 --ros2 $(MINUTES) --seed $(SEED) -o build/soak-ros2

ARMS ?= PSM1
boards: MINUTES := $(or $(MINUTES),10)
boards: $(TEST_STAMP)
	@mkdir -p build && rm -rf build/trocar-fpga
	cd build && { ../$(BIN)/trocar serve boards --arms $(ARMS) & server=$$!; \
	for _ in $$(seq 60); do [ -e trocar-fpga/system-*.json ] && break; sleep 1; done; sleep 3; \
	PYTHONPATH=.. ../$(BIN)/python -m tools.boards trocar-fpga/system-*.json --minutes $(MINUTES) --priority \
	--server $$server; status=$$?; kill -TERM $$server; wait $$server; exit $$status; }

gazebo: $(TEST_STAMP)
	@command -v mmdebstrap > /dev/null || { [ "$$(id -u)" = 0 ] && apt-get install -y -qq mmdebstrap; } || \
	  { echo 'make gazebo needs root and the Debian package mmdebstrap'; exit 1; }
	$(BIN)/python -m tools.gazebo

# Where Pinocchio and MuJoCo are missing: python -m pytest --noconftest packages/trocar/tests/batch/test_batch_cuda.py
gpu: $(TEST_STAMP)
	@$(INSTALL) -e 'packages/trocar[batch,gpu]'
	$(BIN)/python -m pytest -q -rs packages/trocar/tests/batch/test_batch_cuda.py
	TROCAR_WARP_TESTS=1 $(BIN)/python -m pytest -q -rs packages/trocar/tests/batch/test_scene_batch.py \
	  packages/trocar/tests/laws/test_laws_on_warp.py packages/trocar-learning/tests/envs/test_worlds.py
	$(BIN)/trocar bench batch --gpu
	$(BIN)/python -m tools.bench gpu

# In an environment of its own, since torch is large and no part of the tests, unless .venv has Stable-Baselines3.
check-envs: $(TEST_STAMP)
	@if $(BIN)/python -c 'import stable_baselines3' 2>/dev/null; then python=$(BIN)/python; else \
	  $(BIN)/python -m venv build/check-envs && python=build/check-envs/bin/python && \
	  $$python -m pip install -qq -e packages/trocar -e packages/trocar-learning stable-baselines3 || exit 1; fi; $$python -m tools.check_envs

# One thread; finished runs are kept, the expert's episodes continue: make learn SEEDS=0 TASK=reach
SEEDS ?= 0 1
TASK ?=
learn: $(TEST_STAMP)
	@$(INSTALL) -e packages/trocar -e 'packages/trocar-learning[learn]'
	OMP_NUM_THREADS=1 $(BIN)/python -m tools.learn $(TASK) --seeds $(SEEDS) -o build/learn

# Starts are drawn once: make learn-gpu TASK=PegLift SEEDS=2
learn-gpu: $(TEST_STAMP)
	@$(INSTALL) -e 'packages/trocar[gpu]' -e packages/trocar-learning torch tensordict rsl-rl-lib
	@mkdir -p build/learn-gpu
	for task in $(or $(TASK),NeedlePick PegLift); do folder=build/learn-gpu/$$task; \
	  [ -e $$folder.pickle ] || $(BIN)/python -m tools.worlds.starts $$folder.pickle $$task || exit 1; \
	  for seed in $(SEEDS); do $(BIN)/python -m tools.worlds.learn $$folder.pickle $$folder --seed $$seed || exit 1; done; \
	  $(BIN)/python -m tools.worlds.figure $$folder.png $$task $$folder/curve_*.json || exit 1; done

# RUN=--no-run skips running the examples of the gallery.
RUN ?=
docs: apt-demo $(DEMO_STAMP)
	@$(INSTALL) $(DEMO_PACKAGES) -e 'packages/trocar[docs,sweep]'
	$(BIN)/python -m tools.docs_pages $(RUN)
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs
	@echo 'open build/docs/index.html'

# Static files for any host; open them through one, such as python -m http.server -d build/site.
site: $(DEMO_STAMP)
	@command -v npm > /dev/null || { echo 'make site needs node 20 and npm: apt install nodejs npm'; exit 1; }
	$(BIN)/python -m tools.site
	cd site && npm ci --no-audit --no-fund --loglevel=error && npm run --silent check && npm run --silent build -- --out ../build/site
	@du -sh build/site

docs-links: docs
	$(BIN)/python -m sphinx -q -b linkcheck docs build/docs-links

release-check: apt-demo $(DEMO_STAMP)
	@$(INSTALL) build
	$(BIN)/python -m tools.release_check $(RELEASE)

# The software bill of materials of this environment, CycloneDX.
sbom: $(DEMO_STAMP)
	@mkdir -p build
	@$(INSTALL) cyclonedx-bom
	$(BIN)/python -m cyclonedx_py environment --pyproject packages/trocar/pyproject.toml --mc-type library --output-reproducible \
	  -o build/sbom.json $(BIN)/python
	@echo 'build/sbom.json'

lock: $(DEMO_STAMP)
	$(BIN)/python -m tools.lock_file

# Skipped, with the reason, where Fast DDS is not installed.
coppelia: $(TEST_STAMP)
	$(BIN)/python -m tools.coppelia

check-dds: $(TEST_STAMP)
	@sh apt/install.sh apt/dds.txt
	TROCAR_CHECK_DDS=1 $(BIN)/python -m pytest -q -rs packages/trocar/tests/transports/test_dds_vendors.py

# An environment of its own: lerobot needs other versions of NumPy and torch (2 GB).
LEROBOT := build/lerobot
check-lerobot: $(TEST_STAMP) $(LEROBOT)/.installed
	@rm -rf build/lerobot-check
	$(BIN)/python -m tools.lerobot_check build/lerobot-check $(LEROBOT)/bin/python

killed-recordings: $(TEST_STAMP)
	$(BIN)/python -m tools.killed_recordings

$(LEROBOT)/.installed: tools/lerobot_check/requirements.txt
	$(BIN)/python -m venv $(LEROBOT)
	$(LEROBOT)/bin/python -m pip install -qq --disable-pip-version-check -r tools/lerobot_check/requirements.txt
	$(LEROBOT)/bin/python -m pip install -qq --disable-pip-version-check -e 'packages/trocar[ros2]' -e packages/trocar-learning 'numpy<2.4'
	$(LEROBOT)/bin/python -m pip install -qq --disable-pip-version-check --no-deps lerobot==0.4.4 robomimic==0.3.0
	@touch $@

$(DEMO_STAMP): $(PROJECTS) | venv
	@echo 'Installing trocar into $(VENV) (the first time takes a few minutes)'
	@$(INSTALL) $(DEMO_PACKAGES)
	@echo '$(CURDIR)' > $@

$(TEST_STAMP): $(PROJECTS) requirements-test.txt | venv
	@echo 'Installing trocar and its test tools into $(VENV) (the first time takes a few minutes)'
	@$(INSTALL) $(TEST_PACKAGES)
	@echo '$(CURDIR)' | tee $(DEMO_STAMP) > $@

apt-demo:
	@sh apt/install.sh apt/demo.txt

apt-test:
	@sh apt/install.sh apt/demo.txt apt/test.txt

# Creates the environment if it is missing, otherwise reports what is wrong with it.
venv:
	@[ -e $(VENV) ] || $(MAKE) --no-print-directory $(VENV)/pyvenv.cfg
	@$(BIN)/python -c '$(RECENT)' 2>/dev/null || { \
	  echo 'error: the Python in $(VENV) does not run or is older than 3.11.' \
	    'Remove it with "make clean" and run this again.' >&2; exit 1; }
	@[ -n '$(UV)' ] || $(BIN)/python -c 'import pip' 2>/dev/null || { \
	  echo 'error: $(VENV) has no pip (an interrupted set-up, or made by uv, which is not on the PATH now).' \
	    'Remove it with "make clean" and run this again.' >&2; exit 1; }
	@for stamp in $(DEMO_STAMP) $(TEST_STAMP); do \
	  [ ! -e $$stamp ] || [ "$$(cat $$stamp)" = '$(CURDIR)' ] || { \
	    echo "error: $(VENV) was made for $$(cat $$stamp), not for $(CURDIR)." \
	      'Remove it with "make clean" and run this again.' >&2; exit 1; }; \
	done

ifneq ($(UV),)
$(VENV)/pyvenv.cfg:
	@uv venv --quiet --seed --python '>=3.11' $(VENV)
else
# Debian has venv in a separate package; without it ensurepip is missing.
$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || sh apt/install.sh apt/python.txt
	@$(PYTHON) -c '$(RECENT)' 2>/dev/null || { \
	  echo 'error: trocar needs Python 3.11 or newer; $(PYTHON) is' \
	    "$$($(PYTHON) --version 2>/dev/null || echo missing)." \
	    'Name another one: make PYTHON=python3.12 ...' >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	  echo 'error: $(PYTHON) -m venv failed; on Debian and Ubuntu install python3-venv.' >&2; exit 1; }
endif

clean:
	rm -rf $(VENV) trocar-demo trocar-sim trocar-excite trocar-fpga trocar-scene trocar-score build dist
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	find packages tests -name __pycache__ -type d -prune -exec rm -rf {} +
