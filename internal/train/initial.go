package train

import (
	"fmt"
	"slices"
	"strings"

	"mrprism/internal/command"
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
	folds []*weights.File  // of Options.Folds
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
	m, err := command.Weights(o.Init)
	if err != nil {
		return from, fmt.Errorf("%w (weights trained in PyTorch need -names)", err)
	}
	from.about = m.Metadata
	from.file, err = weights.Dequantize(m.File)
	return from, err
}

// begin gives the variables their initial weights. Variables that a PyTorch file lacks keep their
// random values. If a model has other numbers of raters or classes, variables whose shape depends
// on these also do. A note tells the user.
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
		return fmt.Errorf("the model has configuration %s, and -config is %s", from.about.Configuration, t.Options.Config)
	default:
		if from.about.Standardise != t.Options.Standardise {
			with := map[bool]string{true: "with", false: "without"}
			t.Options.tell(fmt.Sprintf("%s was trained %s -standardise, and this run is %s: the weights know other brightness and contrast",
				t.Options.Init, with[from.about.Standardise], with[t.Options.Standardise]))
		}
		taken = fitting(from.file, variables)
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
