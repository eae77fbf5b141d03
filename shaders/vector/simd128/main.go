// Command simd128 writes the WebAssembly modules of package vector. In the browser Go has no
// vectors: the modules compute on the memory of the Go program. "go generate
// ./shaders/vector" runs the command. One module needs SIMD128. The other one also needs
// relaxed_madd, a multiplication and an addition in one instruction, if the processor has that.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	for name, content := range modules() {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), content, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "simd128:", err)
			os.Exit(1)
		}
	}
}

// modules are the files by name.
func modules() map[string][]byte {
	return map[string][]byte{
		"simd128.wasm":         arithmetic(false),
		"simd128_relaxed.wasm": arithmetic(true),
	}
}

// arithmetic returns a module.
func arithmetic(relaxed bool) []byte {
	m := &module{relaxed: relaxed}
	m.product()
	m.pack()
	m.elements()
	m.dots()
	if relaxed {
		m.negative()
	}
	m.finish(true)
	m.finish(false)
	m.conversions()
	m.softmax()
	m.windows()
	m.winograd()
	return m.bytes()
}
