//go:build !js

// Command manifest writes weights/manifest.json from what is in weights/shipped. `go generate ./weights` runs it in the folder weights.
package main

import (
	"fmt"
	"io"
	"os"

	"mrprism/weights"
)

func main() {
	m, err := weights.BuildManifest("shipped")
	if err == nil {
		err = weights.WriteAtomic("manifest.json", func(w io.Writer) error {
			_, err := w.Write(m.JSON())
			return err
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "manifest:", err)
		os.Exit(1)
	}
	for _, e := range m.Models {
		fmt.Printf("%s  %s  %d bytes\n", e.SHA256, e.File, e.Bytes)
	}
}
