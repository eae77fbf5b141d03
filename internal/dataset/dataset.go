// Package dataset reads folders of images with the masks of several raters, checks them, and draws training batches from them.
//
// A dataset is a folder:
//
//	dataset.json                      name, classes, raters, labels ("raters" or "agreement-levels")
//	images/NAME.png|jpg               the images
//	raters/RATER/CLASS/NAME.png       the masks, 0 and 255, as large as their image
//	truth/CLASS/NAME.png              what is true, where that is known: evaluate scores by it
//
// A missing mask file is a missing label. Everything else that is not as above is an error, and all errors are listed together,
// each with its file: a mask of another size, an unreadable file, a folder of a rater or class that dataset.json does not name, a
// rater or class without a folder, a mask without an image. Where asked, cases with faults of their own are left out instead
// (OpenSound, LoadSound); Check looks further, for what is read but can hardly be meant.
package dataset

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/imageio"
)

// Kinds of labels, as dataset.json names them.
const (
	LabelsRaters = "raters"           // each rater folder is a person
	LabelsLevels = "agreement-levels" // folder j holds what at least j experts marked
)

// HoldOut is the period of held-out cases: every fifth in sorted order.
const HoldOut = 5

// Dataset is one folder or several of the same classes and raters.
type Dataset struct {
	Name    string // the folders' names, joined with "+"
	Classes []string
	Raters  []string
	Levels  bool     // the raters are agreement levels
	Cases   []Case   // folder by folder, sorted by name within each
	Missing []string // paths of masks that do not exist: labels that are missing

	held map[string]bool // names of the cases that are held out, those left out for their faults too
}

// Case is one image with its masks, not yet read.
type Case struct {
	Name    string     // the image's file name without extension
	Folder  string     // the dataset's name
	Image   string     // path
	W, H    int        // pixels, as displayed
	Masks   [][]string // paths (M, K); empty where the label is missing
	HeldOut bool       // every fifth of its folder: used for measuring and nothing else
	Levels  bool       // the raters are agreement levels
	Others  bool       // marked by other people than the data set's raters: see Add

	faults  Problems // of its files
	missing []string // paths of masks that do not exist
	turned  string   // says so where EXIF exchanges the image's width and height
}

// Problems is every fault found, one a line.
type Problems []string

// Error lists the first ten; "train check" has them all.
func (p Problems) Error() string {
	if len(p) == 1 {
		return p[0]
	}
	shown, more := p[:min(len(p), 10)], ""
	if len(p) > len(shown) {
		more = fmt.Sprintf("\n  … and %d more", len(p)-len(shown))
	}
	return fmt.Sprintf("%d problems with the data:\n  %s%s", len(p), strings.Join(shown, "\n  "), more)
}

func (p *Problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// Open reads the folders' descriptions, lists their cases and compares the size in every mask's header with its image's. The error
// is a Problems.
func Open(dirs ...string) (*Dataset, error) {
	d, problems := survey(dirs)
	if d != nil {
		for _, c := range d.Cases {
			problems = append(problems, c.faults...)
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return d, nil
}

// OpenSound is Open, but leaves out the cases whose own files are at fault and says what is wrong with them. Which of the others are
// held out does not change by that.
func OpenSound(dirs ...string) (d *Dataset, left Problems, err error) {
	d, problems := survey(dirs)
	if len(problems) > 0 {
		return nil, nil, problems
	}
	d.drop(func(c Case) bool {
		left = append(left, c.faults...)
		return len(c.faults) > 0
	})
	return d, left, nil
}

// drop leaves out cases, and what is missing of them.
func (d *Dataset) drop(bad func(Case) bool) {
	d.Cases = slices.DeleteFunc(d.Cases, bad)
	d.Missing = nil
	for _, c := range d.Cases {
		d.Missing = append(d.Missing, c.missing...)
	}
}

// survey lists the cases, with their own faults, and the problems that belong to none of them; nil where there is nothing to go on
// with.
func survey(dirs []string) (*Dataset, Problems) {
	if len(dirs) == 0 {
		return nil, Problems{"no dataset folder given"}
	}
	var all *Dataset
	var problems Problems
	dirs = distinct(dirs, &problems)
	for _, dir := range dirs {
		d := open(dir, &problems)
		if d == nil {
			continue
		}
		if all == nil {
			all = d
			continue
		}
		if !slices.Equal(d.Classes, all.Classes) || !slices.Equal(d.Raters, all.Raters) || d.Levels != all.Levels {
			problems.add("%s: its classes, raters or labels differ from those of %s; only datasets of the same can be mixed", dir, dirs[0])
			continue
		}
		all.Name += "+" + d.Name
		all.Cases = append(all.Cases, d.Cases...)
	}
	if all != nil {
		all.held = map[string]bool{}
		for _, c := range all.Cases {
			all.held[c.Name] = all.held[c.Name] || c.HeldOut
		}
		all.drop(func(Case) bool { return false })
	}
	return all, problems
}

// distinct is the folders without the spaces around their names. Names that are empty and folders that are named again are problems.
func distinct(dirs []string, problems *Problems) (folders []string) {
	var infos []os.FileInfo
	for _, dir := range dirs {
		dir = strings.TrimSpace(dir)
		info, err := os.Stat(dir)
		again := slices.IndexFunc(infos, func(other os.FileInfo) bool { return err == nil && os.SameFile(info, other) })
		switch {
		case dir == "":
			problems.add("%q: a folder's name is empty; remove the comma or name the folder", strings.Join(dirs, ","))
		case again >= 0:
			problems.add("%s: the same folder as %s, and would count twice; name it once", dir, folders[again])
		default:
			folders, infos = append(folders, dir), append(infos, info)
		}
	}
	return folders
}

// open reads one folder; nil where there is nothing to go on with.
func open(dir string, problems *Problems) *Dataset {
	desc := describe(filepath.Join(dir, "dataset.json"), problems)
	if desc == nil {
		return nil
	}
	if desc.Name == "" {
		desc.Name = filepath.Base(dir)
	}
	d := &Dataset{Name: desc.Name, Classes: desc.Classes, Raters: desc.Raters, Levels: desc.Labels == LabelsLevels}
	d.listImages(dir, problems)
	d.listMasks(dir, problems)
	truth := filepath.Join(dir, "truth")
	if _, err := os.Stat(truth); err == nil {
		strange(truth, "class", d.Classes, problems)
	}
	for i := range d.Cases {
		d.Cases[i].HeldOut, d.Cases[i].Levels = i%HoldOut == HoldOut-1, d.Levels
	}
	return d
}

// entries lists a folder in sorted order without hidden files; a folder that cannot be read is a problem.
func entries(dir, advice string, problems *Problems) []os.DirEntry {
	list, err := os.ReadDir(dir)
	if err != nil {
		problems.add("%s: cannot be read (%v); %s", dir, cause(err), advice)
	}
	return slices.DeleteFunc(list, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
}

func (d *Dataset) listImages(dir string, problems *Problems) {
	images := filepath.Join(dir, "images")
	byName := map[string]string{}
	for _, e := range entries(images, "images belong there", problems) {
		path := filepath.Join(images, e.Name())
		extension := filepath.Ext(e.Name())
		name := strings.TrimSuffix(e.Name(), extension)
		switch strings.ToLower(extension) {
		case ".png", ".jpg", ".jpeg":
		default:
			problems.add("%s: not a .png or .jpg; convert or remove it", path)
			continue
		}
		if other, twice := byName[name]; twice {
			problems.add("%s: there is also %s; masks could belong to either, remove one", path, filepath.Base(other))
			continue
		}
		byName[name] = path
		c := Case{Name: name, Folder: d.Name, Image: path}
		if info, err := header(path); err != nil {
			c.faults.add("%v", err) // masks are still listed; their sizes are not compared
		} else {
			c.W, c.H = info.W, info.H
			if info.Orientation >= 5 {
				c.turned = fmt.Sprintf(" (as displayed: EXIF orientation %d turns it; draw the mask so or remove the tag)", info.Orientation)
			}
		}
		d.Cases = append(d.Cases, c)
	}
	if len(d.Cases) == 0 {
		problems.add("%s: no images", images)
	}
	slices.SortFunc(d.Cases, func(a, b Case) int { return strings.Compare(a.Name, b.Name) })
}

func (d *Dataset) listMasks(dir string, problems *Problems) {
	index := map[string]int{}
	for i := range d.Cases {
		c := &d.Cases[i]
		index[c.Name] = i
		c.Masks = make([][]string, len(d.Raters))
		for m := range c.Masks {
			c.Masks[m] = make([]string, len(d.Classes))
		}
	}
	raters := filepath.Join(dir, "raters")
	known(raters, "rater", d.Raters, problems)
	for m, rater := range d.Raters {
		if _, err := os.Stat(filepath.Join(raters, rater)); err != nil {
			continue // known has said so
		}
		known(filepath.Join(raters, rater), "class", d.Classes, problems)
		count := 0
		for k, class := range d.Classes {
			folder := filepath.Join(raters, rater, class)
			if _, err := os.Stat(folder); err != nil {
				continue
			}
			for _, e := range entries(folder, "masks belong there", problems) {
				count++
				path := filepath.Join(folder, e.Name())
				i, found := index[strings.TrimSuffix(e.Name(), ".png")]
				switch {
				case !strings.HasSuffix(e.Name(), ".png"):
					problems.add("%s: masks are .png files; convert or remove it", path)
				case !found:
					problems.add("%s: there is no image of this name; add it or remove the mask", path)
				default:
					d.Cases[i].Masks[m][k] = path
					d.Cases[i].checkSize(path)
				}
			}
		}
		if count == 0 {
			problems.add("%s: no masks; remove the rater from dataset.json or add them", filepath.Join(raters, rater))
		}
	}
	for i := range d.Cases {
		d.Cases[i].count(raters, d.Raters, d.Classes)
	}
}

// count names the masks that are missing. A class that nobody marked is a fault: there is nothing to compare with.
func (c *Case) count(folder string, raters, classes []string) {
	for k, class := range classes {
		given := 0
		for m, rater := range raters {
			if c.Masks[m][k] != "" {
				given++
				continue
			}
			c.missing = append(c.missing, filepath.Join(folder, rater, class, c.Name+".png"))
		}
		if given == 0 {
			c.faults.add("%s: no rater has marked the %s in it; add a mask, of 0 where there is none, or remove it", c.Image, class)
		}
	}
}

// known compares a folder's sub-folders with the names that dataset.json gives.
func known(dir, kind string, names []string, problems *Problems) {
	present := strange(dir, kind, names, problems)
	for _, n := range names {
		if !present[n] {
			problems.add("%s: the %s is in dataset.json but has no folder; add it or remove the name", filepath.Join(dir, n), kind)
		}
	}
}

// strange finds what is in a folder under another name than dataset.json gives, and tells what is there.
func strange(dir, kind string, names []string, problems *Problems) (present map[string]bool) {
	present = map[string]bool{}
	for _, e := range entries(dir, "a folder for each "+kind+" belongs there", problems) {
		present[e.Name()] = true
		if !slices.Contains(names, e.Name()) {
			problems.add("%s: dataset.json names no such %s (%s)", filepath.Join(dir, e.Name()), kind, strings.Join(names, ", "))
		}
	}
	return present
}

func (c *Case) checkSize(path string) {
	info, err := header(path)
	if err != nil {
		c.faults.add("%v", err)
		return
	}
	if err := c.fits(path, info.W, info.H); err != nil {
		c.faults.add("%v", err)
	}
}

// fits refuses a mask of another size than its image's, where that is known.
func (c *Case) fits(path string, w, h int) error {
	if c.W != 0 && (w != c.W || h != c.H) {
		return fmt.Errorf("%s: the mask is %d×%d pixels but %s is %d×%d%s; they must be equal", path, w, h, c.Image, c.W, c.H, c.turned)
	}
	return nil
}

func header(path string) (*imageio.Info, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read (%v)", path, cause(err))
	}
	return imageio.Header(path, data)
}

// cause is a file error without the path, which the message has already.
func cause(err error) error {
	if p, ok := err.(*os.PathError); ok {
		return p.Err
	}
	return err
}

// HeldOut lists the cases that are only for measuring.
func (d *Dataset) HeldOut() []Case {
	return slices.DeleteFunc(slices.Clone(d.Cases), func(c Case) bool { return !c.HeldOut })
}

// Training lists the cases to learn from. Where datasets are mixed, a case is left out if one of the same name is held out in any
// of them, though its files may be at fault: the same eye may be in both, as a crop and as a photograph.
func (d *Dataset) Training() []Case {
	return slices.DeleteFunc(slices.Clone(d.Cases), func(c Case) bool { return d.held[c.Name] })
}
