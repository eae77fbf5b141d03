package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mrprism/internal/data/dataset"
	"mrprism/internal/files/imageio"
	"mrprism/internal/files/nifti"
)

// nnunet is a raw data set of nnU-Net, of version 2, or of version 1 and the Decathlon.
var nnunet = Layout{
	Name: "nnunet",
	Description: `nnU-Net: dataset.json, imagesTr/CASE_0000.nii.gz (or .png, .tif, …), labelsTr/CASE.nii.gz; imagesTs, labelsTs are for test
           A label is a class. Regions, such as "disc": [1, 2], "cup": 2, are nested classes. labelsTr_RATER, …, if there are
           such folders, are raters. Of volumes slices are taken, as of qubiq's`,
	list: listNNUNet,
}

// listNNUNet lists the cases. Source: nnUNet/documentation/dataset_format.md and
// region_based_training.md.
func listNNUNet(o *Options) (*listing, error) {
	paths, err := files(o.Source)
	if err != nil {
		return nil, err
	}
	meta := filepath.Join(o.Source, dataset.DescriptionFile)
	labels, names, err := nnunetLabels(meta)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; name the folder of one data set", meta, err)
	}
	kinds, err := classesOf(o, names)
	if err != nil {
		return nil, err
	}
	l := &listing{name: asName(filepath.Base(o.Source)), source: "nnU-Net data set " + filepath.Base(o.Source), split: "nnU-Net's folders"}
	values, tasks := map[int][]int{0: {0}}, []int(nil) // 0: the background
	for k, of := range kinds {
		for _, label := range of.labels {
			values[k+1] = append(values[k+1], labels[label]...)
		}
		l.classes, tasks = append(l.classes, of.name), append(tasks, k+1)
	}
	for _, all := range labels { // also of labels that are not wanted
		values[0] = append(values[0], all...)
	}
	images, maps, raters := map[string][]string{}, map[string]map[string]string{}, []string(nil)
	for _, path := range paths {
		folder, rater, _ := strings.Cut(filepath.Base(filepath.Dir(path)), "_")
		name := imageio.Stem(path)
		switch folder {
		case "imagesTr", "imagesTs":
			name = strings.TrimSuffix(name, nnunetChannel.FindString(name))
			images[name] = append(images[name], path)
		case "labelsTr", "labelsTs":
			if maps[name] == nil {
				maps[name] = map[string]string{}
			}
			maps[name][rater], raters = path, append(raters, rater)
		default:
			if path != meta {
				l.skip(path, "neither dataset.json nor in imagesTr, imagesTs, labelsTr or labelsTs")
			}
		}
	}
	if raters = distinct(raters); len(raters) > 1 && raters[0] == "" {
		raters = raters[1:] // labelsTr is of nobody, if raters have folders
	}
	numbers := []int(nil)
	for m, rater := range raters {
		l.raters, numbers = append(l.raters, cmp.Or(asName(rater), "rater1")), append(numbers, m)
	}
	number := slices.Max(append(o.Channels, 1)) - 1
	for name := range maps {
		if images[name] == nil {
			l.skip(name, "has a label map and no image")
		}
	}
	for name, channels := range images {
		if maps[name] == nil || number >= len(channels) {
			l.skip(channels[0], fmt.Sprintf("has no label map, or no channel %d", number+1))
			continue
		}
		c, shown, part := qubiqCase{image: channels[number], masks: map[[2]int]string{}, values: values}, *o, dataset.ForTraining
		if shown.Channels = nil; strings.HasSuffix(filepath.Dir(c.image), "Ts") {
			part = dataset.ForTest
		}
		for m, rater := range raters {
			for _, task := range tasks {
				c.masks[[2]int{task, m}] = maps[name][rater]
			}
		}
		l.jobs = append(l.jobs, job{asName(name), part, func() ([]picture, []Skip) { return c.read(&shown, asName(name), tasks, numbers) }})
	}
	return l, l.distinctJobs()
}

var nnunetChannel = regexp.MustCompile(`_\d{4}$`)

// nnunetLabels are the values of labels, without the background, and their names in the order of
// their first values; a region comes before the smaller ones.
func nnunetLabels(path string) (values map[string][]int, names []string, err error) {
	var file struct{ Labels map[string]json.RawMessage }
	data, err := readFile(path)
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	values = map[string][]int{}
	for name, raw := range file.Labels {
		several := make([]int, 1)
		if json.Unmarshal(raw, &several[0]) != nil && json.Unmarshal(raw, &several) != nil {
			several[0], err = strconv.Atoi(name) // as in version 1: the value is the name
			err = cmp.Or(err, json.Unmarshal(raw, &name))
		}
		if len(several) > 0 && several[0] != 0 && name != "ignore" { // whose pixels no mask can be made of
			values[name], names = several, append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(slices.Min(values[a])-slices.Min(values[b]), len(values[b])-len(values[a]), cmp.Compare(a, b))
	})
	if len(names) == 0 {
		err = cmp.Or(err, errors.New("has no labels"))
	}
	return values, names, err
}

func isNIfTI(path string) bool {
	return strings.Contains(strings.ToLower(imageio.Extension(path)), ".nii")
}

// readScan reads an image, or a picture as a plane of three channels that are shown as they are.
func (o *Options) readScan(path string) (*nifti.Volume, error) {
	if isNIfTI(path) {
		return readNIfTI(path)
	}
	m, err := readImage(path)
	if err != nil {
		return nil, err
	}
	o.Channels, o.Window = []int{1, 2, 3}, &[2]float64{0, 255}
	v := &nifti.Volume{W: m.W, H: m.H, D: 3, Values: make([]float32, len(m.Pix)), Place: &nifti.Geometry{}}
	for i, level := range m.Pix {
		v.Values[i%3*m.W*m.H+i/3] = float32(level)
	}
	return v, nil
}

// readMask reads a mask. Of a label map it makes 1 of a task's values.
func (c *qubiqCase) readMask(path string, task int) (*nifti.Volume, error) {
	v, err := readNIfTI(path)
	if !isNIfTI(path) {
		v = &nifti.Volume{D: 1, Place: &nifti.Geometry{}}
		var data []byte
		var levels []uint16
		if data, err = readFile(path); err == nil {
			levels, v.W, v.H, _, err = dataset.Levels("the label map", data)
		}
		for _, level := range levels {
			v.Values = append(v.Values, float32(level))
		}
	}
	if err != nil || c.values == nil {
		return v, err
	}
	for at, value := range v.Values {
		if value != float32(int(value)) || !slices.Contains(c.values[0], int(value)) {
			return nil, fmt.Errorf("holds %v, which is no label of dataset.json, or is ignored", value)
		}
		v.Values[at] = 0
		if slices.Contains(c.values[task], int(value)) {
			v.Values[at] = 1
		}
	}
	return v, nil
}
