package choose

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"mrprism/weights"
)

// Variable is the environment variable that, set to "off", keeps programs from measuring.
const Variable = "MRPRISM_MEASURE"

// Files is the memory of programs: JSON in the user's folder for caches.
type Files struct{}

func (Files) path(key string) (string, error) {
	folder, err := os.UserCacheDir()
	return filepath.Join(folder, "mrprism", key+".json"), err
}

// Get implements Memory.
func (f Files) Get(key string) ([]byte, error) {
	path, err := f.path(key)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// Put implements Memory.
func (f Files) Put(key string, text []byte) error {
	path, err := f.path(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return weights.WriteAtomic(path, func(w io.Writer) error { _, err := w.Write(text); return err })
}
