# The page: WebAssembly programs, sample, bundle. Included by the Makefile at the top.
BROTLI ?= 10
WASM_FLAGS := -trimpath -ldflags="-s -w"
SEGMENTER_FLAGS := -trimpath -ldflags="-s -w $(STAMP)" -tags simd128

.PHONY: site size
site: site/programs
	go run ./site/bundle -quality $(BROTLI) -commit $(COMMIT)

size: site/programs
	go run ./site/bundle -quality $(BROTLI) -commit $(COMMIT) -size

.PHONY: site/programs
site/programs:
	@mkdir -p site/dist
	GOOS=js GOARCH=wasm go build $(WASM_FLAGS) -o site/dist/viewer.wasm ./wasm/viewer
	GOOS=js GOARCH=wasm go build $(SEGMENTER_FLAGS) -o site/dist/segmenter.wasm ./wasm/segmenter
