package segment

import (
	"context"
	"fmt"
	"math"

	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/half"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
	"mrprism/weights"
)

// load writes the values of a file into the network's variables, whose names and shapes it has.
// Int8 weights go to the device as int8 and become floats there.
func load(ctx context.Context, device gpu.Device, set *tensor.Set, file *weights.File) error {
	type upload struct {
		q, scale *tensor.Tensor
		bytes    []byte
		scales   []float32
	}
	g := tensor.NewGraphOf(set.Floats())
	var uploads []upload
	for _, v := range set.Variables(tensor.Parameter, tensor.Statistic) {
		t := file.Tensor(v.Name)
		if t.DType != weights.I8 {
			values, err := t.Float32()
			if err != nil {
				return err
			}
			if err := set.Write(v, values); err != nil {
				return fmt.Errorf("writing %s: %w", v.Name, err)
			}
			continue
		}
		scales, err := file.Scales(v.Name)
		if err != nil {
			return err
		}
		if set.Floats() == gpu.F16 {
			if err := fitHalf(v.Name, t.Data, scales); err != nil {
				return err
			}
		}
		u := upload{g.InputOf(gpu.I8, v.Name, v.Shape...), g.InputOf(gpu.F32, v.Name+weights.ScaleSuffix, len(scales)), t.Data, scales}
		pointwise.Assign(g.Variable(v), pointwise.Dequantize(u.q, u.scale))
		uploads = append(uploads, u)
	}
	if len(uploads) == 0 {
		return nil
	}
	plan, err := shaders.Compile(ctx, device, set, g)
	if err != nil {
		return err
	}
	defer plan.Release()
	for _, u := range uploads {
		if err := plan.WriteBytes(u.q, u.bytes); err != nil {
			return fmt.Errorf("writing %v: %w", u.q, err)
		}
		if err := plan.Write(u.scale, u.scales); err != nil {
			return fmt.Errorf("writing %v: %w", u.scale, err)
		}
	}
	if err := plan.Run(ctx); err != nil {
		return err
	}
	return device.Read(ctx) // waits: plan.Release frees the int8 copies
}

// Replace gives the engine other weights with the same names and shapes, for example those of a run
// that goes on.
func (e *Engine) Replace(ctx context.Context, file *weights.File) error {
	about, err := weights.ParseMetadata(file.Metadata)
	if err != nil {
		return err
	}
	e.last, e.about.Panels = last{}, about.Panels
	return load(ctx, e.device, e.set, file)
}

// fitHalf refuses int8 weights that exceed f16. Nothing later might notice infinite weights.
func fitHalf(name string, q []byte, scales []float32) error {
	for i, b := range q {
		if v := float64(int8(b)) * float64(scales[i%len(scales)]); math.Abs(v) > half.Most {
			return fmt.Errorf("element %d of %s is %g, and f16 ends at %d: use the precision f32", i, name, v, half.Most)
		}
	}
	return nil
}
