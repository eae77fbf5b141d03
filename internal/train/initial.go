package train

import (
	"fmt"
	"slices"
	"strings"

	"mrprism/internal/choice"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/shaders/tensor"
	"mrprism/weights"
	"mrprism/weights/format/torch"
)

// initial are the weights that a run starts from.
type initial struct {
	file  *weights.File    // nil: random weights
	names *torch.Map       // names of PyTorch's tensors; nil: file is a model of ours
	about weights.Metadata // of a model of ours
}

// openInitial reads the weights to start from: a file, a model that ships, or weights trained in
// PyTorch.
func (o Options) openInitial() (from initial, err error) {
	switch {
	case o.Init == "":
		return from, nil
	case o.Names != "":
		if from.names, err = torch.FindMap(o.Names); err != nil {
			return from, err
		}
		from.file, err = torch.Open(o.Init)
		return from, err
	}
	m, err := weights.Load(o.Init)
	if err != nil {
		return from, choice.Errorf("%w (weights trained in PyTorch need $names)", err)
	}
	from.about = m.Metadata
	from.file, err = weights.Dequantize(m.File)
	return from, err
}

// begin gives the variables their initial weights. Variables that a PyTorch file lacks keep their
// random values. If a model has another number of raters, these begin as the model's (asKnown). Of
// a model with other classes, variables whose shape depends on raters or classes keep their random
// values. A note tells the user.
func (t *Trainer) begin(from initial) error {
	variables := t.set.Variables(tensor.Parameter, tensor.Statistic)
	var taken *weights.File
	var err error
	switch {
	case from.names != nil:
		if taken, err = from.names.Take(from.file, segment.Specs(variables)); err != nil {
			return fmt.Errorf("configuration %s with names %s (torchvision's ResNet-34 is the encoder of paper): %w", t.Options.Config, t.Options.Names, err)
		}
	case !model.SameParameters(from.about.Configuration, t.Options.Config):
		return choice.Errorf("the model has configuration %s, and $config is %s", from.about.Configuration, t.Options.Config)
	case t.Options.Recipe.HeadsFirst > 0 && !slices.Equal(from.about.Classes, t.Dataset.Classes):
		return choice.Errorf("${heads-first} keeps the mask of a model of %v, and the data set has %v: leave it out", from.about.Classes, t.Dataset.Classes)
	default:
		if from.about.Standardise != t.Options.Standardise {
			with := map[bool]string{true: "with", false: "without"}
			t.Options.tell(fmt.Sprintf("%s was trained %s standardise, and this run is %s: the weights know other brightness and contrast",
				t.Options.Init, with[from.about.Standardise], with[t.Options.Standardise]))
		}
		taken = fitting(from.file, variables)
		if had, has := len(from.about.Raters), t.Config.Raters; len(from.about.Classes) == t.Config.Classes && had != has {
			taken.Tensors = append(taken.Tensors, asKnown(from.file, variables, had, has)...)
			t.Options.tell(fmt.Sprintf("the %d raters begin as the %d of %s", has, had, t.Options.Init))
		}
	}
	if t.Config.Panels > 0 {
		taken.Tensors = append(taken.Tensors, shiftsOf(from.about, t.Dataset.Raters, t.Dataset.Classes))
	}
	var given []*tensor.Variable
	for _, v := range variables {
		if taken.Tensor(v.Name) != nil {
			given = append(given, v)
		}
	}
	if from.names != nil || len(given) < len(variables) {
		said := fmt.Sprintf("from %s: %d of the network's %d tensors", t.Options.Init, len(given), len(variables))
		if missing := torch.Missing(taken, segment.Specs(variables)); len(missing) > 0 {
			said += "; at random start " + strings.Join(missing, ", ")
		}
		t.Options.tell(said)
	}
	return t.write(taken, given)
}

// shiftsOf are model.PanelShift of a model for panels; 0 for those that it does not know.
func shiftsOf(about weights.Metadata, panels, classes []string) weights.Tensor {
	values := make([]float32, len(panels)*len(classes))
	for _, known := range about.Panels {
		if p := slices.Index(panels, known.Name); p >= 0 && slices.Equal(about.Classes, classes) {
			for k, v := range known.Shift {
				values[p*len(classes)+k] = float32(v)
			}
		}
	}
	return weights.NewF32(model.PanelShift, []int{len(panels), len(classes)}, values)
}

// fitting are the tensors of a file that have the name and shape of a variable.
func fitting(file *weights.File, variables []*tensor.Variable) *weights.File {
	out := &weights.File{}
	for _, v := range variables {
		if found := file.Tensor(v.Name); found != nil && slices.Equal(found.Shape, v.Shape) {
			out.Tensors = append(out.Tensors, *found)
		}
	}
	return out
}

// asKnown are the tensors of a model of `had` raters for variables that have the same shape for
// `has` raters: rater m begins with the weights of rater m modulo had. Where raters are the input
// of a layer, they share those weights. The masks of the model stay the same if nobody is left out.
func asKnown(file *weights.File, variables []*tensor.Variable, had, has int) (list []weights.Tensor) {
	for _, v := range variables {
		found := file.Tensor(v.Name)
		if found == nil || len(found.Shape) != len(v.Shape) {
			continue
		}
		at := 0
		for at < len(v.Shape) && found.Shape[at] == v.Shape[at] {
			at++
		}
		if at == len(v.Shape) || found.Shape[at]*has != v.Shape[at]*had || !slices.Equal(found.Shape[at+1:], v.Shape[at+1:]) {
			continue
		}
		values, err := found.Float32()
		if err != nil {
			continue
		}
		input, block := len(v.Shape) == 4 && at == 2, len(values)/had
		for _, n := range v.Shape[:at] {
			block /= n
		}
		list = append(list, weights.NewF32(v.Name, v.Shape, shared(values, block, had, has, input)))
	}
	return list
}

// shared makes blocks of `has` raters from those of `had` raters. Inputs share a block, and take in
// those of raters that are left out.
func shared(values []float32, block, had, has int, input bool) (out []float32) {
	for rows := range slices.Chunk(values, had*block) {
		row := make([]float32, has*block)
		for m := range max(had, has) {
			from, to := rows[m%had*block:][:block], row[m%has*block:][:block]
			for i, x := range from {
				switch {
				case !input && m < has:
					to[i] = x
				case input:
					to[i] += x / float32((max(had, has)-1-m%had)/had+1)
				}
			}
		}
		out = append(out, row...)
	}
	return out
}

// write copies a file's tensors into variables. Names and shapes must be equal.
func (t *Trainer) write(file *weights.File, variables []*tensor.Variable) error {
	if err := file.Match(segment.Specs(variables)); err != nil {
		return err
	}
	for _, v := range variables {
		values, err := file.Tensor(v.Name).Float32()
		if err != nil {
			return err
		}
		if err := t.set.Write(v, values); err != nil {
			return err
		}
	}
	return nil
}
