package importer

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mrprism/internal/choice"
	"mrprism/internal/data/dataset"
	"mrprism/internal/files/imageio"
	"mrprism/internal/files/nifti"
	"mrprism/weights"
)

// qubiq is the set of the QUBIQ challenge: organs in CT and MRI, each with its own raters and
// tasks.
var qubiq = Layout{
	Name: "qubiq",
	Description: `QUBIQ 2020 and 2021: one organ's folder (brain-growth, brain-tumor, kidney, prostate, pancreas, pancreatic-lesion), raters and
           tasks as there are
           brain-growth/Training/case01/image.nii.gz with task01_seg01.nii.gz to task01_seg07.nii.gz, …, brain-growth/Validation/…:
           a task is a class, a seg a rater; every voxel other than 0 is marked. A mask whose affine exchanges or turns axes
           is brought into the order of image.nii, and one that lies elsewhere is left out; affines.csv keeps the
           affines of images, for "evaluate compare" of NIfTI predictions. split.json has
           Training as train and Validation as test, as papers score it; if there is also a Test, Validation is validation`,
	list: listQUBIQ,
}

var (
	qubiqImage = regexp.MustCompile(`(?i)^image\.nii(\.gz)?$`)
	qubiqMask  = regexp.MustCompile(`(?i)^task(\d{1,3})_seg(\d{1,3})\.nii(\.gz)?$`)
)

// qubiqCase is a case's folder.
type qubiqCase struct {
	name, split string
	image       string
	masks       map[[2]int]string // by task and rater, as numbered
	values      map[int][]int     // by task: those of its voxels in a label map; nil: there are none
}

func listQUBIQ(o *Options) (*listing, error) {
	paths, err := files(o.Source)
	if err != nil {
		return nil, err
	}
	l := &listing{}
	cases := map[string]*qubiqCase{}
	for _, path := range paths {
		if qubiqImage.MatchString(filepath.Base(path)) {
			folder := filepath.Dir(path)
			if cases[folder] == nil {
				cases[folder] = &qubiqCase{name: filepath.Base(folder), masks: map[[2]int]string{}}
			}
			l.claim(&cases[folder].image, path)
		}
	}
	var tasks, raters []int
	for _, path := range paths {
		c := cases[filepath.Dir(path)]
		found := qubiqMask.FindStringSubmatch(filepath.Base(path))
		switch {
		case qubiqImage.MatchString(filepath.Base(path)):
		case found == nil:
			l.skip(path, "neither image.nii nor taskN_segN.nii, with or without .gz")
		case c == nil:
			l.skip(path, "there is no image.nii beside it")
		default:
			task, _ := strconv.Atoi(found[1])
			rater, _ := strconv.Atoi(found[2])
			place := c.masks[[2]int{task, rater}]
			l.claim(&place, path)
			c.masks[[2]int{task, rater}] = place
			tasks, raters = append(tasks, task), append(raters, rater)
		}
	}
	tasks, raters = distinct(tasks), distinct(raters)
	organ, err := oneOrgan(o.Source, cases)
	if err != nil || len(cases) == 0 {
		return l, err
	}
	l.name, l.source = "qubiq-"+organ, "QUBIQ challenge, "+organ
	if l.classes, err = taskNames(o, organ, tasks); err != nil {
		return nil, err
	}
	for _, r := range raters {
		l.raters = append(l.raters, fmt.Sprintf("rater%d", r))
	}
	l.split = "the challenge's folders"
	tested := false
	for _, c := range cases {
		tested = tested || strings.HasPrefix(c.split, "test")
	}
	twice := map[string]int{}
	for _, c := range cases {
		twice[c.name]++
	}
	for _, c := range cases {
		if len(c.masks) == 0 {
			l.skip(c.image, "nobody has marked it: there is no taskN_segN.nii beside it")
			continue
		}
		name := c.name
		if twice[name] > 1 {
			name = c.split + "-" + name
		}
		l.jobs = append(l.jobs, job{name, c.part(tested), func() ([]picture, []Skip) { return c.read(o, name, tasks, raters) }})
	}
	return l, nil
}

// part is the case's part. If there is no Test folder, Validation is for test, as in papers.
func (c *qubiqCase) part(tested bool) dataset.Part {
	switch {
	case c.split == "" || c.split == "training":
		return dataset.ForTraining
	case c.split == "validation" && tested:
		return dataset.ForValidation
	}
	return dataset.ForTest
}

// oneOrgan is the name of the folder that holds the cases, or that holds Training, Validation or
// Test with the cases. Two organs are an error: each has its own raters.
func oneOrgan(source string, cases map[string]*qubiqCase) (string, error) {
	var organs []string
	for folder, c := range cases {
		parent := filepath.Dir(folder)
		switch split := strings.ToLower(filepath.Base(parent)); split {
		case "training", "validation", "testing", "test":
			c.split = split
			parent = filepath.Dir(parent)
		}
		organs = append(organs, filepath.Base(parent))
	}
	organs = distinct(organs)
	if len(organs) > 1 {
		return "", fmt.Errorf("%s holds %s; name the folder of one organ: each has its own raters", source, strings.Join(organs, ", "))
	}
	return strings.Join(organs, ""), nil
}

// distinct sorts values and drops repetitions.
func distinct[T cmp.Ordered](values []T) []T {
	slices.Sort(values)
	return slices.Compact(values)
}

// taskNames are the names of the classes: from o, or the organ, or task01, …. The error, before
// anything is read, says which name a data set cannot have.
func taskNames(o *Options, organ string, tasks []int) (names []string, err error) {
	switch {
	case len(o.Classes) > 0 && len(o.Classes) != len(tasks):
		return nil, choice.Errorf("%d classes are named, but there are %d tasks; name one for each with $classes", len(o.Classes), len(tasks))
	case len(o.Classes) > 0:
		names = o.Classes
	case len(tasks) == 1:
		names = []string{organ}
	default:
		for _, t := range tasks {
			names = append(names, fmt.Sprintf("task%02d", t))
		}
	}
	for i, name := range names {
		switch {
		case !weights.IsName(name):
			return nil, choice.Errorf("the class %q is not 1 to 64 letters (a to z), digits, hyphens and underscores; name it with $classes", name)
		case slices.Contains(names[:i], name):
			return nil, choice.Errorf("two classes are called %q; name each its own with $classes", name)
		}
	}
	return names, nil
}

// read makes a picture of a case, or pictures of a volume's slices. A mask that is not usable
// becomes a missing label.
func (c *qubiqCase) read(o *Options, name string, tasks, raters []int) (pictures []picture, left []Skip) {
	v, err := o.readScan(c.image)
	if err != nil {
		return nil, []Skip{{c.image, err.Error()}}
	}
	masks := make([][]*nifti.Volume, len(raters))
	flat := true // the masks are planes
	for m, rater := range raters {
		masks[m] = make([]*nifti.Volume, len(tasks))
		for k, task := range tasks {
			path := c.masks[[2]int{task, rater}]
			if path == "" {
				continue
			}
			mask, err := c.readMask(path, task)
			if err == nil {
				mask, err = mask.In(v)
			}
			switch {
			case err != nil:
				left = append(left, Skip{path, err.Error()})
			case mask.W != v.W || mask.H != v.H || (mask.D != v.D && mask.D != 1):
				left = append(left, Skip{path, fmt.Sprintf("is %d×%d×%d, its image %d×%d×%d", mask.W, mask.H, mask.D, v.W, v.H, v.D)})
			default:
				flat = flat && mask.D == 1
				masks[m][k] = mask
			}
		}
	}
	if !flat && len(o.Channels) > 0 {
		return nil, append(left, Skip{c.image, "its third axis is slices, to which channels do not apply; leave them out"})
	}
	if flat {
		p, err := c.plane(o, name, v, masks)
		if err != nil {
			return nil, append(left, Skip{c.image, err.Error()})
		}
		return []picture{p}, left
	}
	for m, row := range masks {
		for k, mask := range row {
			if mask != nil && mask.D != v.D {
				left = append(left, Skip{c.masks[[2]int{tasks[k], raters[m]}], "is a plane, while other masks of the case are volumes"})
				row[k] = nil
			}
		}
	}
	return c.slices(o, name, v, masks), left
}

// plane makes the picture of an image whose masks are planes. A third axis of the image has its
// modalities.
func (c *qubiqCase) plane(o *Options, name string, v *nifti.Volume, masks [][]*nifti.Volume) (picture, error) {
	channels := o.Channels
	if len(channels) == 0 {
		channels = []int{1}
	}
	var planes [][]float32
	for _, n := range channels {
		if n > v.D {
			return picture{}, fmt.Errorf("there is no channel %d: it has %d", n, v.D)
		}
		values, _, _ := v.Slice(2, n-1)
		planes = append(planes, values)
	}
	image := &imageio.Image{W: v.W, H: v.H, Pix: o.pixels(planes)}
	rows, _ := marked(masks, func(v *nifti.Volume) []float32 { return v.Values })
	return picture{name: name, file: c.image, image: image, masks: rows, affine: v.Place.String()}, nil
}

// slices makes a picture of the volume's slice with the most marks. The slices lie across the
// volume's shortest axis. With AllSlices it makes a picture of every marked slice, all of one group.
func (c *qubiqCase) slices(o *Options, name string, v *nifti.Volume, masks [][]*nifti.Volume) (pictures []picture) {
	lengths := []int{v.W, v.H, v.D}
	shortest := slices.Min(lengths)
	axis := 2
	for axis > 0 && lengths[axis] > shortest {
		axis--
	}
	most := 0
	for i := range shortest {
		rows, count := marked(masks, func(v *nifti.Volume) []float32 {
			values, _, _ := v.Slice(axis, i)
			return values
		})
		if count == 0 || (!o.AllSlices && count <= most) {
			continue
		}
		if !o.AllSlices {
			most, pictures = count, nil
		}
		values, w, h := v.Slice(axis, i)
		image := &imageio.Image{W: w, H: h, Pix: o.pixels([][]float32{values})}
		p := picture{name: fmt.Sprintf("%s-slice%03d", name, i+1), file: c.image, image: image, masks: rows}
		if o.AllSlices {
			p.group = name
		}
		if axis == 2 { // a step to another slice is none in the plane
			p.affine = v.Place.String()
		}
		pictures = append(pictures, p)
	}
	return pictures
}

// marked makes masks of planes, with 1 for values other than 0, and counts the marked pixels.
func marked(masks [][]*nifti.Volume, plane func(*nifti.Volume) []float32) (rows [][][]uint8, count int) {
	for _, row := range masks {
		taken := make([][]uint8, len(row))
		for k, mask := range row {
			if mask == nil {
				continue
			}
			for _, v := range plane(mask) {
				inside := uint8(0)
				if v != 0 {
					inside = 1
				}
				taken[k] = append(taken[k], inside)
				count += int(inside)
			}
		}
		rows = append(rows, taken)
	}
	return rows, count
}

// pixels makes an image (H, W, 3) of three planes of intensities, or a grey one of a single plane.
func (o *Options) pixels(planes [][]float32) []uint8 {
	pix := make([]uint8, 3*len(planes[0]))
	for c := range 3 {
		values := planes[min(c, len(planes)-1)]
		low, high := o.window(values)
		for i, v := range values {
			share := (float64(v) - low) / max(high-low, 1e-12)
			pix[3*i+c] = uint8(255*min(max(share, 0), 1) + .5)
		}
	}
	return pix
}

// window is the intensities that become black and white.
func (o *Options) window(values []float32) (low, high float64) {
	if o.Window != nil {
		return o.Window[0], o.Window[1]
	}
	sorted := slices.Sorted(slices.Values(values))
	last := len(sorted) - 1
	return float64(sorted[last*5/1000]), float64(sorted[last-last*5/1000])
}
