//go:build !js

package synthetic

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/foreign"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/paint"
	"mrprism/weights/disk"
)

// WriteDataset writes n cases of a scenario as a data set folder: dataset.json, images/NAME.png and
// raters/RATER/CLASS/NAME.png (0 or 255). Only a generator also knows truth/CLASS/NAME.png (0 or
// 255) and calibrated/CLASS/NAME.png, the closed-form mean of all raters' probabilities in 16 bits.
// A rater who is not in an image's panel has no files there. diagnosis.csv calls an image positive
// if its true vertical cup/disc ratio is above suspectRatio. The folder must not exist or be empty.
// WriteDataset writes dataset.json last: an interrupted folder is not mistaken for a smaller data
// set.
func WriteDataset(ctx context.Context, folder string, sc Scenario, n, side int, seed uint64) error {
	d := dataset.Description{
		Name: "synthetic-" + sc.Name, Classes: Classes, Images: n, Note: sc.Description,
		Source: fmt.Sprintf("MrPrism's generator, scenario %s, seed %d", sc.Name, seed),
	}
	for _, r := range sc.Raters {
		d.Raters = append(d.Raters, r.Name)
	}
	diagnoses := "name,label\n"
	return writeSet(ctx, folder, d, func(i int) error {
		scene, err := writeCase(folder, &sc, i, side, seed)
		if err == nil {
			diagnoses += fmt.Sprintf("%s,%d\n", caseName(i), diagnosis(scene, side))
		}
		return err
	}, func() error {
		return disk.WriteFile(folder, dataset.DiagnosisFile, []byte(diagnoses))
	})
}

// suspectRatio is the vertical cup/disc ratio above which clinics suspect glaucoma.
const suspectRatio = 0.6

// diagnosis is 1 if the true cup is suspiciously large, otherwise 0.
func diagnosis(scene *Scene, side int) int {
	mask := func(class int) []uint8 {
		pixels := make([]uint8, side*side)
		for i, inside := range scene.Truth(class) {
			if inside {
				pixels[i] = 1
			}
		}
		return pixels
	}
	if metric.VerticalRatio(mask(Disc), mask(Cup), side, side) > suspectRatio {
		return 1
	}
	return 0
}

func caseName(index int) string { return fmt.Sprintf("case%04d", index) }

// writeSet writes the cases, what comes after them, if anything, and then the description.
func writeSet(ctx context.Context, folder string, d dataset.Description, write func(i int) error, after func() error) error {
	if existing, err := os.ReadDir(folder); err == nil && len(existing) > 0 {
		return fmt.Errorf("synthetic: %s is not empty; name a new folder", folder)
	}
	for i := range d.Images {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := write(i); err != nil {
			return fmt.Errorf("synthetic: %w", err)
		}
	}
	if after != nil {
		if err := after(); err != nil {
			return fmt.Errorf("synthetic: %w", err)
		}
	}
	d.Licence = "MIT"
	return d.Write(folder)
}

func writeCase(folder string, sc *Scenario, index, side int, seed uint64) (*Scene, error) {
	c := sc.Case(seed, index, side)
	picture := c.Scene.Image
	if sc.NoImage {
		picture = c.Scene.TextureImage
	}
	files := map[string]image.Image{"images": picture()}
	for k, class := range Classes {
		for m, r := range sc.Raters {
			if c.Labels[m] == nil {
				continue
			}
			files[filepath.Join("raters", r.Name, class)] = maskImage(c.Labels[m][k], side)
		}
		files[filepath.Join("truth", class)] = maskImage(c.Scene.Truth(k), side)
		files[filepath.Join("calibrated", class)] = probabilityImage(c.Scene.Calibrated(sc.Raters, k), side)
	}
	for sub, m := range files {
		if err := writePNG(m, folder, sub, caseName(index)); err != nil {
			return nil, err
		}
	}
	return c.Scene, nil
}

// writePNG writes FOLDER/SUB/NAME.png.
func writePNG(m image.Image, folder, sub, name string) error {
	return dataset.WritePNG(folder, filepath.Join(sub, name+".png"), m, png.BestSpeed)
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

// Nobody is the rater of pictures in which there is nothing to mark.
const Nobody = "nobody"

// ForeignSet is the choices of WriteForeign.
type ForeignSet struct {
	Kinds   []foreign.Kind
	Classes []string // that are in no picture
	Images  int      // of all kinds together
	Side    int      // the longer side, pixels
	Seed    uint64
}

// WriteForeign writes a data set folder of pictures that show none of the classes:
// images/KIND_0001.png or .jpg, the kinds in turn, and empty masks of the rater nobody. The folder
// must not exist or be empty. WriteForeign writes dataset.json last.
func WriteForeign(ctx context.Context, folder string, s ForeignSet) error {
	var names []string
	for _, k := range s.Kinds {
		names = append(names, k.Name)
	}
	return writeSet(ctx, folder, dataset.Description{
		Name: "synthetic-foreign", Classes: s.Classes, Raters: []string{Nobody}, Images: s.Images, Note: "pictures in which there is nothing to mark",
		Source: fmt.Sprintf("MrPrism's generator, foreign kinds %s, seed %d", strings.Join(names, ", "), s.Seed),
	}, func(i int) error { return s.write(folder, i) }, nil)
}

// write draws picture i. Its shape and file format vary. They and the picture depend only on the
// seed, the kind and the number among the kind.
func (s *ForeignSet) write(folder string, i int) error {
	kind, number := s.Kinds[i%len(s.Kinds)], i/len(s.Kinds)+1
	r := kind.Source(s.Seed, number)
	width, height := frame(r, s.Side)
	picture := kind.Picture(r.Uint64(), width, height)
	name := fmt.Sprintf("%s_%04d", kind.Name, number)
	var err error
	if r.Chance(0.5) {
		err = writePNG(picture, folder, "images", name)
	} else { // a JPEG of any usual quality
		var b bytes.Buffer
		if err = jpeg.Encode(&b, picture, &jpeg.Options{Quality: 70 + r.IntN(27)}); err == nil {
			err = disk.WriteFile(folder, filepath.Join("images", name+".jpg"), b.Bytes())
		}
	}
	for _, class := range s.Classes {
		if err == nil {
			err = writePNG(image.NewGray(picture.Rect), folder, filepath.Join("raters", Nobody, class), name)
		}
	}
	return err
}

// frame is the width and height of a picture in one of the shapes that cameras have.
func frame(r paint.Draws, side int) (width, height int) {
	shorter := max(1, int(float64(side)*paint.Either(r, 1, 1, 0.85, 3./4, 2./3)+0.5))
	if r.Chance(0.2) {
		return shorter, side
	}
	return side, shorter
}
