package shaders

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/gpu/gputest"
	"mrprism/internal/compute/tensor"
	"mrprism/internal/compute/vector"

	"github.com/stretchr/testify/require"
)

// asVariants calls f as asKinds does, and with every device as a CPU adapter so often again, with one and another choice of variants, that
// every variant that runs there has run, of every kernel of the plans that f compiles.
//
// Nearly all of the time goes into compiling. So variants that a device would not choose itself run as one program in each test, which all cases
// share that can, and not once for every width and everything a convolution takes over.
func asVariants(t *testing.T, f func(name string, d gpu.Device)) {
	t.Helper()
	for _, d := range gputest.Devices(t) {
		info := d.Info()
		if info.InGo() {
			inGo(d, func(name string) { f(name, d) })
			continue
		}
		var offered [][]*gpu.Program // what the CPU's plans could run, by dispatch
		f(info.Backend+" as "+string(gpu.KindCPU), as{d, gpu.KindCPU, func(programs []*gpu.Program) int {
			offered = append(offered, programs)
			return 0
		}})
		f(info.Backend+" as "+string(gpu.KindDiscrete), as{d, gpu.KindDiscrete, func(programs []*gpu.Program) int {
			if !inBrowser {
				return 0
			}
			// what the CPU ran is compiled already, other variants are compiled below
			return max(0, slices.IndexFunc(programs, func(p *gpu.Program) bool {
				return slices.ContainsFunc(offered, func(o []*gpu.Program) bool { return o[0] == p })
			}))
		}})
		for round, more := 1, true; more; round++ {
			choose := func(programs []*gpu.Program) int {
				if round < len(programs) && wanted(t, programs[round]) {
					return round
				}
				return 0
			}
			more = slices.ContainsFunc(offered, func(programs []*gpu.Program) bool { return round < len(programs) })
			if slices.ContainsFunc(offered, func(programs []*gpu.Program) bool { return choose(programs) > 0 }) {
				f(fmt.Sprintf("%s, choice %d of variants", info.Backend, round), as{d, gpu.KindCPU, choose})
			}
		}
	}
}

// inGo calls f with the name of a device in Go, for the processor once at each level of vectors.
func inGo(d gpu.Device, f func(name string)) {
	if d.Info().Kind != gpu.KindProcessor {
		f(d.Info().Backend)
		return
	}
	defer vector.Use(vector.Current())
	for _, l := range vector.Levels() {
		vector.Use(l)
		f(d.Info().Backend + ", " + l.Name)
	}
}

// inBrowser says that the tests themselves run in one.
const inBrowser = runtime.GOOS == "js"

// sampled are the programs that stand for a variant, by test and name.
var sampled = map[string]*gpu.Program{}

// wanted says whether a program is run: the first of each name in a test, and the same again.
func wanted(t *testing.T, p *gpu.Program) bool {
	test, _, _ := strings.Cut(t.Name(), "/")
	key := test + " " + p.Name
	if sampled[key] == nil {
		sampled[key] = p
	}
	return sampled[key] == p
}

// The kind of device decides which variant runs, and what a kernel can do.
func TestVariantsChosen(t *testing.T) {
	subgroups := guises()[0]
	software, discrete := gpu.Info{Kind: gpu.KindCPU, Adapter: "SwiftShader"}, gpu.Info{Kind: gpu.KindDiscrete, Features: subgroups.Features}
	outputs := func(n uint32) any { return &conv2dParams{Outputs: n} }
	int8Outputs := func(n uint32) any { return &conv2dInt8Params{conv2dParams: conv2dParams{Outputs: n}} }
	square := func(side int32, inputs, outputs uint32) conv2dParams { // 3×3
		axis := forwardAxis(int(side), int(side), 3, 1, 1)
		return conv2dParams{Batch: 1, Inputs: inputs, Outputs: outputs, Parts: 1, Rows: axis, Cols: axis}
	}
	convolution := func(side int32, inputs, outputs uint32) any {
		p := square(side, inputs, outputs)
		return &p
	}
	int8Convolution := func(side int32, inputs, outputs uint32) any {
		return &conv2dInt8Params{conv2dParams: square(side, inputs, outputs)}
	}
	width := func(n uint32) any { return &attentionParams{Width: n} }
	for _, c := range []struct {
		kernel *tensor.Kernel
		params any
		want   [3]string // with subgroups of eight, on another software adapter, on a GPU
	}{
		{conv2dForward, outputs(4), [3]string{"registers", "registers", ""}},
		{conv2dForward, outputs(16), [3]string{"registers", "registers", ""}},
		{conv2dForward, outputs(18), [3]string{"", "", ""}},
		{conv2dForward, outputs(20), [3]string{"registers", "registers", "tiles"}},
		{conv2dForward, outputs(32), [3]string{"subgroups", "registers", "tiles"}},
		{conv2dForward, outputs(33), [3]string{"", "", ""}},
		{conv2dForward, convolution(4, 256, 256), [3]string{"subgroups", "registers", "tiles"}},
		{conv2dForward, convolution(8, 256, 512), [3]string{"subgroups", "registers", "tiles"}},
		{conv2dForward, convolution(16, 256, 256), [3]string{"subgroups", "registers", "tiles"}},
		{conv2dForward, convolution(64, 64, 64), [3]string{"subgroups", "registers", "tiles"}},
		{conv2dForward, convolution(4, 4, 64), [3]string{"subgroups", "registers", "tiles"}},
		{conv2dForward, convolution(16, 3, 32), [3]string{"subgroups", "registers", "registers"}},
		{conv2dForward, convolution(4, 256, 2), [3]string{"", "", ""}},
		{conv2dInt8, int8Convolution(4, 256, 256), [3]string{"subgroups", "", "tiles"}},
		{conv2dInt8, int8Convolution(8, 256, 512), [3]string{"subgroups", "", "tiles"}},
		{conv2dInt8, int8Convolution(16, 32, 64), [3]string{"subgroups", "", "tiles"}},
		{conv2dInt8, int8Convolution(16, 16, 64), [3]string{"subgroups", "", "tiles"}},
		{conv2dInt8, int8Outputs(4), [3]string{"", "", "tiles"}},
		{conv2dInt8, int8Outputs(32), [3]string{"subgroups", "", "tiles"}},
		{conv2dBackwardWeight, outputs(5), [3]string{"", "", ""}},
		{conv2dBackwardWeight, outputs(24), [3]string{"registers", "registers", "tiles"}},
		{conv2dBackwardWeight, outputs(64), [3]string{"subgroups", "registers", "tiles"}},
		{conv2dBackwardWeight, convolution(16, 3, 32), [3]string{"subgroups", "registers", "registers"}},
		{depthwiseForward, convolution(16, 8, 8), [3]string{"", "", "tiles"}},
		{depthwiseBackwardX, convolution(16, 7, 7), [3]string{"", "", ""}},
		{depthwiseBackwardWeight, convolution(16, 8, 8), [3]string{"", "", "tiles"}},
		{attentionForward, width(8), [3]string{"lanes", "narrow", "tiles"}},
		{attentionForward, width(16), [3]string{"lanes", "", "tiles"}},
		{attentionForward, width(32), [3]string{"lanes", "", "tiles"}},
		{attentionForward, width(64), [3]string{"lanes", "", "tiles"}},
		{attentionInt8, width(8), [3]string{"lanes", "tiles", "tiles"}},
		{attentionForward, width(48), [3]string{"", "", "tiles"}},
		{attentionForward, width(6), [3]string{"", "", ""}},
		{attentionBackwardQ, width(8), [3]string{"lanes", "narrow", "tiles"}},
		{attentionBackwardQ, width(16), [3]string{"lanes", "", "tiles"}},
		{attentionBackwardKV, width(64), [3]string{"lanes", "", "tiles"}},
		{transposeForward, &transposeParams{1, 8, 4}, [3]string{"quads", "quads", "quads"}},
		{transposeForward, &transposeParams{1, 8, 6}, [3]string{"", "", ""}},
	} {
		for i, info := range []gpu.Info{subgroups, software, discrete} {
			want := c.kernel.Name
			if c.want[i] != "" {
				want += "/" + c.want[i]
			}
			got, _ := c.kernel.Program(info, gpu.F32, c.params)
			require.Equal(t, want, got.Name, "%+v on %s", c.params, info)
		}
	}
}

// DEVICES.md has a row for every variant of kernels that have more than one, and no others. Kernels
// with more than three have a measured reason for those beyond plain and tiles: 5 % or more.
func TestVariantsHaveReasons(t *testing.T) {
	page, err := os.ReadFile("DEVICES.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(page), "\n## Kernel variants\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	reasons := map[string]map[string]string{} // by kernel and variant
	for _, row := range regexp.MustCompile(`(?m)^\| ([\w, ]+) \| (\w+) \| [^|]+ \|(.*)\|$`).FindAllStringSubmatch(section, -1) {
		for kernel := range strings.SplitSeq(row[1], ", ") {
			if reasons[kernel] == nil {
				reasons[kernel] = map[string]string{}
			}
			reasons[kernel][row[2]] = row[3]
		}
	}
	delete(reasons, "kernels") // the table's head
	variants := map[string]map[string]bool{}
	for p := range everyProgram(t) {
		name, _, _ := strings.Cut(p.Name, "/f16") // in which plans of halves end
		kernel, variant, _ := strings.Cut(name, "/")
		if variants[kernel] == nil {
			variants[kernel] = map[string]bool{}
		}
		variants[kernel][cmp.Or(variant, "plain")] = true
	}
	factor := regexp.MustCompile(`takes (\d\.\d+) of the time`)
	for kernel, in := range variants {
		if len(in) == 1 {
			require.NotContains(t, reasons, kernel)
			continue
		}
		require.ElementsMatch(t, slices.Collect(maps.Keys(in)), slices.Collect(maps.Keys(reasons[kernel])), "of %s in DEVICES.md", kernel)
		for variant, reason := range reasons[kernel] {
			if len(in) <= 3 || variant == "plain" || variant == "tiles" {
				continue
			}
			figure := factor.FindStringSubmatch(reason)
			require.NotNil(t, figure, "%s/%s is one of more than three variants, without a measured gain", kernel, variant)
			gain, err := strconv.ParseFloat(figure[1], 64)
			require.NoError(t, err)
			require.GreaterOrEqual(t, gain, 1.05, "%s/%s", kernel, variant)
		}
	}
	for kernel := range reasons {
		require.Contains(t, variants, kernel, "DEVICES.md names it")
	}
}

// With storage of halves the tiles of GPUs hold and multiply halves; a processor that emulates a GPU would only convert them to and fro.
func TestTilesMultiplyHalves(t *testing.T) {
	source := func(kind gpu.Kind, floats gpu.ElementType) string {
		p, _ := conv2dForward.Program(gpu.Info{Kind: kind}, floats, &conv2dParams{Outputs: 64})
		return p.Source
	}
	require.Contains(t, source(gpu.KindDiscrete, gpu.F16), "\nconst HALF: bool = true;")
	require.Contains(t, source(gpu.KindDiscrete, gpu.F16), "array<real4, PADDED>")
	require.Contains(t, source(gpu.KindDiscrete, gpu.F32), "\nconst HALF: bool = false;")
	require.NotContains(t, source(gpu.KindCPU, gpu.F16), "if (HALF)")
}
