package main

import (
	"os"
	"path/filepath"
	"strings"

	"mrprism/site/npm"
	"mrprism/weights"
	"mrprism/weights/disk"
)

// pack writes the package of npm to path, whose base name is mrprism-VERSION.tgz.
func pack(built, path string) error {
	others := map[string][]byte{}
	from := map[string]string{"LICENSE": "LICENSE", "LICENSES": filepath.Join("site", "codecs", "LICENSES.txt")}
	for _, entry := range weights.Shipped().Models {
		for _, name := range []string{entry.File, entry.Card} {
			from["weights/"+name] = filepath.Join(cards, name)
		}
	}
	for name, path := range from {
		var err error
		if others[name], err = os.ReadFile(path); err != nil {
			return err
		}
	}
	version := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "mrprism-"), ".tgz")
	files, err := npm.Files(os.DirFS(built), others, version)
	if err != nil {
		return err
	}
	data, err := npm.Pack(files)
	if err != nil {
		return err
	}
	return disk.WriteFile(filepath.Dir(path), filepath.Base(path), data)
}
