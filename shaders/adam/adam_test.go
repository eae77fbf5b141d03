package adam_test

import (
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/adam"
	"mrprism/shaders/gpu"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// A first step that shows what the goldens lack: the gradient is clipped to a half, so that the
// moments are of that half, and the step is the rate times the gradient's sign plus the decay.
func TestAdamClipsAndDecays(t *testing.T) {
	shadertest.EachKind(t, func(device string, d gpu.Device) {
		for _, n := range []int{3, 4} { // one by one, in quads
			g := tensor.NewGraph()
			p, m, v, average, gradient := g.Input("p", n), g.Input("m", n), g.Input("v", n), g.Input("average", n), g.Input("gradient", n)
			schedule := g.Input("schedule", 5)
			options := adam.Options{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Decay: 0.5}
			adam.Step(p, gradient, m, v, average, schedule, options)
			plan, err := shaders.Compile(t.Context(), d, tensor.NewSet(), g)
			require.NoError(t, err)
			defer plan.Release()
			require.NoError(t, plan.Write(p, []float32{1, -2, 4, 3}[:n]))
			require.NoError(t, plan.Write(gradient, []float32{6, 8, -2, 4}[:n]))
			require.NoError(t, plan.Write(schedule, adam.Schedule(options, 1, 0.1, 0.5, 0)))
			require.NoError(t, plan.Run(t.Context()))
			got, err := plan.Read(t.Context(), p, m, v, average)
			require.NoError(t, err)
			steps := shadertest.Operator{RTol: 2e-5} // β in float32
			steps.Compare(t, device, "p", got[0], []float32{1 - 0.1*(1+0.5), -2 - 0.1*(1-1), 4 - 0.1*(-1+2), 3 - 0.1*(1+1.5)}[:n])
			steps.Compare(t, device, "m", got[1], []float32{0.3, 0.4, -0.1, 0.2}[:n])
			steps.Compare(t, device, "v", got[2], []float32{0.009, 0.016, 0.001, 0.004}[:n])
			steps.Compare(t, device, "average", got[3], got[0])
		}
	})
}
