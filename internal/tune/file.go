//go:build !js

package tune

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"mrprism/internal/gpu"
	"mrprism/weights"
)

// Variable is the environment variable that, set to "off", makes programs leave aside what is remembered.
const Variable = "MRPRISM_TUNE"

// file is what is remembered for one adapter with one driver and backend, as JSON in the user's folder for caches.
type file struct {
	Backend string  `json:"backend"`
	Adapter string  `json:"adapter"`
	Driver  string  `json:"driver"`
	Choices Choices `json:"choices"` // their keys hold hashes of the kernels' sources: those of other versions of MrPrism are never asked for
}

// Path is where the choices for a device are remembered.
func Path(info gpu.Info) (string, error) {
	folder, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s\x00%s", info.Backend, info.Adapter, info.Driver)
	return filepath.Join(folder, "mrprism", fmt.Sprintf("tuned-%016x.json", h.Sum64())), nil
}

// Load reads what is remembered for a device: nil where there is nothing, an error where the file is damaged or another device's.
func Load(info gpu.Info) (Choices, error) {
	path, err := Path(info)
	if err != nil {
		return nil, nil // no such folder on this system: nothing can have been written
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if f.Backend != info.Backend || f.Adapter != info.Adapter || f.Driver != info.Driver {
		return nil, fmt.Errorf("%s is of %s [%s] %s", path, f.Adapter, f.Backend, f.Driver)
	}
	return f.Choices, nil
}

// Save remembers choices for a device beside those that are there, and returns the path. What is there of other sources of the same kernels
// goes, and so does what cannot be read.
func Save(info gpu.Info, choices Choices) (path string, err error) {
	if path, err = Path(info); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	there, _ := Load(info) // what cannot be read is replaced
	f := file{info.Backend, info.Adapter, info.Driver, Join(there, choices)}
	return path, weights.WriteAtomic(path, func(w io.Writer) error {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(f)
	})
}

// Remembered is the device with what is remembered for it, unless that is switched off or there is nothing. A file that cannot be used is
// left aside, and note is told.
func Remembered(d gpu.Device, note func(string)) gpu.Device {
	info := d.Info()
	if os.Getenv(Variable) == "off" || info.InGo() {
		return d
	}
	choices, err := Load(info)
	if err != nil {
		note(fmt.Sprintf("kernels are chosen as if never measured; bench -tune measures them: %v", err))
	}
	if len(choices) == 0 {
		return d
	}
	return With(d, choices)
}
