package importer

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// refuge is the set of the REFUGE challenge. Each photograph has one reference mask of a panel.
var refuge = Layout{
	Name: "refuge",
	Description: `REFUGE: 1,200 fundus photographs, disc and cup as one reference (one rater, "panel")
           Training400/*/g0001.jpg, Annotation-Training400/Disc_Cup_Masks/*/g0001.bmp, REFUGE-Validation400/V0001.jpg,
           REFUGE-Validation400-GT/Disc_Cup_Masks/V0001.bmp, … : a .bmp belongs to the .jpg of its name; 0 is the cup, 128 the rim,
           255 neither`,
	list: listREFUGE,
}

// refugeCase is the paths of a photograph and its mask.
type refugeCase struct{ photograph, mask string }

func listREFUGE(o *Options) (*listing, error) {
	paths, err := files(o.Source)
	if err != nil {
		return nil, err
	}
	l := &listing{name: "refuge", source: "REFUGE challenge (Orlando et al. 2020)", classes: []string{"disc", "cup"}, raters: []string{"panel"}}
	cases := map[string]*refugeCase{}
	for _, path := range paths {
		extension := filepath.Ext(path)
		name := strings.TrimSuffix(filepath.Base(path), extension)
		c := cases[name]
		if c == nil {
			c = &refugeCase{}
		}
		switch strings.ToLower(extension) {
		case ".bmp":
			l.claim(&c.mask, path)
		case ".jpg", ".jpeg":
			if strings.Contains(path, "Illustration") {
				l.skip(path, "an illustration, with the masks drawn in")
				continue
			}
			l.claim(&c.photograph, path)
		default:
			l.skip(path, "neither a photograph (.jpg) nor a mask (.bmp)")
			continue
		}
		cases[name] = c
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		switch c := cases[name]; "" {
		case c.photograph:
			l.skip(c.mask, "there is no photograph of this name")
		case c.mask:
			l.skip(c.photograph, "there is no mask of this name")
		default:
			l.jobs = append(l.jobs, job{name, func() ([]picture, []Skip) { return c.read(name) }})
		}
	}
	return l, nil
}

func (c *refugeCase) read(name string) ([]picture, []Skip) {
	m, err := readImage(c.photograph)
	if err != nil {
		return nil, []Skip{{c.photograph, err.Error()}}
	}
	mask, err := readOther(c.mask, m)
	if err != nil {
		return nil, []Skip{{c.mask, err.Error()}}
	}
	disc, cup := make([]uint8, m.W*m.H), make([]uint8, m.W*m.H)
	for i := range disc {
		r, g, b := mask.Pix[3*i], mask.Pix[3*i+1], mask.Pix[3*i+2]
		switch {
		case r != g || r != b:
			return nil, []Skip{{c.mask, fmt.Sprintf("holds the colour %d,%d,%d at x %d, y %d; a mask is grey", r, g, b, i%m.W, i/m.W)}}
		case r == 0:
			disc[i], cup[i] = 1, 1
		case r == 128:
			disc[i] = 1
		case r != 255:
			return nil, []Skip{{c.mask, fmt.Sprintf("holds the value %d at x %d, y %d; 0, 128 and 255 are cup, rim and neither", r, i%m.W, i/m.W)}}
		}
	}
	return []picture{{name, c.photograph, m, [][][]uint8{{disc, cup}}}}, nil
}
