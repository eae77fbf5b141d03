package tensor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"mrprism/shaders/gpu"
)

// Kernel is one compute entry point: its arguments, the Go body that defines its results, and WGSL
// variants that compute these on devices of different kinds.
type Kernel struct {
	Name      string       // WGSL entry point: "layer_norm_forward"
	Arguments []gpu.Access // bindings 1, 2, … in order; binding 0 is the uniform Params
	Body      gpu.Body     // plain, in float64; arrays may be longer than the tensor: params has the extents
	Fast      gpu.Fast     // the same in float32 and fast, for the processor; nil: it computes Body
	Wide      []int        // arguments that are F32 even if others are F16: statistics, sums, weights' gradients
	Variants  []Variant    // a device uses the first variant that runs on it and is preferred

	// Adds says whether, with these parameters, the kernel adds once to every element of its last
	// argument. Then the zeroing before the first of several sums is left out, and the WGSL begins
	// at zero where its header says FRESH. nil: no.
	Adds func(params any) bool

	// SlopeOf is the function of one number whose slope at its first argument the kernel multiplies by
	// the second, and adds to the third. nil: it does something else.
	SlopeOf *Kind

	// Sloped returns parameters with which the kernel multiplies what it made its last argument by the
	// slope at the argument before. Unless the last argument counted as zero, the one before these
	// two has what is added to it first. nil: it cannot.
	Sloped func(params any, zero bool, of *Kind) any

	Copies bool   // the kernel only writes its first argument to its second, or adds it
	Joint  *Joint // how one dispatch computes several; nil: not at all
}

// Variant is one way to compute a Kernel.
type Variant struct {
	Name    string                               // "", "registers", "tiles"; unique in a kernel
	Source  string                               // WGSL below the header: see source
	Enables string                               // Source's directive: "enable subgroups;"
	Entry   string                               // entry point, if not the kernel's name
	Runs    func(info gpu.Info, params any) bool // whether it can run on a device; nil: on all
	Prefers func(info gpu.Info, params any) bool // whether it beats the variants after it; nil: yes
	Groups  func(params any) [3]int              // workgroups for these parameters
	Header  func(params any) string              // declarations (Constants); nil: none
}

// Body adapts a typed kernel body to gpu.Body.
func Body[P any](f func(p *P, a []gpu.Array)) gpu.Body {
	return func(params any, a []gpu.Array) { f(params.(*P), a) }
}

// Fast adapts a typed kernel body in float32 to gpu.Fast.
func Fast[P any](f func(p *P, a []gpu.Array32, split gpu.Split)) gpu.Fast {
	return func(params any, a []gpu.Array32, split gpu.Split) { f(params.(*P), a, split) }
}

// mostGroups is the number of workgroups that WebGPU allows in a dimension.
const mostGroups = 65535

// Linear spreads n invocations over workgroups of the given size, in two dimensions where one would
// exceed the limit. In WGSL number(id, SIZE) is the index.
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

func (k *Kernel) specialise(v *Variant, floats numbers, fresh bool, params any) *gpu.Program {
	name := k.Name
	if v.Name != "" {
		name += "/" + v.Name
	}
	name += floats.suffix()
	entry := k.Name
	if v.Entry != "" {
		entry = v.Entry
	}
	source := v.source(floats, fresh, params)
	key := name + "\x00" + source
	interned.Lock()
	defer interned.Unlock()
	if p := interned.programs[key]; p != nil {
		return p
	}
	p := &gpu.Program{Name: name, Source: source, Entry: entry, Arguments: k.Arguments, Body: k.Body, Fast: k.Fast}
	interned.programs[key] = p
	return p
}

// Programs returns every program that a plan of this process could have run. Tests ask for them.
func Programs() []*gpu.Program {
	interned.Lock()
	defer interned.Unlock()
	return slices.Collect(maps.Values(interned.programs))
}

// invocation declares how an entry point gets the number of its element, if Linear has spread the
// invocations. Kernels with barriers or subgroups take the builtins as separate arguments: if they
// are in a structure, Tint assumes that the workgroup's number differs among invocations.
const invocation = `struct Invocation {
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
  @builtin(local_invocation_index) local: u32,
}
fn number(id: Invocation, size: u32) -> u32 { return (id.group.y * id.groups.x + id.group.x) * size + id.local; }
`

// source is the WGSL of a variant: a header, then Source. The header begins with the directives, as
// WGSL requires, and declares real, real4, HALF, FRESH, Invocation and what Header adds.
func (v *Variant) source(floats numbers, fresh bool, params any) string {
	var b strings.Builder
	if v.Enables != "" {
		b.WriteString(v.Enables + "\n")
	}
	fmt.Fprintf(&b, "%sconst FRESH: bool = %t;\n%s", floats.header(), fresh, invocation)
	if v.Header != nil {
		b.WriteString(v.Header(params))
	}
	b.WriteString("\n" + v.Source)
	if source := b.String(); floats == full || strings.Contains(source, "<real") || strings.Contains(source, "<stored>") {
		return source
	}
	panic(fmt.Sprintf("tensor: a plan of halves needs a kernel whose storage is of real or stored:\n%.200s …", v.Source))
}

// Constants declares constants of type u32 for a header.
func Constants(values map[string]int) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(&b, "const %s: u32 = %du;\n", name, values[name])
	}
	return b.String()
}
