# The page: WebAssembly programs, sample, bundle. Included by the Makefile at the top.
BROTLI ?= 10
WASM_FLAGS := -trimpath -ldflags="-s -w"
SEGMENTER_FLAGS := -trimpath -ldflags="-s -w $(STAMP)" -tags simd128

CODECS := build/codecs/node_modules/@cornerstonejs

.PHONY: site size npm
site: site/programs site/decoders
	go run ./cmd/bundle -quality $(BROTLI) -commit $(COMMIT)

size: site/programs site/decoders
	go run ./cmd/bundle -quality $(BROTLI) -commit $(COMMIT) -size

npm: site/programs site/decoders
	@mkdir -p build
	go run ./cmd/bundle -quality $(BROTLI) -commit $(COMMIT) build/mrprism-$(VERSION:unknown=0.0.0).tgz

# The form of all JavaScript: prettier's layout, and eslint's finds. Without npm, or without a network, it is not checked.
SCRIPTS = $(shell git ls-files '*.js' '*.mjs')

.PHONY: lint
lint: site/lint/package-lock.json
	@mkdir -p build/lint
	@cmp -s site/lint/package-lock.json build/lint/package-lock.json && [ -d build/lint/node_modules ] || { \
		cp site/lint/package.json build/lint && rm -rf build/lint/node_modules && cp site/lint/package-lock.json build/lint/ && \
		cd build/lint && npm ci --ignore-scripts --no-audit --no-fund || { rm -rf node_modules; echo "make lint: npm did not install prettier and eslint"; }; }
	@cp site/lint/eslint.config.mjs build/lint
	@echo module lint >build/lint/go.mod # a package there has Go, which is not ours
	@if [ -d build/lint/node_modules ]; then \
		build/lint/node_modules/.bin/prettier --config site/lint/prettier.json --log-level warn --check $(SCRIPTS) && \
		build/lint/node_modules/.bin/eslint --config build/lint/eslint.config.mjs $(SCRIPTS); \
	else [ "$$CI" != true ]; fi

.PHONY: site/programs
site/programs:
	@mkdir -p site/dist
	GOOS=js GOARCH=wasm go build $(WASM_FLAGS) -o site/dist/viewer.wasm ./wasm/viewer
	GOOS=js GOARCH=wasm go build $(SEGMENTER_FLAGS) -o site/dist/segmenter.wasm ./wasm/segmenter
	GOOS=js GOARCH=wasm go build $(SEGMENTER_FLAGS) -o site/dist/trainer.wasm ./cmd/train
	GOOS=js GOARCH=wasm go build $(SEGMENTER_FLAGS) -o site/dist/together.wasm ./wasm/together

# Decoders of JPEG 2000, HTJ2K and JPEG-LS. Without npm, or without a network, the page is built without them.
.PHONY: site/decoders
site/decoders:
	@mkdir -p build/codecs
	@cmp -s site/codecs/package-lock.json build/codecs/package-lock.json && [ -d $(CODECS) ] || { \
		cp site/codecs/package.json build/codecs && rm -rf build/codecs/node_modules && cp site/codecs/package-lock.json build/codecs/ && \
		cd build/codecs && npm ci --ignore-scripts --no-audit --no-fund || { rm -rf node_modules; echo "make site: npm did not install the decoders of JPEG 2000, HTJ2K and JPEG-LS"; }; }
