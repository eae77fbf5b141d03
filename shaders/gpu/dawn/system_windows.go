//go:build amd64

package dawn

import (
	"sync"

	"golang.org/x/sys/windows"
)

// load loads the library of an absolute path. From then on the system does not search the working
// directory, where Dawn looks for vulkan-1.dll at the end: anyone may have put a library there.
func load(path string) (library uintptr, err error) {
	if err := windows.SetDllDirectory(""); err != nil {
		return 0, err
	}
	handle, err := windows.LoadLibraryEx(path, 0, windows.LOAD_LIBRARY_SEARCH_DEFAULT_DIRS)
	return uintptr(handle), err
}

func symbolOf(library uintptr, name string) (uintptr, error) {
	return windows.GetProcAddress(windows.Handle(library), name)
}

// callbacks receive the address of a WGPUStringView, as Windows passes a structure of 16 bytes.
var callbacks = sync.OnceValue(func() shapes {
	return shapes{
		value: windows.NewCallback(func(status, value uintptr, text *stringView, user, _ uintptr) uintptr {
			handleCallback(user, uint32(status), value, text.String())
			return 0
		}),
		plain: windows.NewCallback(func(status uintptr, text *stringView, user, _ uintptr) uintptr {
			handleCallback(user, uint32(status), 0, text.String())
			return 0
		}),
		done: windows.NewCallback(func() uintptr { return 0 }),
	}
})
