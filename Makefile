# MrPrism: `make run` and `make test` are the two that matter.

COMMIT := $(shell git rev-parse --short=7 HEAD 2>/dev/null || echo unknown)
# The tag v1.2.3 is version 1.2.3. Other commits have the version 0.0.DATE.
VERSION := $(patsubst v%,%,$(shell git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null || TZ=UTC0 git log -1 --date=format-local:%Y%m%d --format=0.0.%cd 2>/dev/null || echo unknown))
STAMP := -X mrprism/internal/program/version.built=$(VERSION)+$(COMMIT)
ADDRESS ?= 127.0.0.1:8080
# cmd/batch and cmd/study are modules of their own, with Apache Beam and with the study; bundle runs from the source.
TARGETS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
PROGRAMS := $(filter-out batch bundle study,$(notdir $(wildcard cmd/*)))

# Two packages at a time, the longest first: one alone leaves half of two cores idle. No package may take longer than TIMEOUT.
# `make test` has vetted them before.
TIMEOUT ?= 45m
TESTFLAGS ?= -p 2 -vet=off -short -timeout $(TIMEOUT)
SOURCES := *.go cmd internal model shaders site wasm weights
LONGEST := ./site ./internal/train ./shaders/conv ./shaders/attention ./cmd/train ./cmd/bench ./model

.DEFAULT_GOAL := help
include site/site.mk

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 20

.PHONY: run
run: build ## build the page and every program, and serve the page at http://127.0.0.1:8080/
	@exec build/serve -addr $(ADDRESS)

.PHONY: test
test: setup ## all tests; as root on Debian, installs what they need first
	@[ -n "$$MRPRISM_DAWN_LIB" ] || shaders/gpu/dawn/fetch.sh || echo "make test: no Dawn library: tests on device dawn are skipped"
	@$(MAKE) --no-print-directory size lint
	@test -z "$$(gofmt -l $(SOURCES))" || { echo "gofmt -l:"; gofmt -l $(SOURCES); exit 1; }
	go vet ./...
	GOOS=js GOARCH=wasm go vet -trimpath ./wasm/... ./shaders/gpu/... ./shaders/vector
	GOOS=js GOARCH=wasm go vet -trimpath -tags simd128 ./shaders/vector
	@echo "devices here; tests on one that is missing are skipped (with CI=true: fail):"
	@go run ./cmd/bench devices
	go test $(TESTFLAGS) $(LONGEST) ./...
	for module in batch study; do (cd cmd/$$module && go vet ./... && go test -short -vet=off -timeout $(TIMEOUT) ./...) || exit 1; done

.PHONY: test-long
test-long: size ## the soaks too, before a release: half an hour; .ci/long says how it ended
	@.ci/setup long
	(go test -p 2 -vet=off -timeout 5h $(LONGEST) ./... && go test -C cmd/batch -vet=off ./... && go test -C cmd/study -vet=off -timeout 5h ./...) && result=passed || result=failed; \
	echo "$$(date -u +%F) $(COMMIT) $$result, $$(nproc) cores" >.ci/long; test $$result = passed

.PHONY: build
build: site ## every program, in build/
	@mkdir -p build
	CGO_ENABLED=0 go build -ldflags "$(STAMP)" -o build/serve ./cmd/serve
	go build -ldflags "$(STAMP)" -o build/ $(patsubst %,./cmd/%,$(filter-out serve,$(PROGRAMS)))
	go build -C cmd/study -ldflags "$(STAMP)" -o ../../build/ ./evaluate

site: ## the page, in site/dist
lint: ## the form of all JavaScript: prettier and eslint, which npm installs
npm: ## the package for other people's pages and Node, build/mrprism-VERSION.tgz; site/npm/README.md
.PHONY: states
size: ## the page's download sizes; fails above 5.39 MB of programs (gzip), 7 MB a model or 12.79 MB before the first result

states: site ## pictures of the page's states at four sizes, light and dark, in build/states
	MRPRISM_SCREENSHOTS=$(CURDIR)/build/states go test ./site -count 1 -timeout $(TIMEOUT) -run 'TestCalmPage|TestTour|TestReadingStudy$$|TestCourse$$|TestScreenshots$$|TestAxeOf'

PREFIX ?= /usr/local
BUILT ?= build
INSTALLED = $(wildcard $(patsubst %,$(BUILT)/%,$(PROGRAMS) evaluate))
.PHONY: install
install: ## what make build built, as mrprism-NAME, with manual pages and completions, in PREFIX (/usr/local)
	@[ -n "$(INSTALLED)" ] || { echo "make install: nothing is built; call make build before"; exit 1; }
	go run ./internal/release $(VERSION) $$(date -u +%F) $(BUILT)/share $(INSTALLED)
	@set -e; cd $(BUILT)/share; to=$(abspath $(DESTDIR)$(PREFIX)); \
	install -d $$to/bin $$to/share/man/man1 $$to/share/bash-completion/completions $$to/share/zsh/site-functions $$to/share/fish/vendor_completions.d; \
	for program in $(notdir $(INSTALLED)); do install ../$$program $$to/bin/mrprism-$$program; done; \
	install -m644 man/* $$to/share/man/man1; \
	install -m644 completions/bash/* $$to/share/bash-completion/completions; \
	install -m644 completions/zsh/* $$to/share/zsh/site-functions; \
	install -m644 completions/fish/* $$to/share/fish/vendor_completions.d

.PHONY: wheel
wheel: ## Python's package with program segment, for each system or those of TARGETS, in build
	@mkdir -p build/wheel
	for target in $(TARGETS); do CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} go build -trimpath -ldflags="-s -w $(STAMP)" -o build/wheel/segment ./cmd/segment && \
		python3 internal/release/wheel.py $(VERSION) $$target build/wheel/segment LICENSE build || exit 1; done

.PHONY: image
image: site ## a container image of serve alone, by docker or podman; cmd/serve/CDN.md says how to run it
	@mkdir -p build/image
	CGO_ENABLED=0 GOOS=linux go build -trimpath -ldflags="-s -w $(STAMP)" -o build/image/serve ./cmd/serve
	cp cmd/serve/Dockerfile build/image/
	@cmd/serve/image.sh build/image mrprism/serve:$(COMMIT)

.PHONY: batch
batch: ## the pipeline for very many images, build/batch; downloads Apache Beam
	@mkdir -p build
	cd cmd/batch && go build -ldflags "$(STAMP)" -o ../../build/ .

.PHONY: mpi
mpi: ## build/train-mpi, which trains over several GPUs or machines; needs Open MPI's headers (cmd/train/CLUSTER.md)
	@mkdir -p build
	go build -tags mpi -ldflags "$(STAMP)" -o build/train-mpi ./cmd/train

.PHONY: release
release: ## a release of this commit for all systems, in build/release; internal/release/RELEASE.md
	@internal/release/release.sh $(VERSION) $(COMMIT) $(CURDIR)/build/release

.PHONY: proxy
proxy: ## build/proxy: this commit as the Go module MODULE=HOST/PATH, for GOPROXY=file://…/build/proxy
	@internal/release/module.sh "$(MODULE)" v$(VERSION) $(CURDIR)/build/proxy

.PHONY: release-check
release-check: ## make release in two clones, and compare every byte: half an hour
	@internal/release/check.sh

.PHONY: dawn
dawn: ## fetch the pinned Dawn library, the default of train and segment, into the user's cache folder
	shaders/gpu/dawn/fetch.sh

.PHONY: setup
setup: ## what the tests need beside Go: installed as root on Debian, named elsewhere
	@.ci/setup

.PHONY: weights
weights: ## write weights/manifest.json anew from weights/shipped
	go generate ./weights

.PHONY: tables
tables: build ## train the methods of the paper's tables and write weights/shipped/tables: days on one core, resumable (ARGS="-match brain -seeds 1")
	go build -C cmd/study -o ../../build/ ./tables
	build/tables $(ARGS)

.PHONY: bench
bench: build ## time the compact network here; make bench ARGS="-browser" in Chromium
	build/bench $(ARGS)

.PHONY: bench-peers
bench-peers: build peers ## ours beside ONNX Runtime, natively and in Chromium: minutes, and the last hours on software adapters
	go build -C cmd/study -o ../../build/bench-peers ./peers
	for device in dawn processor; do for config in paper compact; do build/bench-peers build/peers -device $$device -config $$config $(ARGS) || exit 1; done; done
	build/bench-peers build/peers -config compact -browser -n 3 $(ARGS)
	build/bench-peers build/peers -config paper -browser -n 1 $(ARGS)

.PHONY: peers
peers: build/peers/node_modules ## install ONNX Runtime with npm, in build/peers, for bench-peers and the tests of cmd/export

build/peers/node_modules: cmd/study/peers/package-lock.json
	@mkdir -p build/peers
	cp cmd/study/peers/package.json cmd/study/peers/package-lock.json build/peers
	cd build/peers && npm ci --ignore-scripts --no-audit --no-fund
	@touch $@

.PHONY: clean
clean: ## delete what was built (not runs)
	rm -rf build
	find site/dist -type f ! -name .keep -delete
