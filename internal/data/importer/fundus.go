package importer

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mrprism/internal/data/dataset"
	"mrprism/internal/files/imageio"
)

// riga is the RIGA set. Six ophthalmologists drew disc and cup into copies of each photograph.
var riga = Layout{
	Name: "riga",
	Description: `RIGA: 750 fundus photographs, disc and cup drawn by six ophthalmologists (rater1 to rater6)
           MESSIDOR/image1prime.tif with image1-1.tif to image1-6.tif, BinRushed/BinRushed2/image1prime.jpg with image1-1.jpg …,
           Magrabia/Magrabia/MagrabiaMale/…: prime is the photograph, the others are copies with one rater's two outlines drawn in.
           The import compares them with the photograph, finds the outlines and fills them up to the middle of the stroke.
           If there is a folder BinRushed1-Corrected, it replaces BinRushed1. split.json has the published protocol: train on the
           655 photographs of BinRushed and MESSIDOR, test on the 95 of Magrabia`,
	list: listRIGA,
}

const rigaRaters = 6

// rigaFile is a photograph or the copy of a rater.
var rigaFile = regexp.MustCompile(`(?i)^image(\d+)(prime|-[1-6])\.(tiff?|jpe?g|png|bmp)$`)

// rigaCase is a photograph and its copies, by rater.
type rigaCase struct {
	folder, number string
	photograph     string
	drawn          [rigaRaters]string
}

func listRIGA(o *Options) (*listing, error) {
	paths, err := files(o.Source)
	if err != nil {
		return nil, err
	}
	l := &listing{name: "riga", source: "RIGA (Almazroa et al. 2018), University of Michigan Deep Blue Data", classes: []string{"disc", "cup"},
		split: "the protocol of MRNet (Ji et al. 2021): train on BinRushed and MESSIDOR, test on Magrabia"}
	for r := range rigaRaters {
		l.raters = append(l.raters, fmt.Sprintf("rater%d", r+1))
	}
	cases := map[string]*rigaCase{}
	for _, path := range l.withoutCorrected(paths) {
		found := rigaFile.FindStringSubmatch(filepath.Base(path))
		if found == nil {
			l.skip(path, "neither imageNprime nor imageN-1 to imageN-6")
			continue
		}
		c := caseOf(cases, filepath.Join(filepath.Dir(path), found[1]))
		c.folder, c.number = filepath.Dir(path), found[1]
		if kind := found[2]; kind[0] == '-' {
			l.claim(&c.drawn[kind[1]-'1'], path)
		} else {
			l.claim(&c.photograph, path)
		}
	}
	names := rigaNames(o.Source, cases)
	for _, key := range slices.Sorted(maps.Keys(cases)) {
		c := cases[key]
		drawn := slices.DeleteFunc(slices.Clone(c.drawn[:]), func(path string) bool { return path == "" })
		switch {
		case c.photograph == "":
			for _, path := range drawn {
				l.skip(path, fmt.Sprintf("there is no image%sprime beside it", c.number))
			}
		case len(drawn) == 0:
			l.skip(c.photograph, fmt.Sprintf("there is no image%s-1 to image%s-6 beside it", c.number, c.number))
		default:
			name := names[c.folder] + "-image" + c.number
			l.jobs = append(l.jobs, job{name, rigaPart(o.Source, c.folder), func() ([]picture, []Skip) { return c.read(name) }})
		}
	}
	return l, nil
}

// rigaPart is the part of a folder in the protocol of MRNet: photographs of Magrabia test.
func rigaPart(source, folder string) dataset.Part {
	if strings.Contains(strings.ToLower(pathBelow(source, folder)), "magrabi") {
		return dataset.ForTest
	}
	return dataset.ForTraining
}

// pathBelow is a path from the folder that holds the source on: folders above tell nothing.
func pathBelow(source, path string) string {
	if relative, err := filepath.Rel(filepath.Dir(source), path); err == nil {
		return relative
	}
	return path
}

// withoutCorrected omits the files of a folder if there is a corrected folder beside it.
func (l *listing) withoutCorrected(paths []string) []string {
	const corrected = "-Corrected"
	present := map[string]int{}
	for _, path := range paths {
		present[filepath.Dir(path)]++
	}
	for folder, n := range present {
		if present[folder+corrected] > 0 {
			l.skip(folder, fmt.Sprintf("%d files: %s replaces it", n, filepath.Base(folder)+corrected))
		}
	}
	return slices.DeleteFunc(paths, func(path string) bool { return present[filepath.Dir(path)+corrected] > 0 })
}

// rigaNames gives every folder a short name: its own, or, if two folders share that name, its path
// below the source.
func rigaNames(source string, cases map[string]*rigaCase) map[string]string {
	names, alike := map[string]string{}, map[string]int{}
	for _, c := range cases {
		if names[c.folder] == "" {
			names[c.folder] = strings.ToLower(filepath.Base(c.folder))
			alike[names[c.folder]]++
		}
	}
	for folder, name := range names {
		if relative, err := filepath.Rel(filepath.Dir(source), folder); err == nil && alike[name] > 1 {
			names[folder] = strings.ToLower(strings.ReplaceAll(filepath.ToSlash(relative), "/", "-"))
		}
	}
	return names
}

// read finds every rater's outlines. A copy that it cannot use becomes a missing label.
func (c *rigaCase) read(name string) ([]picture, []Skip) {
	m, err := readImage(c.photograph)
	if err != nil {
		return nil, []Skip{{c.photograph, err.Error()}}
	}
	p := picture{name: name, file: c.photograph, image: m}
	var left []Skip
	for _, path := range c.drawn {
		masks := make([][]uint8, 2)
		if path != "" {
			drawn, err := readImage(path)
			reason := ""
			if err := fits(drawn, m, err); err != nil {
				reason = err.Error()
			} else {
				masks[0], masks[1], reason = outlined(m, drawn)
			}
			if reason != "" {
				left = append(left, Skip{path, reason})
			}
		}
		p.masks = append(p.masks, masks)
	}
	return []picture{p}, left
}

// refuge is the set of the REFUGE challenge. Each photograph has one reference mask of a panel.
var refuge = Layout{
	Name: "refuge",
	Description: `REFUGE: 1,200 fundus photographs, disc and cup as one reference (one rater, "panel")
           Training400/*/g0001.jpg, Annotation-Training400/Disc_Cup_Masks/*/g0001.bmp, REFUGE-Validation400/V0001.jpg,
           REFUGE-Validation400-GT/Disc_Cup_Masks/V0001.bmp, … : a .bmp belongs to the .jpg of its name; 0 is the cup, 128 the rim,
           255 neither. split.json has the published split, by Training, Validation and Test in the folders' names`,
	list: listREFUGE,
}

// refugeCase is the paths of a photograph and its mask.
type refugeCase struct{ photograph, mask string }

func listREFUGE(o *Options) (*listing, error) {
	paths, err := files(o.Source)
	if err != nil {
		return nil, err
	}
	l := &listing{name: "refuge", source: "REFUGE challenge (Orlando et al. 2020)", classes: []string{"disc", "cup"}, raters: []string{"panel"},
		split: "the challenge's: Training400, Validation400 and Test400"}
	cases := map[string]*refugeCase{}
	for _, path := range paths {
		name := imageio.Stem(path)
		switch extension := strings.ToLower(imageio.Extension(path)); {
		case extension == ".bmp":
			l.claim(&caseOf(cases, name).mask, path)
		case extension != ".jpg" && extension != ".jpeg":
			l.skip(path, "neither a photograph (.jpg) nor a mask (.bmp)")
		case strings.Contains(path, "Illustration"):
			l.skip(path, "an illustration, with the masks drawn in")
		default:
			l.claim(&caseOf(cases, name).photograph, path)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		switch c := cases[name]; "" {
		case c.photograph:
			l.skip(c.mask, "there is no photograph of this name")
		case c.mask:
			l.skip(c.photograph, "there is no mask of this name")
		default:
			l.jobs = append(l.jobs, job{name, partNamed(pathBelow(o.Source, c.photograph)), func() ([]picture, []Skip) { return c.read(name) }})
		}
	}
	return l, nil
}

// partNamed is the part that a path names, by a folder whose name begins with training, validation
// or test, or has one of these after a hyphen. Without such a folder it is training.
func partNamed(path string) dataset.Part {
	for part := range strings.SplitSeq(filepath.ToSlash(strings.ToLower(filepath.Dir(path))), "/") {
		for word := range strings.SplitSeq(part, "-") {
			switch {
			case strings.HasPrefix(word, "validation"):
				return dataset.ForValidation
			case strings.HasPrefix(word, "test"):
				return dataset.ForTest
			}
		}
	}
	return dataset.ForTraining
}

func (c *refugeCase) read(name string) ([]picture, []Skip) {
	m, err := readImage(c.photograph)
	if err != nil {
		return nil, []Skip{{c.photograph, err.Error()}}
	}
	mask, err := readMask(c.mask, m)
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
	return []picture{{name: name, file: c.photograph, image: m, masks: [][][]uint8{{disc, cup}}}}, nil
}
