package segment

import (
	"context"
	"fmt"

	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
	"mrprism/shaders"
	"mrprism/weights"
)

// load writes a matched file's values into the network's variables. Int8 weights travel as they are and become floats on the
// device.
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
		u := upload{g.InputOf(gpu.I8, v.Name, v.Shape...), g.InputOf(gpu.F32, v.Name+weights.ScaleSuffix, len(scales)), t.Data, scales}
		shaders.Assign(g.Variable(v), shaders.Dequantize(u.q, u.scale))
		uploads = append(uploads, u)
	}
	if len(uploads) == 0 {
		return nil
	}
	plan, err := tensor.Compile(ctx, device, set, g)
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
	return device.Read(ctx) // waits, so that the int8 copies may go
}
