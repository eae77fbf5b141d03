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
		if m.Models[i].Proof, err = proof(&m.Models[i]); err == nil {
			err = writeCard(&m.Models[i])
		}
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

// writeCard writes NAME.card.json beside NAME.md.
func writeCard(e *weights.Entry) error {
	c, err := weights.ReadCard("shipped", e)
	if err != nil {
		return err
	}
	return weights.WriteAtomic(filepath.Join("shipped", e.Name+weights.CardEnding), c.Write)
}

// proof is the output of the processor for the picture by which segment.Engine.Prove compares
// devices.
func proof(e *weights.Entry) (string, error) {
	data, err := os.ReadFile(filepath.Join("shipped", e.File))
	if err != nil {
		return "", err
	}
	m, err := (&weights.Manifest{}).Open(e.File, data)
	if err != nil {
		return "", err
	}
	d, err := device.Open(context.Background(), device.Processor, device.Options{})
	if err != nil {
		return "", err
	}
	defer d.Close()
	engine, err := segment.New(context.Background(), d, m, model.F32)
	if err != nil {
		return "", err
	}
	defer engine.Close()
	return engine.Proof(context.Background())
}
