package importer

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// riga is the RIGA set. Six ophthalmologists drew disc and cup into copies of each photograph.
var riga = Layout{
	Name: "riga",
	Description: `RIGA: 750 fundus photographs, disc and cup drawn by six ophthalmologists (rater1 to rater6)
           MESSIDOR/image1prime.tif with image1-1.tif to image1-6.tif, BinRushed/BinRushed2/image1prime.jpg with image1-1.jpg …,
           Magrabia/Magrabia/MagrabiaMale/…: prime is the photograph, the others are copies with one rater's two outlines drawn in.
           The import compares them with the photograph, finds the outlines and fills them up to the middle of the stroke.
           If there is a folder BinRushed1-Corrected, it replaces BinRushed1`,
	list: listRIGA,
}

const rigaRaters = 6

var (
	rigaPhotograph = regexp.MustCompile(`(?i)^image(\d+)prime\.(tiff?|jpe?g|png|bmp)$`)
	rigaDrawn      = regexp.MustCompile(`(?i)^image(\d+)-([1-6])\.(tiff?|jpe?g|png|bmp)$`)
)

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
	l := &listing{name: "riga", source: "RIGA (Almazroa et al. 2018), University of Michigan Deep Blue Data", classes: []string{"disc", "cup"}}
	for r := range rigaRaters {
		l.raters = append(l.raters, fmt.Sprintf("rater%d", r+1))
	}
	paths = l.withoutCorrected(paths)
	cases := map[string]*rigaCase{}
	var order []*rigaCase
	of := func(path, number string) *rigaCase {
		key := filepath.Join(filepath.Dir(path), number)
		if cases[key] == nil {
			cases[key] = &rigaCase{folder: filepath.Dir(path), number: number}
			order = append(order, cases[key])
		}
		return cases[key]
	}
	for _, path := range paths {
		var place *string
		if found := rigaPhotograph.FindStringSubmatch(filepath.Base(path)); found != nil {
			place = &of(path, found[1]).photograph
		} else if found := rigaDrawn.FindStringSubmatch(filepath.Base(path)); found != nil {
			place = &of(path, found[1]).drawn[found[2][0]-'1']
		}
		if place == nil {
			l.skip(path, "neither imageNprime nor imageN-1 to imageN-6")
			continue
		}
		l.claim(place, path)
	}
	names := rigaNames(o.Source, order)
	for _, c := range order {
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
			l.jobs = append(l.jobs, job{name, func() ([]picture, []Skip) { return c.read(name) }})
		}
	}
	return l, nil
}

// withoutCorrected leaves out the files of a folder if there is a corrected folder beside it.
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

// rigaNames gives every folder a short name: its own, or its path from the source on if two folders
// share a name.
func rigaNames(source string, cases []*rigaCase) map[string]string {
	folders := map[string][]string{}
	for _, c := range cases {
		short := strings.ToLower(filepath.Base(c.folder))
		if !slices.Contains(folders[short], c.folder) {
			folders[short] = append(folders[short], c.folder)
		}
	}
	names := map[string]string{}
	for short, same := range folders {
		for _, folder := range same {
			names[folder] = short
			if relative, err := filepath.Rel(filepath.Dir(source), folder); err == nil && len(same) > 1 {
				names[folder] = strings.ToLower(strings.ReplaceAll(filepath.ToSlash(relative), "/", "-"))
			}
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
			drawn, err := readOther(path, m)
			reason := ""
			if err != nil {
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
