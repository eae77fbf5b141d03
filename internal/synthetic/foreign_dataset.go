//go:build !js

package synthetic

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// Nobody is the rater of pictures in which there is nothing to mark.
const Nobody = "nobody"

// ForeignSet says what WriteForeign writes.
type ForeignSet struct {
	Kinds   []ForeignKind
	Classes []string // that are in no picture
	Images  int      // of all kinds together
	Side    int      // the longer side, pixels
	Seed    uint64
}

// WriteForeign writes a data set folder of pictures in which the classes are not:
// images/KIND_0001.png or .jpg, the kinds in turn, and empty masks of the rater nobody. The folder
// must not exist or be empty. It has no dataset.json before all else is there.
func WriteForeign(ctx context.Context, folder string, s ForeignSet) error {
	if existing, err := os.ReadDir(folder); err == nil && len(existing) > 0 {
		return fmt.Errorf("synthetic: %s is not empty; name a new folder", folder)
	}
	names := make([]string, len(s.Kinds))
	for i, k := range s.Kinds {
		names[i] = k.Name
	}
	description := map[string]any{
		"name": "synthetic-foreign", "classes": s.Classes, "raters": []string{Nobody}, "labels": "raters", "images": s.Images,
		"source":  fmt.Sprintf("MrPrism's generator, foreign kinds %s, seed %d", strings.Join(names, ", "), s.Seed),
		"licence": "MIT", "note": "pictures in which there is nothing to mark",
	}
	text, err := json.MarshalIndent(description, "", "  ")
	if err != nil {
		return err
	}
	for i := range s.Images {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.write(folder, i); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(folder, "dataset.json"), append(text, '\n'))
}

// write draws picture i. Its shape and file format vary. A picture depends on the seed, its kind
// and its number alone.
func (s *ForeignSet) write(folder string, i int) error {
	kind, number := s.Kinds[i%len(s.Kinds)], i/len(s.Kinds)+1
	r := source(s.Seed, kind.purpose()+1+uint64(number))
	width, height := frame(r, s.Side)
	picture := kind.Picture(r.Uint64(), width, height)
	name := fmt.Sprintf("%s_%04d", kind.Name, number)
	file, err := compress(r, picture)
	if err != nil {
		return fmt.Errorf("synthetic: %s: %w", name, err)
	}
	if file != nil {
		err = writeFile(filepath.Join(folder, "images", name+".jpg"), file)
	} else {
		err = writePNG(filepath.Join(folder, "images", name+".png"), picture)
	}
	if err != nil {
		return err
	}
	for _, class := range s.Classes {
		if err := writePNG(filepath.Join(folder, "raters", Nobody, class, name+".png"), emptyMask(width, height)); err != nil {
			return err
		}
	}
	return nil
}

// frame is one of the shapes that cameras have, of the given longer side.
func frame(r *rand.Rand, side int) (width, height int) {
	shorter := max(1, int(float64(side)*either(r, 1, 1, 0.85, 3./4, 2./3)+0.5))
	if chance(r, 0.2) {
		return shorter, side
	}
	return side, shorter
}

// compress is a JPEG of any usual quality for every second picture, nil for the others.
func compress(r *rand.Rand, picture image.Image) ([]byte, error) {
	if chance(r, 0.5) {
		return nil, nil
	}
	var b bytes.Buffer
	err := jpeg.Encode(&b, picture, &jpeg.Options{Quality: 70 + r.IntN(27)})
	return b.Bytes(), err
}

func emptyMask(width, height int) image.Image { return image.NewGray(image.Rect(0, 0, width, height)) }
