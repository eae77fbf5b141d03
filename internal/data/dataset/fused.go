package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mrprism/internal/files/imageio"
	"mrprism/weights/disk"
)

// FusedRater is the only rater of a data set whose labels are fused.
const FusedRater = "fused"

// Taught is the data set with the fused labels of a folder in place of its raters' masks, for cases
// to learn from: FOLDER/CLASS/NAME.png, as evaluate fuse writes them. It has one rater, FusedRater.
// Its Cases are the cases of d, with the masks of all raters, which scores need. Cases of other
// people keep their masks. The error is a Problems that names every map that is missing.
func (d *Dataset) Taught(folder string, cases []Case) (taught *Dataset, relabelled []Case, err error) {
	var problems Problems
	for _, c := range cases {
		if !c.Others {
			paths := make([]string, len(d.Classes))
			for k, class := range d.Classes {
				paths[k] = MaskFile(filepath.Join(folder, class), c.Name)
				if !exists(paths[k]) {
					problems.add("%s: does not exist; fuse the data set again, into a new folder, or name another folder of fused labels", paths[k])
				}
			}
			c.Masks, c.Levels, c.soft = [][]string{paths}, false, true
		}
		relabelled = append(relabelled, c)
	}
	if len(problems) > 0 {
		return nil, nil, problems
	}
	copied := *d
	copied.Raters, copied.Levels, copied.Missing = []string{FusedRater}, false, nil
	return &copied, relabelled, nil
}

// MaskFile is FOLDER/NAME.png, or the file there whose name differs in the letters of its ending or in
// how it composes letters.
func MaskFile(folder, name string) string {
	path := filepath.Join(folder, name+".png")
	if exists(path) {
		return path
	}
	inside, _ := os.ReadDir(folder)
	for _, e := range inside {
		if NameOf(e.Name()) == name && strings.EqualFold(imageio.Extension(e.Name()), ".png") {
			return filepath.Join(folder, e.Name())
		}
	}
	return path
}

// probabilities reads a grey PNG of 8 or 16 bits, as large as the image, as probabilities (H·W) in
// steps of 1/255.
func (c *Case) probabilities(path string) ([]uint8, error) {
	data, err := disk.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read (%w)", path, disk.Cause(err))
	}
	values, w, h, white, err := Levels(path, data)
	if err == nil && white == 0 {
		err = fmt.Errorf("%s: has a palette of colours; fused labels are grey, of 8 or 16 bits", path)
	}
	if err == nil {
		err = c.checkFit(path, w, h)
	}
	if err != nil {
		return nil, err
	}
	p := make([]uint8, len(values))
	for i, v := range values {
		p[i] = uint8((int(v)*255 + int(white)/2) / int(white)) // rounded to the nearest step
	}
	return p, nil
}

// consensus is the mean vote (H·W) of class k and its majority. ok is false if votes cannot be
// counted. For fused labels the mean vote is the probability.
func (l *Loaded) consensus(k int) (mean []float32, majority []uint8, ok bool) {
	if !l.soft || l.people != nil {
		votes, ok := l.Votes(k)
		if !ok {
			return nil, nil, false
		}
		return votes.Mean(), votes.Majority(), true
	}
	mean, majority = make([]float32, len(l.Masks[0][k])), make([]uint8, len(l.Masks[0][k]))
	for i, v := range l.Masks[0][k] {
		mean[i], majority[i] = float32(v)/255, v>>7
	}
	return mean, majority, true
}
