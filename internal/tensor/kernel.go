package tensor

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"mrprism/internal/gpu"
)

// Kernel is one compute entry point: its arguments, the Go body that defines what it computes, and one or more WGSL variants
// that compute the same on devices of different kinds.
type Kernel struct {
	Name      string       // WGSL entry point: "layer_norm_forward"
	Arguments []gpu.Access // bindings 1, 2, … in order; binding 0 is the uniform Params
	Body      gpu.Body     // slow, plain, in float64; arrays may be longer than the tensor: take extents from params
	Fast      gpu.Fast     // the same in float32 and fast, for the processor; nil: it computes Body
	Wide      []int        // arguments of floats that are F32 also where the others are F16: statistics, partial sums, gradients of weights
	Variants  []Variant    // of those that run on a device the first preferred one is used

	Copies bool    // the kernel does nothing but write its first argument to its second
	Fresh  *Kernel // writes the last argument, all of it, from the same params and others where this one adds to it; nil: there is none

	// Absorb tells how the kernel, with these params, takes over the dispatch that alone reads its result, its last argument, as
	// argument `at`; ok is false where it cannot. nil: never.
	Absorb func(params any, next *Kernel, nextParams any, at int) (_ Absorbed, ok bool)
}

// Variant is one way to compute a Kernel.
type Variant struct {
	Name    string                               // "", "cpu", "tiles"; no two of a kernel's have the same
	Source  string                               // WGSL, valid as it stands
	Entry   string                               // entry point, if not the kernel's name
	Runs    func(info gpu.Info, params any) bool // whether it computes what the kernel should there; nil: everywhere
	Prefers func(info gpu.Info, params any) bool // whether it is likely faster there than those after it; nil: everywhere
	Groups  func(params any) [3]int              // workgroups for these parameters
	Consts  func(params any) map[string]string   // values for `const NAME: T = …;` declarations; nil: as written
}

// Body adapts a typed kernel body to gpu.Body.
func Body[P any](f func(p *P, a []gpu.Array)) gpu.Body {
	return func(params any, a []gpu.Array) { f(params.(*P), a) }
}

// Fast adapts a typed kernel body in float32 to gpu.Fast.
func Fast[P any](f func(p *P, a []gpu.Array32, split gpu.Split)) gpu.Fast {
	return func(params any, a []gpu.Array32, split gpu.Split) { f(params.(*P), a, split) }
}

// mostGroups are the workgroups that WebGPU allows in a dimension.
const mostGroups = 65535

// Linear spreads n invocations over workgroups of the given size, in two dimensions where one would exceed the limit. In WGSL
// the index is `(group.y * groups.x + group.x) * SIZE + local`.
func Linear(n, size int) [3]int {
	groups := max(1, (n+size-1)/size)
	if groups <= mostGroups {
		return [3]int{groups, 1, 1}
	}
	rows := (groups + mostGroups - 1) / mostGroups
	return [3]int{(groups + rows - 1) / rows, rows, 1}
}

var interned = struct {
	sync.Mutex
	programs map[string]*gpu.Program
}{programs: map[string]*gpu.Program{}}

func (k *Kernel) specialise(v *Variant, floats numbers, params any) *gpu.Program {
	var constants map[string]string
	if v.Consts != nil {
		constants = v.Consts(params)
	}
	name := k.Name
	if v.Name != "" {
		name += "/" + v.Name
	}
	name += floats.suffix()
	entry := k.Name
	if v.Entry != "" {
		entry = v.Entry
	}
	key := fmt.Sprint(name, "\x00", constants, "\x00", v.Source)
	interned.Lock()
	defer interned.Unlock()
	if p := interned.programs[key]; p != nil {
		return p
	}
	source := Specialise(v.Source, constants)
	if floats != full {
		source = halved(source, floats == short)
	}
	p := &gpu.Program{Name: name, Source: source, Entry: entry, Arguments: k.Arguments, Body: k.Body, Fast: k.Fast}
	interned.programs[key] = p
	return p
}

var constDeclaration = regexp.MustCompile(`(?m)^const (\w+)(\s*:\s*\w+)?\s*=\s*[^;]+;`)

// Specialise rewrites the values of module-scope `const NAME: T = value;` declarations. It panics on a name that the source
// does not declare.
func Specialise(source string, constants map[string]string) string {
	if len(constants) == 0 {
		return source
	}
	used := 0
	out := constDeclaration.ReplaceAllStringFunc(source, func(line string) string {
		m := constDeclaration.FindStringSubmatch(line)
		value, ok := constants[m[1]]
		if !ok {
			return line
		}
		used++
		return "const " + m[1] + strings.TrimRight(m[2], " ") + " = " + value + ";"
	})
	if used != len(constants) {
		panic(fmt.Sprintf("tensor: of the constants %v only %d are declared in the source", constants, used))
	}
	return out
}
