package tensor

import (
	"context"
	"testing"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"

	"github.com/stretchr/testify/require"
)

// choosy is a kernel of three variants: one for GPUs, with a workgroup for each element; one for
// even sizes, preferred nowhere; and one for all.
var choosy = &Kernel{
	Name: "choosy", Arguments: sum.Arguments, Body: sum.Body,
	Variants: []Variant{
		{Name: "gpu", Source: "// for GPUs", Prefers: func(info gpu.Info, _ any) bool { return info.Kind == gpu.KindDiscrete },
			Groups: func(p any) [3]int { return [3]int{int(p.(*addParams).N), 1, 1} }},
		{Name: "even", Source: "// for even sizes", Runs: func(_ gpu.Info, p any) bool { return p.(*addParams).N%2 == 0 },
			Prefers: func(gpu.Info, any) bool { return false }, Groups: sum.Variants[0].Groups},
		{Source: "// for all", Groups: sum.Variants[0].Groups},
	},
}

func TestVariantsAreChosen(t *testing.T) {
	for _, c := range []struct {
		info gpu.Info
		n    uint32
		want string
	}{
		{gpu.Info{Kind: gpu.KindDiscrete}, 4, "choosy/gpu"},
		{gpu.Info{Kind: gpu.KindDiscrete}, 65535, "choosy/gpu"},
		{gpu.Info{Kind: gpu.KindDiscrete}, 65536, "choosy"}, // too many workgroups
		{gpu.Info{Kind: gpu.KindCPU}, 4, "choosy"},
	} {
		program, _ := choosy.Program(c.info, gpu.F32, &addParams{c.n})
		require.Equal(t, c.want, program.Name, "%d with %+v", c.n, c.info)
	}
}

// A device that is a Chooser is offered the variants that run there, the preferred one first, and
// runs the one that it takes.
func TestDevicesMayChoose(t *testing.T) {
	g := NewGraph()
	a, b := g.Input("a", 4), g.Input("b", 3)
	four, odd := g.New("four", a.Shape()).Keep(), g.New("odd", b.Shape()).Keep()
	g.Dispatch(choosy, &addParams{4}, a, a, four)
	g.Dispatch(choosy, &addParams{3}, b, b, odd)
	d := &lastChooser{Device: reference.Open()}
	plan, err := Compile(context.Background(), d, NewSet(), g)
	require.NoError(t, err)
	defer plan.Release()
	require.Equal(t, [][]string{{"choosy", "choosy/gpu", "choosy/even"}, {"choosy", "choosy/gpu"}}, d.offered)
	commands := plan.Commands().Commands
	require.Equal(t, "choosy/even", commands[0].Program.Name)
	require.Equal(t, "choosy/gpu", commands[1].Program.Name)
	require.Equal(t, [3]int{3, 1, 1}, commands[1].Groups)
}

// lastChooser is the reference; it takes the last variant that it is offered.
type lastChooser struct {
	gpu.Device
	offered [][]string
}

func (d *lastChooser) Choose(programs []*gpu.Program) int {
	var names []string
	for _, p := range programs {
		names = append(names, p.Name)
	}
	d.offered = append(d.offered, names)
	return len(programs) - 1
}
