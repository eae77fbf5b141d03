// Package dataset reads folders of images with the masks of several raters, checks them, draws
// training batches from them, and writes the parts of a folder that importers and generators share.
//
// A data set is a folder:
//
//	dataset.json                      name, classes, raters, labels ("raters" or "agreement-levels")
//	images/NAME.png|jpg|tif|nii.gz|…  the images, one picture a file
//	raters/RATER/CLASS/NAME.png       the masks, 0 and 255, as large as their image
//	truth/CLASS/NAME.png              the true or arbitrated masks, if there are any: evaluate scores by them
//	diagnosis.csv                     name and label, 0 or 1, of images, for methods that learn from a diagnosis
//	groups.csv                        name and group, such as the patient: see GroupsFile
//	affines.csv                       name and affine of images that were NIfTI: see AffinesFile
//	split.json                        which images are for training, validation and test, see Split
//
// A rater NAME-again holds the second readings of the rater NAME. They say how far NAME agrees with
// NAME, and enter nothing else.
//
// A missing mask file is a missing label. Every other deviation from this form is an error: a mask
// of another size, an unreadable file, a folder of a rater or class that dataset.json does not
// name, a rater or class without a folder, a mask without an image. Open and Load return all errors
// at once, each with its file. OpenSound and LoadSound leave out the cases whose own files have
// errors. Check also finds data that can be read but is probably a mistake.
package dataset

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/files/imageio"
	"mrprism/internal/files/nifti"
	"mrprism/weights/disk"
)

// The kinds of labels, as dataset.json names them.
const (
	LabelsRaters = "raters"           // each rater folder is a person
	LabelsLevels = "agreement-levels" // folder j holds the pixels that at least j experts marked
)

// HoldOut is the period of held-out cases: every fifth in sorted order.
const HoldOut = 5

// Dataset is one folder, or several with the same classes and raters. A folder of agreement levels
// may be followed by folders of people: the people's masks are turned into the nearest levels.
type Dataset struct {
	Name    string // the folders' names, joined with "+"
	Classes []string
	Raters  []string
	Again   []string // raters with second readings, see Apart
	Levels  bool     // the raters are agreement levels
	Panels  bool     // a rater stands for all people of a folder, see AsPanels
	Cases   []Case   // folder by folder, sorted by name within each
	Missing []string // paths of masks that do not exist: labels that are missing

	Splits []string // the splits that divide the cases, as Split.String names them; nil: every fifth image is held out

	names     map[string]bool // of all images, including those left out for their faults
	strictest map[string]Part // by name: the most restricted part of the image or its group
	findings  []Finding       // warnings about the folders, for Check
}

// Case is one image with its masks, not yet read.
type Case struct {
	Name   string     // the image's file name without extension
	Folder string     // the dataset's name
	Image  string     // path
	W, H   int        // pixels, as displayed
	Masks  [][]string // paths (M, K), or (R, K) of R people beside levels; empty: missing
	Again  [][]string // paths (A, K) of second readings; empty: missing
	Part   Part       // what it is for
	Levels bool       // the raters are agreement levels
	Others bool       // marked by other people than the data set's raters: see Add
	Reader Reader     // of a case that lies in no folder; or nil

	Diagnosis Diagnosis       // of diagnosis.csv
	Group     string          // of groups.csv; empty: it is a group of its own
	Place     *nifti.Geometry // of affines.csv, or nil

	unit    string   // the first name, in order, among the images that stay together, see unite
	nearest int      // number of agreement levels that replace its people, see Loaded.levels; or 0
	panels  int      // number of panels that replace its people, see AsPanels; or 0
	panel   int      // the one of its people; -1 if they are none
	soft    bool     // its masks are probabilities, see Taught
	faults  Problems // of its files
	missing []string // paths of masks that do not exist
	turned  string   // a note for messages if EXIF exchanges the image's width and height
}

// Problems is a list of faults, one a line.
type Problems []string

// Error lists the first ten; "train check" lists all.
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

// AsError is the problems as an error; nil without problems.
func (p Problems) AsError() error {
	if len(p) == 0 {
		return nil
	}
	return p
}

func (p *Problems) add(format string, args ...any) { *p = append(*p, fmt.Sprintf(format, args...)) }

// Open reads the folders' descriptions, lists their cases and compares the size in every mask's
// header with its image's. The error is a Problems.
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

// OpenSound is Open, but leaves out the cases whose own files have faults and returns these faults.
// The remaining cases keep their place in the held-out split.
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

// drop leaves out cases and their missing masks.
func (d *Dataset) drop(bad func(Case) bool) {
	d.Cases = slices.DeleteFunc(d.Cases, bad)
	d.Missing = nil
	for _, c := range d.Cases {
		d.Missing = append(d.Missing, c.missing...)
	}
}

// survey lists the cases with their own faults, and the problems that belong to no case. The data
// set is nil if no folder can be opened.
func survey(dirs []string) (all *Dataset, problems Problems) {
	if len(dirs) == 0 {
		return nil, Problems{"no dataset folder given"}
	}
	dirs = distinct(dirs, &problems)
	for _, dir := range dirs {
		d := open(dir, &problems)
		switch {
		case d == nil:
		case all == nil:
			all = d
		default:
			if refusal := d.enter(all, dirs[0]); refusal != "" {
				problems.add("%s: %s", dir, refusal)
				continue
			}
			all.Name += "+" + d.Name
			all.Cases = append(all.Cases, d.Cases...)
			all.Splits = append(all.Splits, d.Splits...)
			all.findings = append(all.findings, d.findings...)
		}
	}
	if all != nil {
		all.settle()
		all.drop(func(Case) bool { return false })
	}
	return all, problems
}

// distinct trims the spaces around the folders' names. An empty name or a second name of one folder
// is a problem.
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

// open reads one folder; nil if its description has problems.
func open(dir string, problems *Problems) *Dataset {
	desc := describe(filepath.Join(dir, DescriptionFile), problems)
	if desc == nil {
		return nil
	}
	d := &Dataset{
		Name: cmp.Or(desc.Name, filepath.Base(dir)), Classes: desc.Classes, Raters: desc.Raters, Levels: desc.Labels == LabelsLevels,
	}
	misnamed(dir, problems)
	d.listImages(dir, problems)
	d.diagnose(dir, problems)
	d.group(dir, problems)
	d.place(dir, problems)
	d.unite()
	d.listMasks(dir, problems)
	d.listTruths(filepath.Join(dir, "truth"), problems)
	d.divide(dir, problems)
	for i := range d.Cases {
		d.Cases[i].Levels = d.Levels
	}
	return d
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// entries lists a folder in sorted order without hidden files. A folder that cannot be read is a
// problem.
func entries(dir, advice string, problems *Problems) []os.DirEntry {
	list, err := os.ReadDir(dir)
	if err != nil {
		problems.add("%s: cannot be read (%v); %s", dir, disk.Cause(err), advice)
	}
	return slices.DeleteFunc(list, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
}

func (d *Dataset) listImages(dir string, problems *Problems) {
	images := filepath.Join(dir, "images")
	byName := map[string]string{}
	for _, e := range entries(images, "images belong there", problems) {
		path, name := filepath.Join(images, e.Name()), NameOf(e.Name())
		info, err := header(path)
		switch {
		case err != nil && imageio.Extension(path) == "":
			problems.add("%s: not an image; convert or remove it", path)
			continue
		case err == nil && info.Slices > 1:
			problems.add("%s: holds %d pictures, and an image is one: import the slices of a volume, or save each picture as a file", path, info.Slices)
			continue
		}
		if other, twice := byName[name]; twice {
			problems.add("%s: there is also %s; masks could belong to either, remove one", path, filepath.Base(other))
			continue
		}
		byName[name] = path
		c := Case{Name: name, Folder: d.Name, Image: path, Masks: make([][]string, len(d.Raters))}
		for m := range c.Masks {
			c.Masks[m] = make([]string, len(d.Classes))
		}
		if err != nil {
			c.faults.add("%v", err) // listMasks still lists the masks, but does not compare their sizes
		} else {
			c.W, c.H = info.W, info.H
			if info.Orientation >= 5 {
				c.turned = fmt.Sprintf(" (as displayed: EXIF orientation %d turns it; draw the mask on the displayed image or remove the tag)", info.Orientation)
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
	for i, c := range d.Cases {
		index[c.Name] = i
	}
	raters := filepath.Join(dir, "raters")
	checkFolders(raters, "rater", d.Raters, problems)
	for m, rater := range d.Raters {
		if !exists(filepath.Join(raters, rater)) {
			continue // checkFolders has added the problem
		}
		checkFolders(filepath.Join(raters, rater), "class", d.Classes, problems)
		count := 0
		for k, class := range d.Classes {
			folder := filepath.Join(raters, rater, class)
			if !exists(folder) {
				continue
			}
			for _, e := range entries(folder, "masks belong there", problems) {
				count++
				path := filepath.Join(folder, e.Name())
				i, found := index[NameOf(e.Name())]
				switch {
				case !strings.EqualFold(imageio.Extension(e.Name()), ".png"):
					problems.add("%s: masks are .png files; convert or remove it", path)
				case !found:
					problems.add("%s: there is no image of this name; add it or remove the mask", path)
				case d.Cases[i].Masks[m][k] != "":
					problems.add("%s: there is also %s; one image has one mask, remove the other", path, filepath.Base(d.Cases[i].Masks[m][k]))
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
	d.Apart()
	for i := range d.Cases {
		d.Cases[i].count(raters, d.Raters, d.Classes)
	}
}

// listTruths checks the names in the folder of truths, if there is one.
func (d *Dataset) listTruths(dir string, problems *Problems) {
	if !exists(dir) {
		return
	}
	for _, class := range strange(dir, "class", d.Classes, problems) {
		folder := filepath.Join(dir, class)
		for _, e := range entries(folder, "true masks belong there", problems) {
			name := NameOf(e.Name())
			if !slices.ContainsFunc(d.Cases, func(c Case) bool { return c.Name == name }) {
				problems.add("%s: there is no image of this name; add it or remove the mask", filepath.Join(folder, e.Name()))
			}
		}
	}
}

const again = "-again"

// Second is the name under which a data set has the second readings of a rater.
func Second(rater string) string { return rater + again }

// IsSecond says whether a name is that of the second readings of one of the raters.
func IsSecond(name string, raters []string) bool {
	first, is := strings.CutSuffix(name, again)
	return is && !strings.HasSuffix(first, again) && slices.Contains(raters, first)
}

// Apart takes second readings out of the raters and the masks: a person counts once.
func (d *Dataset) Apart() {
	all := d.Raters
	second := func(m int) bool { return !d.Levels && IsSecond(all[m], all) }
	d.Raters, d.Again = parted(all, second)
	for i, name := range d.Again {
		d.Again[i] = strings.TrimSuffix(name, again)
	}
	for i := range d.Cases {
		d.Cases[i].Masks, d.Cases[i].Again = parted(d.Cases[i].Masks, second)
	}
}

func parted[T any](all []T, second func(i int) bool) (first, others []T) {
	for i, v := range all {
		if second(i) {
			others = append(others, v)
		} else {
			first = append(first, v)
		}
	}
	return first, others
}

// count lists the missing masks. A class that nobody marked is a fault: there is nothing to compare
// with.
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
			c.faults.add("%s: no rater has marked the %s in it; add a mask (all 0 if the structure is absent) or remove the image", c.Image, class)
		}
	}
}

// checkFolders compares a folder's sub-folders with the names in dataset.json.
func checkFolders(dir, kind string, names []string, problems *Problems) {
	present := strange(dir, kind, names, problems)
	for _, n := range names {
		if !slices.Contains(present, n) {
			problems.add("%s: the %s is in dataset.json but has no folder; add it or remove the name", filepath.Join(dir, n), kind)
		}
	}
}

// strange returns the names in a folder. It adds a problem for each name that dataset.json lacks.
func strange(dir, kind string, names []string, problems *Problems) (present []string) {
	for _, e := range entries(dir, "a folder for each "+kind+" belongs there", problems) {
		present = append(present, e.Name())
		if !slices.Contains(names, e.Name()) {
			problems.add("%s: dataset.json names no such %s (%s)", filepath.Join(dir, e.Name()), kind, strings.Join(names, ", "))
		}
	}
	return present
}

// checkSize adds a fault if a mask's header cannot be read or its size differs from the image's.
func (c *Case) checkSize(path string) {
	info, err := header(path)
	if err == nil {
		err = c.checkFit(path, info.W, info.H)
	}
	if err != nil {
		c.faults.add("%v", err)
	}
}

// checkFit refuses a mask of another size than its image's. It accepts any mask if the image's size
// is not known.
func (c *Case) checkFit(path string, w, h int) error {
	if c.W != 0 && (w != c.W || h != c.H) {
		return fmt.Errorf("%s: the mask is %d×%d pixels but %s is %d×%d%s; they must be equal", path, w, h, c.Image, c.W, c.H, c.turned)
	}
	return nil
}

// As rearranges the masks of every case to other classes, in their order. A class that the data set
// lacks becomes a missing label. A class of the data set that is not among classes is an error.
func (d *Dataset) As(classes []string) error {
	column := make([]int, len(d.Classes))
	for k, class := range d.Classes {
		if column[k] = slices.Index(classes, class); column[k] < 0 {
			return fmt.Errorf("%s marks %s, which is none of %s", d.Name, class, strings.Join(classes, ", "))
		}
	}
	for i := range d.Cases {
		for m, paths := range d.Cases[i].Masks {
			masks := make([]string, len(classes))
			for k, path := range paths {
				masks[column[k]] = path
			}
			d.Cases[i].Masks[m] = masks
		}
	}
	d.Classes = slices.Clone(classes)
	return nil
}

// Add adds the cases of folders that other people have marked. These folders may have fewer
// classes. The mean vote of these people teaches the fused mask: as many masks as d has raters
// stand for it, as nearly as they can. The raters' heads learn nothing from these cases.
func (d *Dataset) Add(others *Dataset) error {
	for i := range others.Cases {
		others.Cases[i].Others = true
	}
	return d.join(others)
}

// join adds the cases of folders, which may have fewer classes.
func (d *Dataset) join(others *Dataset) error {
	if err := others.As(d.Classes); err != nil {
		return err
	}
	d.Cases = append(d.Cases, others.Cases...)
	for name, part := range others.strictest {
		d.names[name] = true
		d.restrict(name, part)
	}
	d.spread()
	d.Splits = append(d.Splits, others.Splits...)
	d.Name += "+" + others.Name
	return nil
}
