package shadertest

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/kernels/kerneltest"
	"mrprism/shaders/vector"
)

// EachVariant calls f as EachKind does. It then calls f repeatedly with every GPU as a CPU adapter,
// each time with another choice of variants, until all variants that the adapter can run have run,
// of every kernel in the plans that f compiles. It also calls f with the reference in the guise of
// every device that chooses other variants: their bodies are to compute the same, and Main finds
// their programs.
//
// Compiling takes nearly all of the time. If the device would not choose a variant itself, each
// test therefore runs only one program of that variant, not one for every width and every fused
// operator.
func EachVariant(t *testing.T, f func(name string, d gpu.Device)) {
	t.Helper()
	for _, d := range gputest.Devices(t) {
		info := d.Info()
		if info.InGo() {
			inGo(d, func(name string) { f(name, d) })
			if info.Kind == gpu.KindReference && !inBrowser {
				for _, guise := range kerneltest.Guises() {
					guise.Backend, guise.Limits = info.Backend, info.Limits
					f("reference as "+guise.String(), disguised{Device: d, info: guise})
				}
			}
			continue
		}
		var offered [][]*gpu.Program // by dispatch of the CPU's plans: programs that could run it
		f(info.Backend+" as "+string(gpu.KindCPU), disguised{d, ofKind(d, gpu.KindCPU), func(programs []*gpu.Program) int {
			offered = append(offered, programs)
			return 0
		}})
		f(info.Backend+" as "+string(gpu.KindDiscrete), disguised{d, ofKind(d, gpu.KindDiscrete), func(programs []*gpu.Program) int {
			if !inBrowser {
				return 0
			}
			// The program that the CPU ran is compiled already. Other variants are compiled below.
			return max(0, slices.IndexFunc(programs, func(p *gpu.Program) bool {
				return slices.ContainsFunc(offered, func(o []*gpu.Program) bool { return o[0] == p })
			}))
		}})
		for round, more := 1, true; more; round++ {
			choose := func(programs []*gpu.Program) int {
				if round < len(programs) && runsInTest(t, programs[round]) {
					return round
				}
				return 0
			}
			more = slices.ContainsFunc(offered, func(programs []*gpu.Program) bool { return round < len(programs) })
			if slices.ContainsFunc(offered, func(programs []*gpu.Program) bool { return choose(programs) > 0 }) {
				f(fmt.Sprintf("%s, choice %d of variants", info.Backend, round), disguised{d, ofKind(d, gpu.KindCPU), choose})
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

// inBrowser says that the tests themselves run in a browser.
const inBrowser = runtime.GOOS == "js"

// sampled are the programs that represent their variants, by test and name.
var sampled = map[string]*gpu.Program{}

// runsInTest says whether a test runs a program: it runs the first program of each name.
func runsInTest(t *testing.T, p *gpu.Program) bool {
	test, _, _ := strings.Cut(t.Name(), "/")
	key := test + " " + p.Name
	if sampled[key] == nil {
		sampled[key] = p
	}
	return sampled[key] == p
}
