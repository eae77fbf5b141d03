// Package command holds what programs share: outputs and a progress line. Package computing opens
// what computes. Flags and exit codes are in package cli.
package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"mrprism/internal/output/table"
	"mrprism/weights"
	"mrprism/weights/disk"
)

// CheckOutputs checks files before they are written. It returns an error if a file has no folder,
// is none (disk.CheckFile), or is named twice. Empty names do not count.
func CheckOutputs(paths ...string) error {
	seen := map[string]bool{}
	for _, path := range paths {
		if path == "" {
			continue
		}
		folder := filepath.Dir(path)
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return fmt.Errorf("%s: there is no folder %s; make it, or name another file", path, folder)
		}
		if err := disk.CheckFile(path); err != nil {
			return err
		}
		if seen[filepath.Clean(path)] {
			return fmt.Errorf("%s would be written twice; give each its own file", path)
		}
		seen[filepath.Clean(path)] = true
	}
	return nil
}

// Figures is where the flag -json has a program write its figures; the zero value is nowhere.
type Figures struct{ path string }

// FiguresFlag declares -json. what says what is written, as "all figures".
func FiguresFlag(f *flag.FlagSet, what string) *Figures {
	figures := &Figures{}
	f.StringVar(&figures.path, "json", "", "write "+what+" to `FILE` as JSON; - prints it in place of the table")
	return figures
}

// File is the file that will be written; empty without one.
func (f *Figures) File() string {
	if f.path == "-" {
		return ""
	}
	return f.path
}

// Write writes the value as JSON, and prints it or the table. It tries both even if one fails.
func (f *Figures) Write(stdout io.Writer, value any, columns func(io.Writer) error) error {
	asJSON := func(w io.Writer) error { return table.JSON(w, value) }
	switch f.path {
	case "":
		return columns(stdout)
	case "-":
		return asJSON(stdout)
	}
	return errors.Join(weights.WriteAtomic(f.path, asJSON), columns(stdout))
}
