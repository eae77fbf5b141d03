package importer

import (
	"fmt"
	"path/filepath"
	"strings"

	"mrprism/internal/imageio"
)

// refuge is the challenge's data: one reference mask a photograph, the panel's.
var refuge = Layout{
	Name: "refuge",
	Description: `REFUGE: 1,200 fundus photographs, disc and cup as one reference (one rater, "panel")
           Training400/*/g0001.jpg, Annotation-Training400/Disc_Cup_Masks/*/g0001.bmp, REFUGE-Validation400/V0001.jpg,
           REFUGE-Validation400-GT/Disc_Cup_Masks/V0001.bmp, … : a .bmp belongs to the .jpg of its name, 0 the cup, 128 the rim,
           255 neither`,
	list: listREFUGE,
}

func listREFUGE(o *Options) (*listing, error) {
	paths, err := files(o.Source)
	if err != nil {
		return nil, err
	}
	l := &listing{name: "refuge", source: "REFUGE challenge (Orlando et al. 2020)", classes: []string{"disc", "cup"}, raters: []string{"panel"}}
	photographs := map[string]string{}
	var masks []string
	for _, path := range paths {
		switch strings.ToLower(filepath.Ext(path)) {
		case ".bmp":
			masks = append(masks, path)
		case ".jpg", ".jpeg":
			other, twice := photographs[stem(path)]
			switch {
			case strings.Contains(path, "Illustration"):
				l.skip(path, "an illustration, with the masks drawn in")
			case twice:
				l.skip(path, "there is also "+other)
			default:
				photographs[stem(path)] = path
			}
		default:
			l.skip(path, "neither a photograph (.jpg) nor a mask (.bmp)")
		}
	}
	seen := map[string]string{}
	for _, mask := range masks {
		name := stem(mask)
		photograph, found := photographs[name]
		if !found {
			l.skip(mask, "there is no photograph of this name")
			continue
		}
		if other, twice := seen[name]; twice {
			l.skip(mask, "there is also "+other)
			continue
		}
		seen[name] = mask
		l.jobs = append(l.jobs, job{name, func() ([]picture, []Skip) { return readREFUGE(name, photograph, mask) }})
	}
	for _, path := range paths {
		if photographs[stem(path)] == path && seen[stem(path)] == "" {
			l.skip(path, "there is no mask of this name")
		}
	}
	return l, nil
}

func (l *listing) skip(file, reason string) { l.skipped = append(l.skipped, Skip{file, reason}) }

func readREFUGE(name, photograph, path string) ([]picture, []Skip) {
	m, err := readImage(photograph)
	if err != nil {
		return nil, []Skip{{photograph, err.Error()}}
	}
	mask, err := readImage(path)
	if err != nil {
		return nil, []Skip{{path, err.Error()}}
	}
	if reason := otherSize(mask, m); reason != "" {
		return nil, []Skip{{path, reason}}
	}
	disc, cup := make([]uint8, m.W*m.H), make([]uint8, m.W*m.H)
	for i := range disc {
		v := mask.Pix[3*i]
		if g, b := mask.Pix[3*i+1], mask.Pix[3*i+2]; g != v || b != v {
			return nil, []Skip{{path, fmt.Sprintf("holds the colour %d,%d,%d at x %d, y %d; a mask is grey", v, g, b, i%m.W, i/m.W)}}
		}
		switch v {
		case 0:
			disc[i], cup[i] = 1, 1
		case 128:
			disc[i] = 1
		case 255:
		default:
			return nil, []Skip{{path, fmt.Sprintf("holds the value %d at x %d, y %d; 0, 128 and 255 are cup, rim and neither", v, i%m.W, i/m.W)}}
		}
	}
	return []picture{{name, photograph, m, [][][]uint8{{disc, cup}}}}, nil
}

// otherSize says so where an image is not as large as the one it belongs to.
func otherSize(m, of *imageio.Image) string {
	if m.W == of.W && m.H == of.H {
		return ""
	}
	return fmt.Sprintf("is %d×%d pixels, its photograph %d×%d", m.W, m.H, of.W, of.H)
}
