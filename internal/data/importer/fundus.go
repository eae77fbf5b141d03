package importer

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mrprism/internal/data/dataset"
	"mrprism/internal/files/imageio"
)

// photographs are a set of photographs of the eye, with disc and cup in files of their own.
type photographs struct {
	id, source, split string // as name, source and split of a listing
	raters            []string
	files             int // of a rater: one of disc and cup, or one of each

	// place says which case a path belongs to, and as which of its files: 0 is the photograph, others
	// are the raters' in turn. A path without a case has a reason.
	place       func(path string) (key string, at int, reason string)
	alone, bare string // reasons to skip marks without a photograph, and a photograph without marks, of a case NAME
	name        func(key string) string
	part        func(path string) dataset.Part
	masks       func(path string, photograph *imageio.Image) ([][]uint8, error) // with an error also those that can be used
}

// list lists the cases in a folder.
func (s photographs) list(o *Options) (*listing, error) {
	paths, err := files(o.Source)
	if err != nil {
		return nil, err
	}
	return s.among(paths, o.Source, nil)
}

// among lists the cases among files.
func (s photographs) among(paths []string, source string, skipped []Skip) (*listing, error) {
	l := &listing{name: s.id, source: s.source, split: s.split, classes: []string{"disc", "cup"}, raters: slices.Clone(s.raters), skipped: skipped}
	cases := map[string][]string{}
	for _, path := range paths {
		key, at, reason := s.place(path)
		if reason != "" {
			l.skip(path, reason)
			continue
		}
		if cases[key] == nil {
			cases[key] = make([]string, 1+len(s.raters)*s.files)
		}
		l.claim(&cases[key][at], path)
	}
	for _, key := range slices.Sorted(maps.Keys(cases)) {
		photograph, marks := cases[key][0], cases[key][1:]
		given := slices.DeleteFunc(slices.Clone(marks), func(path string) bool { return path == "" })
		switch {
		case photograph == "":
			for _, path := range given {
				l.skip(path, strings.ReplaceAll(s.alone, "NAME", filepath.Base(key)))
			}
		case len(given) == 0:
			l.skip(photograph, strings.ReplaceAll(s.bare, "NAME", filepath.Base(key)))
		default:
			name := s.name(key)
			l.jobs = append(l.jobs, job{name, s.part(pathBelow(source, photograph)), func() ([]picture, []Skip) { return s.read(name, photograph, marks) }})
		}
	}
	return l, l.distinctJobs()
}

// read reads a photograph and its marks. A mask that cannot be used becomes a missing label.
func (s photographs) read(name, photograph string, marks []string) ([]picture, []Skip) {
	m, err := readImage(photograph)
	if err != nil {
		return nil, []Skip{{photograph, err.Error()}}
	}
	p := picture{name: name, file: photograph, image: m}
	var left []Skip
	for files := range slices.Chunk(marks, s.files) {
		var row [][]uint8
		for _, path := range files {
			masks := make([][]uint8, 2/s.files)
			if path != "" {
				found, err := s.masks(path, m)
				if copy(masks, found); err != nil {
					left = append(left, Skip{path, err.Error()})
				}
			}
			row = append(row, masks...)
		}
		p.masks = append(p.masks, row)
	}
	return []picture{p}, left
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

// numbered are rater1, rater2, ….
func numbered(n int) (raters []string) {
	for r := range n {
		raters = append(raters, fmt.Sprintf("rater%d", r+1))
	}
	return raters
}

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

// rigaFile is a photograph or the copy of a rater.
var rigaFile = regexp.MustCompile(`(?i)^image(\d+)(prime|-[1-6])\.(tiff?|jpe?g|png|bmp)$`)

func listRIGA(o *Options) (*listing, error) {
	paths, err := files(o.Source)
	if err != nil {
		return nil, err
	}
	paths, skipped := withoutCorrected(paths)
	names := rigaNames(o.Source, paths)
	set := photographs{
		id: "riga", source: "RIGA (Almazroa et al. 2018), University of Michigan Deep Blue Data", raters: numbered(6), files: 1, masks: outlines,
		split: "the protocol of MRNet (Ji et al. 2021): train on BinRushed and MESSIDOR, test on Magrabia",
		alone: "there is no NAMEprime beside it", bare: "there is no NAME-1 to NAME-6 beside it",
		place: func(path string) (key string, at int, reason string) {
			found := rigaFile.FindStringSubmatch(filepath.Base(path))
			if found == nil {
				return "", 0, "neither imageNprime nor imageN-1 to imageN-6"
			}
			if found[2][0] == '-' {
				at = int(found[2][1] - '0')
			}
			return filepath.Join(filepath.Dir(path), "image"+found[1]), at, ""
		},
		name: func(key string) string { return names[filepath.Dir(key)] + "-" + filepath.Base(key) },
		part: func(path string) dataset.Part { // of the protocol of MRNet: photographs of Magrabia test
			if strings.Contains(strings.ToLower(filepath.Dir(path)), "magrabi") {
				return dataset.ForTest
			}
			return dataset.ForTraining
		},
	}
	return set.among(paths, o.Source, skipped)
}

// pathBelow is a path from the folder that holds the source on: folders above tell nothing.
func pathBelow(source, path string) string {
	if relative, err := filepath.Rel(filepath.Dir(source), path); err == nil {
		return relative
	}
	return path
}

// withoutCorrected omits the files of a folder if there is a corrected folder beside it.
func withoutCorrected(paths []string) (kept []string, skipped []Skip) {
	const corrected = "-Corrected"
	present := map[string]int{}
	for _, path := range paths {
		present[filepath.Dir(path)]++
	}
	for folder, n := range present {
		if present[folder+corrected] > 0 {
			skipped = append(skipped, Skip{folder, fmt.Sprintf("%d files: %s replaces it", n, filepath.Base(folder)+corrected)})
		}
	}
	return slices.DeleteFunc(paths, func(path string) bool { return present[filepath.Dir(path)+corrected] > 0 }), skipped
}

// rigaNames gives every folder with photographs or copies a short name: its own, or, if two folders
// share that name, its path below the source.
func rigaNames(source string, paths []string) map[string]string {
	names, alike := map[string]string{}, map[string]int{}
	for _, path := range paths {
		if folder := filepath.Dir(path); names[folder] == "" && rigaFile.MatchString(filepath.Base(path)) {
			names[folder] = strings.ToLower(filepath.Base(folder))
			alike[names[folder]]++
		}
	}
	for folder, name := range names {
		if alike[name] > 1 {
			names[folder] = strings.ToLower(strings.ReplaceAll(filepath.ToSlash(pathBelow(source, folder)), "/", "-"))
		}
	}
	return names
}

// outlines finds a rater's outlines in a copy of a photograph.
func outlines(path string, photograph *imageio.Image) ([][]uint8, error) {
	drawn, err := readImage(path)
	if err := fits(drawn, photograph, err); err != nil {
		return nil, err
	}
	disc, cup, reason := outlined(photograph, drawn)
	if reason != "" {
		err = errors.New(reason)
	}
	return [][]uint8{disc, cup}, err
}

// refuge is the set of the REFUGE challenge. Each photograph has one reference mask of a panel.
var refuge = Layout{
	Name: "refuge",
	Description: `REFUGE: 1,200 fundus photographs, disc and cup as one reference (one rater, "panel")
           Training400/*/g0001.jpg, Annotation-Training400/Disc_Cup_Masks/*/g0001.bmp, REFUGE-Validation400/V0001.jpg,
           REFUGE-Validation400-GT/Disc_Cup_Masks/V0001.bmp, … : a .bmp belongs to the .jpg of its name; 0 is the cup, 128 the rim,
           255 neither. split.json has the published split, by Training, Validation and Test in the folders' names`,
	list: photographs{
		id: "refuge", source: "REFUGE challenge (Orlando et al. 2020)", split: "the challenge's: Training400, Validation400 and Test400", raters: []string{"panel"}, files: 1,
		place: func(path string) (key string, at int, reason string) {
			switch extension := strings.ToLower(imageio.Extension(path)); {
			case extension == ".bmp":
				at = 1
			case extension != ".jpg" && extension != ".jpeg":
				reason = "neither a photograph (.jpg) nor a mask (.bmp)"
			case strings.Contains(path, "Illustration"):
				reason = "an illustration, with the masks drawn in"
			}
			return imageio.Stem(path), at, reason
		},
		alone: "there is no photograph NAME.jpg", bare: "there is no mask NAME.bmp",
		name: filepath.Base, part: partNamed, masks: discAndCup,
	}.list,
}

// partNamed is the part that a word of a path names: validation, test or testing. Without such a
// word it is training.
func partNamed(path string) dataset.Part {
	for _, word := range strings.FieldsFunc(strings.ToLower(path), func(r rune) bool { return r < 'a' || r > 'z' }) {
		switch word {
		case "val", "valid", "validation":
			return dataset.ForValidation
		case "test", "testing":
			return dataset.ForTest
		}
	}
	return dataset.ForTraining
}

// discAndCup reads a mask of both.
func discAndCup(path string, photograph *imageio.Image) ([][]uint8, error) {
	mask, err := readMask(path, photograph)
	if err != nil {
		return nil, err
	}
	disc, cup := make([]uint8, mask.W*mask.H), make([]uint8, mask.W*mask.H)
	for i := range disc {
		r, g, b := mask.Pix[3*i], mask.Pix[3*i+1], mask.Pix[3*i+2]
		switch {
		case r != g || r != b:
			return nil, fmt.Errorf("holds the colour %d,%d,%d at x %d, y %d; a mask is grey", r, g, b, i%mask.W, i/mask.W)
		case r == 0:
			disc[i], cup[i] = 1, 1
		case r == 128:
			disc[i] = 1
		case r != 255:
			return nil, fmt.Errorf("holds the value %d at x %d, y %d; 0, 128 and 255 are cup, rim and neither", r, i%mask.W, i/mask.W)
		}
	}
	return [][]uint8{disc, cup}, nil
}

// refugeRaters is REFUGE with the masks of its seven ophthalmologists, in the form in which the
// authors of MrPrism and others distribute it.
var refugeRaters = Layout{
	Name: "refuge-raters",
	Description: `REFUGE with the masks of its seven ophthalmologists (rater1 to rater7), as sets for MrPrism and Medical-SAM-Adapter have it
           Training-400/0826/0826.jpg with 0826_seg_disc_1.png to 0826_seg_disc_7.png and 0826_seg_cup_1.png to 0826_seg_cup_7.png,
           Validation-400/…, Test-400/…: grey of 128 or more is marked. split.json has the published split, by the folders' names`,
	list: photographs{
		id: "refuge-raters", source: "REFUGE challenge (Orlando et al. 2020), with each rater's masks", split: "the challenge's: Training-400, Validation-400 and Test-400",
		raters: numbered(9), files: 2, // raters without a mask are left out
		place: func(path string) (key string, at int, reason string) {
			folder, base := filepath.Dir(path), filepath.Base(path)
			if found := refugeMark.FindStringSubmatch(base); found != nil {
				at = 2*int(found[3][0]-'1') + 1
				if strings.EqualFold(found[2], "cup") {
					at++
				}
				return filepath.Join(folder, found[1]), at, ""
			}
			name := imageio.Stem(base)
			if !slices.Contains([]string{".jpg", ".jpeg", ".png", ".bmp"}, strings.ToLower(imageio.Extension(base))) || name != filepath.Base(folder) {
				reason = "neither NAME/NAME.jpg nor NAME/NAME_seg_disc_N.png or NAME_seg_cup_N.png"
			}
			return filepath.Join(folder, name), 0, reason
		},
		alone: "a mask without a photograph NAME.jpg beside it", bare: "there is no mask NAME_seg_disc_N.png beside it",
		name: filepath.Base, part: partNamed, masks: bright,
	}.list,
}

// refugeMark is a rater's mask: name, class and rater.
var refugeMark = regexp.MustCompile(`(?i)^(.+)_seg_(disc|cup)_([1-9])\.(?:png|jpe?g|bmp)$`)

// bright reads a mask, which are the pixels of 128 or more.
func bright(path string, photograph *imageio.Image) ([][]uint8, error) {
	m, err := readMask(path, photograph)
	if err != nil {
		return nil, err
	}
	mask := make([]uint8, m.W*m.H)
	for i := range mask {
		mask[i] = m.Pix[3*i+1] >> 7
	}
	return [][]uint8{mask}, nil
}
