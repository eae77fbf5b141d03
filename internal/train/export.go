package train

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/data/dataset"
	"mrprism/model"
	"mrprism/shaders/tensor"
	"mrprism/weights"
)

// Endings of the names of exported files.
const (
	floatSuffix = ".f32.safetensors" // in float32
	smallSuffix = ".safetensors"     // in int8
)

// averaged reads the averaged weights as a float32 model, or the last weights if the recipe does
// not average.
func (t *Trainer) averaged(ctx context.Context) (*weights.File, error) {
	about := t.Options.metadata(t.Dataset, len(t.cases), t.step)
	about.Independent = t.Config.Independent
	about.Configuration = t.Config.Name
	var err error
	if about.Panels, err = t.panels(ctx); err != nil {
		return nil, err
	}
	if t.step <= t.first() && t.Options.Recipe.MaskFirst > 0 && t.Options.Recipe.HeadsFirst == 0 { // stopped early: untrained heads
		about.Recipe = model.MaskAlone
	}
	if of := t.of; of != nil { // the network is the same, and so are its masks' properties
		about.Title, about.Task = cmp.Or(about.Title, of.Title), cmp.Or(about.Task, of.Task)
		about.Data, about.Trust, about.Ranges, about.Mirrored = of.Data, of.Trust, of.Ranges, of.Mirrored
		about.Turned, about.SinglePieces = about.Turned || of.Turned, about.SinglePieces || of.SinglePieces
	}
	metadata, err := about.Map()
	if err != nil {
		return nil, err
	}
	variables := t.exported()
	from := make([]*tensor.Variable, len(variables))
	for i, v := range variables {
		from[i] = t.averageOf(v)
	}
	values, err := t.set.Read(ctx, from...)
	if err != nil {
		return nil, err
	}
	file := &weights.File{Metadata: metadata}
	for i, v := range variables {
		file.Tensors = append(file.Tensors, weights.NewF32(v.Name, v.Shape, values[i]))
	}
	if t.finder != nil {
		file.Attach(t.finder)
	}
	return file, nil
}

// averageOf is the average of a variable, or the variable itself if it has none.
func (t *Trainer) averageOf(v *tensor.Variable) *tensor.Variable {
	if average := t.set.Lookup(model.AveragePrefix + v.Name); average != nil && t.Options.Recipe.Average > 0 {
		return average
	}
	return v
}

// panels are those of the data, with equal weights, or those of a mask that does not learn; nil
// without panels.
func (t *Trainer) panels(ctx context.Context) (panels []weights.Panel, err error) {
	if t.Config.Panels == 0 {
		return t.kept, nil
	}
	values, err := t.set.Read(ctx, t.averageOf(t.set.Lookup(model.PanelShift)))
	if err != nil {
		return nil, err
	}
	classes, share := t.Config.Classes, 1/float64(t.Config.Panels)
	mean := make([]float64, classes)
	for i, v := range values[0] {
		mean[i%classes] += share * float64(v)
	}
	for p, name := range t.Dataset.Raters {
		one := weights.Panel{Name: name, Weight: share}
		for k := range classes {
			one.Shift = append(one.Shift, float64(values[0][p*classes+k])-mean[k])
		}
		panels = append(panels, one)
	}
	return panels, nil
}

// exported lists the variables of the network at inference. A method may have others that only
// training needs.
func (t *Trainer) exported() []*tensor.Variable {
	needed := model.Variables(t.Config)
	return slices.DeleteFunc(t.set.Variables(tensor.Parameter, tensor.Statistic), func(v *tensor.Variable) bool { return needed.Lookup(v.Name) == nil })
}

// export writes a model in f32 and in int8. after follows the model's name.
func (o Options) export(file *weights.File, after string) error {
	small, err := weights.Quantize(file)
	if err != nil {
		return err
	}
	for suffix, f := range map[string]*weights.File{floatSuffix: file, smallSuffix: small} {
		f.Seal()
		if _, err := writeFile(filepath.Join(o.Out, o.Name+after+suffix), f); err != nil {
			return err
		}
	}
	return nil
}

// metadata describes the exported model.
func (o Options) metadata(d *dataset.Dataset, images, step int) *weights.Metadata {
	labels := weights.LabelsRaters
	if d.Levels {
		labels = weights.LabelsAgreementLevels
	}
	side, out := 0, "every fifth image"
	if o.Cross > 0 {
		out = "no image"
	}
	for _, p := range o.Phases {
		if p.Epochs > 0 {
			side = p.Side
		}
	}
	return &weights.Metadata{
		Name: o.Name, Title: o.Title, Configuration: o.Config, Recipe: o.Recipe.Name, Task: o.Task,
		Classes: d.Classes, Raters: d.Raters, Labels: labels, Anchor: o.Anchor, Side: side,
		Mean: [3]float32{0.5, 0.5, 0.5}, Deviation: [3]float32{0.25, 0.25, 0.25}, Standardise: o.Standardise, SinglePieces: o.SinglePieces, Turned: o.Turns,
		Data:   fmt.Sprintf("%s; %s held out; %d images trained on", strings.ReplaceAll(d.Name, "+", ", "), out, images),
		Commit: o.Commit, Seed: o.Seed, Layout: weights.LayoutHWIO,
		Metrics: map[string]float64{"steps": float64(step)},
	}
}
