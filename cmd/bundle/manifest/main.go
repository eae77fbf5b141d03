//go:build !js

// Command manifest writes weights/manifest.json from the files in weights/shipped, and each card as
// data beside its Markdown. `go generate ./weights` runs it in the folder weights.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/shaders/gpu/device"
	"mrprism/weights"
)

func main() {
	m, err := weights.BuildManifest("shipped")
	for i := 0; err == nil && i < len(m.Models); i++ {
		m.Models[i].Proof, err = finish(&m.Models[i])
	}
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

// finish writes NAME.card.json beside NAME.md. It returns the output of the processor for the
// picture by which segment.Engine.Prove compares devices.
func finish(e *weights.Entry) (proof string, err error) {
	m, err := weights.ReadDescribed(filepath.Join("shipped", e.File))
	if err != nil {
		return "", err
	}
	if err := weights.WriteAtomic(filepath.Join("shipped", e.Name+weights.CardEnding), m.Card.Write); err != nil {
		return "", err
	}
	d, err := device.Open(context.Background(), device.Processor, device.Options{})
	if err != nil {
		return "", err
	}
	defer d.Close()
	engine, err := segment.New(context.Background(), d, m.Model, model.F32)
	if err != nil {
		return "", err
	}
	defer engine.Close()
	return engine.Proof(context.Background())
}
