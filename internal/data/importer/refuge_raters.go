package importer

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mrprism/internal/files/imageio"
)

// refugeRaters is REFUGE with the masks of its seven ophthalmologists, in the form in which the
// authors of MrPrism and others distribute it.
var refugeRaters = Layout{
	Name: "refuge-raters",
	Description: `REFUGE with the masks of its seven ophthalmologists (rater1 to rater7), as sets for MrPrism and Medical-SAM-Adapter have it
           Training-400/0826/0826.jpg with 0826_seg_disc_1.png to 0826_seg_disc_7.png and 0826_seg_cup_1.png to 0826_seg_cup_7.png,
           Validation-400/…, Test-400/…: grey of 128 or more is marked. split.json has the published split, by the folders' names`,
	list: listREFUGERaters,
}

var refugeClasses = []string{"disc", "cup"}

// refugeMark is a rater's mask: name, class and rater.
var refugeMark = regexp.MustCompile(`(?i)^(.+)_seg_(disc|cup)_([1-9])\.(?:png|jpe?g|bmp)$`)

// ratedCase is the paths of a photograph and of its masks by class and rater.
type ratedCase struct {
	photograph string
	masks      [2][9]string
}

func listREFUGERaters(o *Options) (*listing, error) {
	paths, err := files(o.Source)
	if err != nil {
		return nil, err
	}
	l := &listing{name: "refuge-raters", source: "REFUGE challenge (Orlando et al. 2020), with each rater's masks", classes: slices.Clone(refugeClasses),
		split: "the challenge's: Training-400, Validation-400 and Test-400"}
	cases := map[string]*ratedCase{}
	raters := 0
	for _, path := range paths {
		folder, base := filepath.Dir(path), filepath.Base(path)
		name := imageio.Stem(base)
		switch found := refugeMark.FindStringSubmatch(base); {
		case found != nil:
			class, rater := slices.Index(refugeClasses, strings.ToLower(found[2])), int(found[3][0]-'1')
			raters = max(raters, rater+1)
			l.claim(&caseOf(cases, filepath.Join(folder, found[1])).masks[class][rater], path)
		case slices.Contains([]string{".jpg", ".jpeg", ".png", ".bmp"}, strings.ToLower(imageio.Extension(base))) && name == filepath.Base(folder):
			l.claim(&caseOf(cases, filepath.Join(folder, name)).photograph, path)
		default:
			l.skip(path, "neither NAME/NAME.jpg nor NAME/NAME_seg_disc_N.png or NAME_seg_cup_N.png")
		}
	}
	for m := range raters {
		l.raters = append(l.raters, fmt.Sprintf("rater%d", m+1))
	}
	for _, key := range slices.Sorted(maps.Keys(cases)) {
		c, name := cases[key], filepath.Base(key)
		if c.photograph == "" {
			l.skip(key, "masks without a photograph of this name")
			continue
		}
		l.jobs = append(l.jobs, job{name, partNamed(pathBelow(o.Source, c.photograph)), func() ([]picture, []Skip) { return c.read(name, raters) }})
	}
	return l, l.distinctJobs()
}

// distinctJobs returns an error if two images would have one name.
func (l *listing) distinctJobs() error {
	seen := map[string]bool{}
	for _, j := range l.jobs {
		if seen[j.name] {
			return fmt.Errorf("two photographs are called %s; rename one of them, with its masks", j.name)
		}
		seen[j.name] = true
	}
	return nil
}

// read reads the photograph and the masks. A mask that it cannot use becomes a missing label.
func (c *ratedCase) read(name string, raters int) ([]picture, []Skip) {
	m, err := readImage(c.photograph)
	if err != nil {
		return nil, []Skip{{c.photograph, err.Error()}}
	}
	p := picture{name: name, file: c.photograph, image: m, masks: make([][][]uint8, raters)}
	var left []Skip
	for r := range raters {
		p.masks[r] = make([][]uint8, len(refugeClasses))
		for k := range refugeClasses {
			path := c.masks[k][r]
			if path == "" {
				continue
			}
			if mask, err := readMask(path, m); err != nil {
				left = append(left, Skip{path, err.Error()})
			} else {
				p.masks[r][k] = bright(mask)
			}
		}
	}
	return []picture{p}, left
}

// bright is the mask of the pixels of 128 or more.
func bright(m *imageio.Image) []uint8 {
	mask := make([]uint8, m.W*m.H)
	for i := range mask {
		mask[i] = m.Pix[3*i+1] >> 7
	}
	return mask
}
