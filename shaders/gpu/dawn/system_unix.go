//go:build (linux || darwin) && (amd64 || arm64)

package dawn

import (
	"sync"

	"github.com/ebitengine/purego"
)

func load(path string) (library uintptr, err error) {
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func symbolOf(library uintptr, name string) (uintptr, error) { return purego.Dlsym(library, name) }

// callbacks receive a WGPUStringView as two words.
var callbacks = sync.OnceValue(func() shapes {
	return shapes{
		value: purego.NewCallback(func(status, value uintptr, text *byte, length, user, _ uintptr) {
			handleCallback(user, uint32(status), value, stringView{text, length}.String())
		}),
		plain: purego.NewCallback(func(status uintptr, text *byte, length, user, _ uintptr) {
			handleCallback(user, uint32(status), 0, stringView{text, length}.String())
		}),
		done: purego.NewCallback(func() {}),
	}
})
