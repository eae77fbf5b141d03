package importer

import (
	"fmt"
	"image"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/data/dataset"
	"mrprism/internal/files/nifti"
)

// The same drawing in the forms of five tools: a disc of 14 × 13 pixels at 4, 3, and within it a
// cup of 6 × 6 pixels at 7, 6 with a hole of 2 × 2 in its middle, in an image of 24 × 20.
//
// The tools' own code made the cup: the compressed runs are those of rleToString
// (cocodataset/cocoapi, common/maskApi.c), the brush is that of encode_rle
// (HumanSignal/label-studio-converter, label_studio_converter/brush.py), and labelme's mask is
// img_arr_to_b64 of a Boolean array (wkentaro/labelme, labelme/utils/image.py). The forms around
// are those of https://cocodataset.org/#format-data, https://labelstud.io/guide/task_format,
// labelme/label_file.py and https://docs.cvat.ai/docs/manual/advanced/xml_format.
const (
	discPoints = "[[4,3],[18,3],[18,16],[4,16]]"
	cupRuns    = `"b46>00LD0<0D0<400f6"`
	cupPlain   = "[146,6,14,6,14,2,2,2,14,2,2,2,14,6,14,6,228]"
	cupBrush   = "[0,0,7,128,57,27,255,2,91,0,194,255,249,28,3,11,255,228,112,9,255,231,0,159,255,35,128,79,255,56,4,255,249,28,3,11,255,228,112,12,47,255,192,202,192,0]"
	cupPNG     = "iVBORw0KGgoAAAANSUhEUgAAAAYAAAAGAQAAAADIt9LlAAAAFElEQVR4nGP4w8TAdIGJgeEPEwMAE7gC0dDWTZwAAAAASUVORK5CYII="
)

func discAt(x, y int) bool { return image.Pt(x, y).In(image.Rect(4, 3, 18, 16)) }

func cupAt(x, y int) bool {
	return image.Pt(x, y).In(image.Rect(7, 6, 13, 12)) && !image.Pt(x, y).In(image.Rect(9, 8, 11, 10))
}

// drawnBy requires that these raters drew the disc and the cup in every image.
func drawnBy(t *testing.T, folder string, images int, raters ...string) {
	t.Helper()
	report := dataset.Check(t.Context(), []string{folder}, nil)
	require.False(t, report.Failed(), "%v", report.Findings)
	d, loaded := load(t, folder)
	require.Len(t, d.Cases, images)
	require.Equal(t, raters, d.Raters)
	require.Equal(t, []string{"disc", "cup"}, d.Classes)
	for _, l := range loaded {
		for m := range raters {
			for k, at := range []func(x, y int) bool{discAt, cupAt} {
				for i, v := range l.Masks[m][k] {
					require.Equal(t, at(i%24, i/24), v == 1, "%s: %s of %s at %d, %d", l.Name, d.Classes[k], raters[m], i%24, i/24)
				}
			}
		}
	}
}

// imported imports files, of which a name without content is an image, and returns the new folder.
func imported(t *testing.T, layout Layout, o Options, files map[string]string) (folder string, s *Summary, err error) {
	t.Helper()
	o.Source, o.Destination = t.TempDir(), filepath.Join(t.TempDir(), "mine")
	for name, content := range files {
		data := []byte(content)
		if content == "" {
			data = encoded(t, eye(24, 20, uint64(len(name))), strings.ToLower(filepath.Ext(name)))
		}
		put(t, data, o.Source, name)
	}
	s, err = layout.Run(t.Context(), o)
	return o.Destination, s, err
}

func cocoOf(annotations string, images ...string) string {
	var list []string
	for i, name := range images {
		list = append(list, fmt.Sprintf(`{"id":%d,"file_name":%q,"width":24,"height":20}`, i+1, name))
	}
	return fmt.Sprintf(`{"info":{"year":2026},"licenses":[],"images":[%s],"annotations":[%s],"categories":[{"id":7,"name":"cup","supercategory":""},{"id":9,"name":"disc"}]}`,
		strings.Join(list, ","), annotations)
}

// cocoDrawn are the annotations of an image; the cup's runs are compressed or not.
func cocoDrawn(image int, runs, more string) string {
	points := strings.NewReplacer("],[", ",", "[[", "[[", "]]", "]]").Replace(discPoints)
	return fmt.Sprintf(`{"id":1,"image_id":%d,"category_id":9,"segmentation":%s,"area":182,"bbox":[4,3,14,13],"iscrowd":0%s},
		{"id":2,"image_id":%d,"category_id":7,"segmentation":{"size":[20,24],"counts":%s},"area":32,"bbox":[7,6,6,6],"iscrowd":1%s}`, image, points, more, image, runs, more)
}

func labelmeOf(image, more string) string {
	return fmt.Sprintf(`{"version":"5.5.0","flags":{},"shapes":[
		{"label":"disc","points":%s,"group_id":null,"description":"","shape_type":"polygon","flags":{},"mask":null%s},
		{"label":"cup","points":[[7.0,6.0],[12.0,11.0]],"group_id":null,"description":"","shape_type":"mask","flags":{},"mask":%q%s}],
		"imagePath":%q,"imageData":null,"imageHeight":20,"imageWidth":24}`, discPoints, more, cupPNG, more, image)
}

func cvatOf(meta string, images ...string) string {
	return `<?xml version="1.0" encoding="utf-8"?><annotations><version>1.1</version><meta>` + meta + `<dumped>2026</dumped></meta>` + strings.Join(images, "") + `</annotations>`
}

func cvatDrawn(image, more, inside string) string {
	return fmt.Sprintf(`<image id="0" name=%q width="24" height="20"%s>
		<polygon label="disc" source="manual" occluded="0" points="4.00,3.00;18.00,3.00;18.00,16.00;4.00,16.00" z_order="0">%s</polygon>
		<mask label="cup" source="manual" occluded="0" rle="0, 14, 2, 4, 2, 14" left="7" top="6" width="6" height="6" z_order="0">%s</mask>
		<tag label="good" source="manual"></tag></image>`, image, more, inside, inside)
}

func studioOf(image string, annotations ...string) string {
	return fmt.Sprintf(`{"id":1,"data":{"image":%q,"age":50},"annotations":[%s],"predictions":[]}`, image, strings.Join(annotations, ","))
}

func studioDrawn(by, more string) string {
	const about = `"original_width":24,"original_height":20,"image_rotation":0,"to_name":"image"`
	return fmt.Sprintf(`{"id":5,"completed_by":%s,"was_cancelled":false,"result":[
		{%s,"value":{"points":[[16.666666667,15],[75,15],[75,80],[16.666666667,80]],"closed":true,"polygonlabels":["disc"]},"id":"a","from_name":"outline","type":"polygonlabels"},
		{%s,"value":{"format":"rle","rle":%s,"brushlabels":["cup"]},"id":"b","from_name":"paint","type":"brushlabels"}%s]}`, by, about, about, cupBrush, more)
}

// Two people have drawn the same in each tool's form: by files, folders, tasks, attributes, and by
// who the tool says.
func TestTools(t *testing.T) {
	second := `<task><id>8</id><name>bob</name></task>`
	for name, c := range map[string]struct {
		layout Layout
		o      Options
		files  map[string]string
	}{
		"coco, by file": {cocoFiles, Options{}, map[string]string{"ann.json": cocoOf(cocoDrawn(1, cupRuns, "")+","+cocoDrawn(2, cupPlain, ""), "a.png", "b.png"),
			"bob.json": cocoOf(cocoDrawn(2, cupRuns, "")+","+cocoDrawn(1, cupPlain, ""), "b.png", "x/a.png"), "images/a.png": "", "images/b.png": ""}},
		"coco, by attribute": {cocoFiles, Options{Rater: "doctor"}, map[string]string{"instances.json": cocoOf(
			cocoDrawn(1, cupRuns, `,"attributes":{"doctor":"ann"}`)+","+cocoDrawn(1, cupRuns, `,"attributes":{"doctor":"bob","occluded":false}`), "a.png"), "a.png": ""}},
		"labelme, by folder": {labelme, Options{}, map[string]string{"ann/a.json": labelmeOf("a.jpg", ""), "bob/a.json": labelmeOf(`..\ann\a.jpg`, ""), "ann/a.jpg": ""}},
		"labelme, by field": {labelme, Options{}, map[string]string{"a.json": labelmeOf("a.jpg", `,"reader":"ann"`), "a.jpg": "",
			"more/a.json": labelmeOf("a.jpg", `,"reader":"bob"`)}},
		"cvat, by assignee": {cvat, Options{}, map[string]string{"1/annotations.xml": cvatOf(`<task><id>4</id><name>first</name><assignee><username>ann</username><email>a@b.c</email></assignee></task>`,
			cvatDrawn("a.png", "", "")), "2/annotations.xml": cvatOf(`<job><id>9</id><assignee><username>bob</username></assignee></job>`, cvatDrawn("a.png", "", "")), "1/images/a.png": "", "2/images/a.png": ""}},
		"cvat, by task": {cvat, Options{}, map[string]string{"annotations.xml": cvatOf(`<project><id>1</id><name>p</name><tasks><task><id>7</id><name>ann</name></task>`+second+`</tasks></project>`,
			cvatDrawn("a.png", ` subset="Train" task_id="7"`, ""), cvatDrawn("a.png", ` subset="Train" task_id="8"`, "")), "images/Train/a.png": ""}},
		"cvat, by attribute": {cvat, Options{}, map[string]string{"annotations.xml": cvatOf(second, cvatDrawn("a.png", "", `<attribute name="rater">ann</attribute>`),
			cvatDrawn("a.png", "", `<attribute name="rater">bob</attribute>`)), "a.png": ""}},
		"label-studio": {labelStudio, Options{}, map[string]string{"project-1.json": "[" + studioOf("/data/upload/1/0a1b2c3d-a.png", studioDrawn(`{"id":3,"email":"ann"}`, ""), studioDrawn(`{"id":4,"email":"bob"}`, "")) +
			"," + studioOf("/data/local-files/?d=eyes%2Fb.png", studioDrawn(`{"id":4,"email":"bob"}`, ""), strings.Replace(studioDrawn("9", ""), "false", "true", 1), studioDrawn(`{"id":3,"email":"ann"}`, "")) + "]",
			"a.png": "", "eyes/b.png": ""}},
		"nnunet": {nnunet, Options{}, map[string]string{"dataset.json": `{"channel_names":{"0":"R","1":"G","2":"B"},"labels":{"background":0,"cup":2,"disc":[1,2]},"regions_class_order":[1,2],"numTraining":1,"file_ending":".png"}`,
			"imagesTr/a_0000.png": "", "labelsTr_ann/a.png": labelPNG(t), "labelsTr_bob/a.png": labelPNG(t), "labelsTr/a.png": labelPNG(t)}},
	} {
		t.Run(name, func(t *testing.T) {
			folder, s, err := imported(t, c.layout, c.o, c.files)
			require.NoError(t, err)
			assert.Empty(t, s.Skipped)
			drawnBy(t, folder, s.Images, "ann", "bob")
		})
	}
}

// labelPNG is a label map with 1 in the disc and 2 in the cup.
func labelPNG(t *testing.T) string {
	m := image.NewGray(image.Rect(0, 0, 24, 20))
	for i := range m.Pix {
		if x, y := i%24, i/24; cupAt(x, y) {
			m.Pix[i] = 2
		} else if discAt(x, y) {
			m.Pix[i] = 1
		}
	}
	return string(encoded(t, m, ".png"))
}

// What no mask can be made of is named, and makes its mask missing; the rest is read.
func TestToolsSkip(t *testing.T) {
	line := `<polyline label="disc" points="1,1;2,2"></polyline>`
	both := func(more string) map[string]string {
		return map[string]string{"ann.json": cocoOf(cocoDrawn(1, cupRuns, "")+","+cocoDrawn(2, cupRuns, ""), "a.png", "b.png"), "bob.json": cocoOf(more, "a.png", "b.png"), "a.png": "", "b.png": ""}
	}
	for name, c := range map[string]struct {
		layout Layout
		files  map[string]string
		says   string
		masks  [][]int
	}{
		"a line": {cvat, map[string]string{"annotations.xml": cvatOf("", cvatDrawn("a.png", "", ""), strings.Replace(cvatDrawn("b.png", "", ""), "<tag", line+"<tag", 1)), "a.png": "", "b.png": ""},
			"disc of rater1: of a polyline no mask can be made", [][]int{{1, 1}}},
		"an unread image": {cocoFiles, both(cocoDrawn(1, cupRuns, "")), "b.png nothing is drawn in it, and nothing says that somebody read it", [][]int{{2, 2}, {1, 1}}},
		"long runs":       {cocoFiles, both(cocoDrawn(1, "[500]", "")), "cup of bob: its runs do not end with the last of its 24×20 pixels", [][]int{{2, 2}, {1, 0}}},
		"wrong text":      {cocoFiles, both(cocoDrawn(1, `"b4 "`, "")), `bob.json its annotation 2: its compressed runs hold ' '`, [][]int{{2, 2}}},
		"a box":           {cocoFiles, both(strings.Replace(cocoDrawn(1, cupRuns, ""), `{"size":[20,24],"counts":`+cupRuns+`}`, "[]", 1)), "cup of bob: of a box no mask", [][]int{{2, 2}, {1, 0}}},
		"no outline":      {cocoFiles, both(strings.Replace(cocoDrawn(1, cupRuns, ""), `"segmentation":{"size":[20,24],"counts":`+cupRuns+`},`, "", 1)), "cup of bob: of a box no mask", [][]int{{2, 2}, {1, 0}}},
		"another size":    {cocoFiles, both(strings.Replace(cocoDrawn(1, cupRuns, ""), "[20,24]", "[24,24]", 1)), "its runs are of (0,0)-(24,24), and the image has 24×20", [][]int{{2, 2}, {1, 0}}},
		"no image":        {labelme, map[string]string{"a.json": labelmeOf("a.jpg", ""), "b.json": labelmeOf("b.jpg", ""), "a.jpg": ""}, "b.json its image b.jpg is not there", [][]int{{1, 1}}},
		"of another size": {labelme, map[string]string{"a.json": strings.Replace(labelmeOf("a.jpg", ""), `"imageWidth":24`, `"imageWidth":25`, 1), "b.json": labelmeOf("b.jpg", ""), "a.jpg": "", "b.jpg": ""},
			"drawn in an image of 25×20 pixels, and as displayed it has 24×20", [][]int{{1, 1}}},
		"another file": {labelme, map[string]string{"a.json": labelmeOf("a.jpg", ""), "a.jpg": "", "c.jpg": "", "d.json": "[]"}, "c.jpg no .json file speaks of it", [][]int{{1, 1}}},
		"a video":      {cvat, map[string]string{"a.xml": cvatOf("", cvatDrawn("a.png", "", "")), "v.xml": cvatOf("", `<track id="0" label="disc"></track>`), "a.png": ""}, "holds the tracks of a video", [][]int{{1, 1}}},
		"JSON-MIN":     {labelStudio, map[string]string{"a.json": "[" + studioOf("a.png", studioDrawn("1", "")) + "]", "b.json": `[{"image":"a.png","tag":[]}]`, "a.png": ""}, "export as JSON, not as JSON-MIN", [][]int{{1, 1}}},
		"a third time": {labelStudio, map[string]string{"a.json": "[" + studioOf("a.png", studioDrawn("1", ""), studioDrawn("1", ""), studioDrawn("1", "")) + "]", "a.png": ""},
			"a third reading by the same person", [][]int{{1, 1}, {1, 1}}},
		"a short brush": {labelStudio, map[string]string{"a.json": "[" + studioOf("a.png", studioDrawn("1", ""), strings.Replace(studioDrawn("2", ""), ",12,47,255,192,202,192,0]", "]", 1)) + "]", "a.png": ""},
			"cup of annotator-2: its brush is cut short", [][]int{{1, 1}, {1, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			folder, s, err := imported(t, c.layout, Options{}, c.files)
			require.NoError(t, err)
			assert.Equal(t, c.masks, s.Masks)
			assert.Contains(t, fmt.Sprint(s.Skipped), c.says)
			assert.False(t, dataset.Check(t.Context(), []string{folder}, nil).Failed())
		})
	}
}

// Labels may be several of one class, whatever their names, and a rater may have seen nothing.
func TestToolsOptions(t *testing.T) {
	files := map[string]string{"ann.json": cocoOf(cocoDrawn(1, cupRuns, ""), "a.png"), "bob.json": cocoOf("", "a.png"), "a.png": ""}
	_, s, err := imported(t, cocoFiles, Options{Empty: true, Classes: []string{"all=disc+cup", "cup"}}, files)
	require.NoError(t, err)
	assert.Equal(t, []string{"all", "cup"}, s.Classes)
	assert.Equal(t, [][]int{{1, 1}, {1, 1}}, s.Masks)
	absent := strings.Replace(cocoOf("", "a.png"), `"height":20`, `"height":20,"neg_category_ids":[7]`, 1)
	folder, s, err := imported(t, cocoFiles, Options{}, map[string]string{"ann.json": files["ann.json"], "bob.json": absent, "a.png": ""})
	require.NoError(t, err)
	assert.Equal(t, [][]int{{1, 1}, {0, 1}}, s.Masks, "bob looked for the cup alone")
	_, loaded := load(t, folder)
	assert.Equal(t, uint8(0), slices.Max(loaded[0].Masks[1][1]))

	for says, o := range map[string]Options{
		`no area has the label "rim"; there are cup, disc`: {Classes: []string{"disc=cup+rim"}},
		"has no name of its own":                           {Classes: []string{"a=disc", "a=cup"}},
	} {
		_, _, err = imported(t, cocoFiles, o, files)
		assert.ErrorContains(t, err, says)
	}
	_, _, err = imported(t, cocoFiles, Options{}, map[string]string{"a.json": strings.Replace(files["ann.json"], `"disc"`, `"диск"`, 1), "a.png": ""})
	assert.ErrorContains(t, err, `the label "диск" has no name of its own`)
	split := map[string]string{"instances_train2017.json": cocoOf(cocoDrawn(1, cupRuns, ""), "a.png"), "instances_val2017.json": cocoOf(cocoDrawn(1, cupRuns, ""), "bb.png"), "a.png": "", "bb.png": ""}
	_, s, err = imported(t, cocoFiles, Options{}, split)
	require.NoError(t, err)
	assert.Equal(t, []string{"rater1"}, s.Raters)
	assert.Equal(t, []string{"bb"}, s.Split.Validation)
}

// A polygon has the pixels whose centres lie in it, wherever it goes.
func TestPolygon(t *testing.T) {
	mask := make([]uint8, 6*4)
	require.NoError(t, polygon(-9, 1.4, 3.6, 1.4, 3.6, 99, -9, 99)(mask, 6, 4))
	assert.Equal(t, []uint8{
		0, 0, 0, 0, 0, 0,
		1, 1, 1, 1, 0, 0,
		1, 1, 1, 1, 0, 0,
		1, 1, 1, 1, 0, 0,
	}, mask)
	require.ErrorContains(t, polygon(1, 2, 3, 4)(mask, 6, 4), "a polygon of 4 numbers")
}

// Of a volume a slice is taken, in the place of its image; labels of version 1 are named by values.
func TestNNUNet(t *testing.T) {
	volume := func(slices ...[]uint8) string {
		data, err := nifti.Encode(4, 3, nil, [2]float64{}, "", slices, true)
		require.NoError(t, err)
		return string(data)
	}
	mask := make([]uint8, 12)
	mask[5] = 255
	labels := `{"modality":{"0":"T1"},"labels":{"0":"background","1":"heart"}}`
	_, s, err := imported(t, nnunet, Options{}, map[string]string{"dataset.json": labels, "imagesTr/c_0000.nii.gz": volume(mask), "labelsTr/c.nii.gz": volume(mask),
		"imagesTs/d.nii.gz": volume(mask), "labelsTs/d.nii.gz": volume(mask), "imagesTr/e_0000.nii.gz": volume(mask), "notes.txt": "x"})
	require.NoError(t, err)
	assert.Equal(t, []string{"heart"}, s.Classes)
	assert.Equal(t, []string{"rater1"}, s.Raters)
	assert.Equal(t, []string{"c"}, s.Split.Train)
	assert.Equal(t, []string{"d"}, s.Split.Test)
	assert.Contains(t, fmt.Sprint(s.Skipped), "e_0000.nii.gz has no label map, or no channel 1")
	assert.Contains(t, fmt.Sprint(s.Skipped), "notes.txt neither dataset.json nor in")

	png := map[string]string{"dataset.json": `{"labels":{"background":0,"disc":1,"ignore":2}}`, "imagesTr/a_0000.png": "", "labelsTr/a.png": labelPNG(t)}
	_, _, err = imported(t, nnunet, Options{}, png)
	assert.ErrorContains(t, err, "a.png: holds 2, which is no label of dataset.json, or is ignored")
	png["dataset.json"] = `{"labels":{"background":0,"rim":1,"cup":2}}`
	folder, _, err := imported(t, nnunet, Options{Classes: []string{"disc=rim+cup", "cup"}}, png)
	require.NoError(t, err)
	drawnBy(t, folder, 1, "rater1")
	delete(png, "dataset.json")
	_, _, err = imported(t, nnunet, Options{}, png)
	assert.ErrorContains(t, err, "name the folder of one data set")
}
