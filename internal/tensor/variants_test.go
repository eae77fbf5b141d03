package tensor

import (
	"context"
	"testing"

	"mrprism/internal/gpu"
	"mrprism/internal/gpu/reference"

	"github.com/stretchr/testify/require"
)

// choosy is a kernel of three variants: one for GPUs, of a workgroup an element, one for even sizes, preferred nowhere, and one for all.
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
	key := choosy.key(full, &addParams{4})
	require.Equal(t, "choosy 66dead84 &{4}", key, "keys are remembered from one run of a program to the next")
	for _, c := range []struct {
		info gpu.Info
		n    uint32
		want string
	}{
		{gpu.Info{Kind: gpu.KindDiscrete}, 4, "choosy/gpu"},
		{gpu.Info{Kind: gpu.KindDiscrete}, 65535, "choosy/gpu"},
		{gpu.Info{Kind: gpu.KindDiscrete}, 65536, "choosy"}, // too many workgroups
		{gpu.Info{Kind: gpu.KindCPU}, 4, "choosy"},
		{gpu.Info{Kind: gpu.KindCPU, Tuned: map[string]string{key: "even"}}, 4, "choosy/even"},
		{gpu.Info{Kind: gpu.KindCPU, Tuned: map[string]string{key: "gpu"}}, 4, "choosy/gpu"},
		{gpu.Info{Kind: gpu.KindDiscrete, Tuned: map[string]string{key: ""}}, 4, "choosy"},
		{gpu.Info{Kind: gpu.KindDiscrete, Tuned: map[string]string{key: "even"}}, 6, "choosy/gpu"},                    // other params
		{gpu.Info{Kind: gpu.KindCPU, Tuned: map[string]string{choosy.key(full, &addParams{3}): "even"}}, 3, "choosy"}, // does not run
		{gpu.Info{Kind: gpu.KindCPU, Tuned: map[string]string{key: "of another version"}}, 4, "choosy"},               // does not exist
		{gpu.Info{Kind: gpu.KindCPU, Tuned: map[string]string{"choosy 00000000 &{4}": "even"}}, 4, "choosy"},          // other sources
	} {
		program, _ := choosy.Program(c.info, gpu.F32, &addParams{c.n})
		require.Equal(t, c.want, program.Name, "%d with %+v", c.n, c.info)
	}
	other := *choosy
	other.Variants = append([]Variant{{Source: "// new"}}, other.Variants...)
	require.NotEqual(t, key, other.key(full, &addParams{4}))
}

// Alternatives lists equal kernels with parameters once, first what is chosen where nothing was measured, measured or not.
func TestAlternatives(t *testing.T) {
	for _, measured := range []map[string]string{nil, {choosy.key(full, &addParams{4}): "even"}} {
		g := NewGraph()
		a, b := g.Input("a", 4), g.Input("b", 3)
		twice := g.New("twice", a.Shape())
		four, odd := g.New("four", a.Shape()).Keep(), g.New("odd", b.Shape()).Keep()
		g.Dispatch(choosy, &addParams{4}, a, a, twice)
		g.Dispatch(choosy, &addParams{4}, twice, twice, four)
		g.Dispatch(choosy, &addParams{3}, b, b, odd)
		add(a, a).Keep() // has one variant
		plan, err := Compile(context.Background(), tunedReference{reference.Open(), measured}, NewSet(), g)
		require.NoError(t, err)
		defer plan.Release()
		all := plan.Alternatives()
		require.Len(t, all, 2)
		names := func(i int) (names []string) {
			for _, v := range all[i].Variants {
				names = append(names, v.Variant)
			}
			return names
		}
		require.Equal(t, []string{"", "gpu", "even"}, names(0))
		require.Equal(t, []string{"", "gpu"}, names(1))
		require.Equal(t, choosy.key(full, &addParams{4}), all[0].Key)
		require.Equal(t, 2, all[0].Dispatches)
		require.Equal(t, []gpu.BufferSpec{{Label: "a", Elements: 4}, {Label: "a", Elements: 4}, {Label: "twice", Elements: 4}}, all[0].Arguments)
		require.Equal(t, "choosy/even", all[0].Variants[2].Program.Name)
		commands, _ := plan.Commands()
		require.Equal(t, measured != nil, commands[0].Program.Name == "choosy/even")
	}
}

// tunedReference is the reference in the guise of a device that was measured.
type tunedReference struct {
	gpu.Device
	tuned map[string]string
}

func (d tunedReference) Info() gpu.Info {
	info := d.Device.Info()
	info.Tuned = d.tuned
	return info
}
