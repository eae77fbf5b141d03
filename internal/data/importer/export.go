package importer

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"mrprism/internal/choice"
	"mrprism/internal/data/coco"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/files/imageio"
	"mrprism/weights/disk"
)

// Form is a form in which Run writes a data set for other programs.
type Form struct {
	Name        string
	Description string // for people
	write       func(x *export, c *dataset.Case, m *imageio.Image, raters [][][]uint8) error
	finish      func(x *export) error
}

// Forms are the forms that Run can write.
var Forms = []Form{
	{"coco", `RATER.json for each rater, with compressed RLE, and images/NAME.png. neg_category_ids, as LVIS has them,
           are the classes whose masks are empty`, (*export).cocoCase, (*export).coco},
	{"nnunet", `dataset.json, imagesTr/NAME_0000.png, labelsTr/NAME.png: the label map of the majority, and labelsTr_RATER those of raters;
           imagesTs, … of images that are held out. A class that lies in the one before makes regions of both`, (*export).nnunetCase, (*export).nnunet},
}

// FindForm returns the form with a name.
func FindForm(name string) (Form, error) {
	return choice.Find("form", name, Forms, func(f Form) string { return f.Name })
}

// export is a data set that is being written.
type export struct {
	*target
	data   *dataset.Dataset
	raters []string // with those of second readings

	lock   sync.Mutex // of the rest
	left   []Skip
	files  []coco.File // by rater
	cases  int         // for training
	pixels [][]int     // of label j, how many belong to class k
}

// Run writes the data set in a folder, as a whole or not at all. Images are written as training
// sees them. left is what the form cannot say.
func (f Form) Run(ctx context.Context, data, destination string, progress func(done, total int)) (left []Skip, err error) {
	d, err := dataset.Open(data)
	if err != nil {
		return nil, err
	}
	if inside, _ := os.ReadDir(destination); len(inside) > 0 {
		return nil, fmt.Errorf("%s is not empty; name a new folder", destination)
	}
	t, err := newTarget(&Options{Source: data, Destination: destination})
	if err != nil {
		return nil, err
	}
	if err := t.begin(); err != nil {
		return nil, err
	}
	defer os.RemoveAll(t.temporary)
	x := &export{target: t, data: d, raters: slices.Clone(d.Raters)}
	for _, rater := range d.Again {
		x.raters = append(x.raters, dataset.Second(rater))
	}
	x.files = make([]coco.File, len(x.raters))
	x.pixels = statistics.Tabulate(len(d.Classes), func(int) []int { return make([]int, len(d.Classes)) })
	err = dataset.Each(ctx, len(d.Cases), progress, func(i int) error {
		m, err := readImage(d.Cases[i].Image)
		marks, problems := d.Cases[i].Marks()
		if err := cmp.Or(err, problems.AsError()); err != nil {
			return err
		}
		return f.write(x, &d.Cases[i], m, slices.Concat(marks.Masks, marks.Again))
	})
	if err == nil {
		err = f.finish(x)
	}
	if err == nil {
		err = t.publish()
	}
	slices.SortFunc(x.left, func(a, b Skip) int { return cmp.Compare(a.File+a.Reason, b.File+b.Reason) })
	return x.left, err
}

func (x *export) cocoCase(c *dataset.Case, picture *imageio.Image, raters [][][]uint8) error {
	id := 1 + slices.IndexFunc(x.data.Cases, func(other dataset.Case) bool { return other.Name == c.Name })
	m := coco.Image{ID: id, File: c.Name + ".png", Width: picture.W, Height: picture.H}
	for r, masks := range raters {
		var drawn []coco.Annotation
		empty := []int{}
		for k, mask := range masks {
			if mask == nil {
				continue
			}
			a := coco.Annotation{Image: id, Category: k + 1}
			if a.Mark(mask, image.Rect(0, 0, m.Width, m.Height), m.Width, m.Height); a.Area > 0 {
				drawn = append(drawn, a)
			} else {
				empty = append(empty, k+1)
			}
		}
		if m.Absent = &empty; len(drawn)+len(empty) > 0 {
			x.lock.Lock()
			x.files[r].Images, x.files[r].Annotations = append(x.files[r].Images, m), append(x.files[r].Annotations, drawn...)
			x.lock.Unlock()
		}
	}
	return x.writeImage(filepath.Join("images", m.File), picture)
}

func (x *export) coco() error {
	for r, file := range x.files {
		for k, class := range x.data.Classes {
			file.Categories = append(file.Categories, coco.Category{ID: k + 1, Name: class})
		}
		slices.SortFunc(file.Images, func(a, b coco.Image) int { return a.ID - b.ID })
		slices.SortFunc(file.Annotations, func(a, b coco.Annotation) int { return cmp.Or(a.Image-b.Image, a.Category-b.Category) })
		for i := range file.Annotations {
			file.Annotations[i].ID = i + 1
		}
		if err := x.writeJSON(x.raters[r]+".json", file); err != nil {
			return err
		}
	}
	return nil
}

func (x *export) writeJSON(name string, content any) error {
	text, err := json.MarshalIndent(content, "", " ")
	if err != nil {
		return err
	}
	return disk.WriteFile(x.temporary, name, append(text, '\n'))
}

func (x *export) nnunetCase(c *dataset.Case, picture *imageio.Image, raters [][][]uint8) error {
	ending := "Tr"
	if c.Part == dataset.ForTest {
		ending = "Ts"
	}
	majority := make([][]uint8, len(x.data.Classes))
	for k := range majority {
		var given [][]uint8
		for _, masks := range raters[:len(x.data.Raters)] {
			if masks[k] != nil {
				given = append(given, masks[k])
			}
		}
		majority[k] = metric.Count(given...).Majority()
	}
	write := func(folder string, masks [][]uint8) error {
		levels := make([]uint8, picture.W*picture.H)
		for k, mask := range masks {
			if mask == nil {
				x.lock.Lock()
				x.left = append(x.left, Skip{filepath.Join(folder, c.Name+".png"), "lacks the " + x.data.Classes[k] + ", and a label map cannot say so"})
				x.lock.Unlock()
				return nil
			}
		}
		for _, k := range descending(len(masks), func(k int) int { return metric.Area(masks[k]) }) {
			for at, v := range masks[k] {
				if v != 0 {
					levels[at] = uint8(k + 1)
				}
			}
		}
		pixels := make([]int, len(masks)*len(masks))
		for k, mask := range masks {
			for at, v := range mask {
				if v != 0 {
					pixels[int(levels[at]-1)*len(masks)+k]++
				}
			}
		}
		x.lock.Lock()
		for i, n := range pixels {
			x.pixels[i/len(masks)][i%len(masks)] += n
		}
		x.lock.Unlock()
		return x.writeGrey(filepath.Join(folder, c.Name+".png"), picture.W, picture.H, levels, 1)
	}
	err := write("labels"+ending, majority)
	for r, masks := range raters {
		if len(raters) > 1 && err == nil {
			err = write("labels"+ending+"_"+x.raters[r], masks)
		}
	}
	if ending == "Tr" {
		x.lock.Lock()
		x.cases++
		x.lock.Unlock()
	}
	return cmp.Or(err, x.writeImage(filepath.Join("images"+ending, c.Name+"_0000.png"), picture))
}

// nnunet describes the label maps. A pixel has the number of its smallest class. If most pixels of
// a number belong to another class too, they are part of that one's region. nnU-Net wants larger
// regions first.
func (x *export) nnunet() error {
	n := len(x.data.Classes)
	regions := make([][]int, n)
	for k, class := range x.data.Classes {
		regions[k] = []int{k + 1}
		for j := range n {
			inside, all := x.pixels[j][k], x.pixels[j][j]
			if j != k && 2*inside > all {
				regions[k], inside = append(regions[k], j+1), all-inside
			}
			if j != k && inside > 0 {
				x.left = append(x.left, Skip{class, fmt.Sprintf("of %d pixels of the %s the label map says wrongly whether they are %s", inside, x.data.Classes[j], class)})
			}
		}
	}
	labels, order := `{"background": 0`, []int(nil)
	for _, k := range descending(n, func(k int) int { return len(regions[k]) }) {
		text, _ := json.Marshal(regions[k])
		labels += fmt.Sprintf(", %q: %s", x.data.Classes[k], text)
		order = append(order, k+1)
	}
	about := map[string]any{
		"channel_names": map[string]string{"0": "R", "1": "G", "2": "B"}, "labels": json.RawMessage(labels + "}"), "numTraining": x.cases, "file_ending": ".png",
	}
	if slices.ContainsFunc(regions, func(region []int) bool { return len(region) > 1 }) {
		about["regions_class_order"] = order
	}
	return x.writeJSON("dataset.json", about)
}

// descending are 0 … n-1, those of the largest value first.
func descending(n int, value func(k int) int) []int {
	order := statistics.Tabulate(n, func(k int) int { return k })
	slices.SortStableFunc(order, func(a, b int) int { return value(b) - value(a) })
	return order
}
