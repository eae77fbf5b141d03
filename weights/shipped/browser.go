//go:build js

package shipped

import (
	"os"
	"path"
)

// File reads a shipped file, which the page has put into the program's file system
// (site/learn/learn.js).
func File(name string) ([]byte, error) { return os.ReadFile(path.Join("/shipped", name)) }
