//go:build !js

package synthetic

import (
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
)

// WriteDataset writes n cases of a scenario as a data set folder: dataset.json, images/NAME.png, raters/RATER/CLASS/NAME.png (0 or 255), and
// beside what a data set has, what only a generator knows: truth/CLASS/NAME.png (0 or 255) and calibrated/CLASS/NAME.png, the
// closed-form mean of the raters' probabilities in 16 bits. The folder must not exist or be empty. It has no dataset.json before all else
// is there, so that what was interrupted is not taken for a smaller data set.
func WriteDataset(ctx context.Context, folder string, sc Scenario, n, side int, seed uint64) error {
	if existing, err := os.ReadDir(folder); err == nil && len(existing) > 0 {
		return fmt.Errorf("synthetic: %s is not empty; name a new folder", folder)
	}
	description := map[string]any{
		"name": "synthetic-" + sc.Name, "classes": Classes, "raters": raterNames(sc.Raters), "labels": "raters", "images": n,
		"source": fmt.Sprintf("MrPrism's generator, scenario %s, seed %d", sc.Name, seed), "licence": "MIT", "note": sc.Description,
	}
	text, err := json.MarshalIndent(description, "", "  ")
	if err != nil {
		return err
	}
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := writeCase(folder, &sc, i, side, seed); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(folder, "dataset.json"), append(text, '\n'))
}

func writeCase(folder string, sc *Scenario, index, side int, seed uint64) error {
	name := fmt.Sprintf("case%04d.png", index)
	c := sc.Case(seed, index, side)
	picture := c.Scene.Image
	if sc.NoImage {
		picture = c.Scene.TextureImage
	}
	if err := writePNG(filepath.Join(folder, "images", name), picture()); err != nil {
		return err
	}
	for k, class := range Classes {
		for m, r := range sc.Raters {
			if err := writePNG(filepath.Join(folder, "raters", r.Name, class, name), maskImage(c.Labels[m][k], side)); err != nil {
				return err
			}
		}
		if err := writePNG(filepath.Join(folder, "truth", class, name), maskImage(c.Scene.Truth(k), side)); err != nil {
			return err
		}
		if err := writePNG(filepath.Join(folder, "calibrated", class, name), probabilityImage(c.Scene.Calibrated(sc.Raters, k), side)); err != nil {
			return err
		}
	}
	return nil
}

func raterNames(raters []Rater) []string {
	names := make([]string, len(raters))
	for i, r := range raters {
		names[i] = r.Name
	}
	return names
}

func maskImage(mask []bool, side int) image.Image {
	img := image.NewGray(image.Rect(0, 0, side, side))
	for i, marked := range mask {
		if marked {
			img.Pix[i] = 255
		}
	}
	return img
}

func probabilityImage(p []float64, side int) image.Image {
	img := image.NewGray16(image.Rect(0, 0, side, side))
	for i, v := range p {
		level := uint16(math.Round(v * 65535))
		img.Pix[2*i], img.Pix[2*i+1] = uint8(level>>8), uint8(level)
	}
	return img
}

func writePNG(path string, img image.Image) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("synthetic: %w", err)
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("synthetic: %w", err)
	}
	encoder := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := encoder.Encode(f, img); err != nil {
		f.Close()
		return fmt.Errorf("synthetic: %s: %w", path, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("synthetic: %w", err)
	}
	return nil
}

func writeFile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("synthetic: %w", err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return fmt.Errorf("synthetic: %w", err)
	}
	return nil
}
