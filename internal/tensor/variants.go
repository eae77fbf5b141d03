package tensor

import (
	"fmt"
	"hash/fnv"
	"slices"

	"mrprism/internal/gpu"
)

// Program, which tests ask, chooses the variant for a device and returns the interned program, in plans whose floats are stored as F32 or F16, and its workgroups.
func (k *Kernel) Program(info gpu.Info, floats gpu.ElementType, params any) (*gpu.Program, [3]int) {
	if floats == gpu.F16 {
		return k.program(info, short, params)
	}
	return k.program(info, full, params)
}

func (k *Kernel) program(info gpu.Info, floats numbers, params any) (*gpu.Program, [3]int) {
	candidates := k.candidates(info, params)
	v := candidates[0]
	if len(candidates) > 1 && len(info.Tuned) > 0 {
		if name, ok := info.Tuned[k.key(floats, params)]; ok {
			if i := slices.IndexFunc(candidates, func(v *Variant) bool { return v.Name == name }); i >= 0 {
				v = candidates[i]
			}
		}
	}
	return k.specialise(v, floats, params), v.Groups(params)
}

// candidates are the variants that run on a device, first the one that is chosen where nothing was measured.
func (k *Kernel) candidates(info gpu.Info, params any) []*Variant {
	var candidates []*Variant
	preferred := -1
	for i := range k.Variants {
		v := &k.Variants[i]
		if v.Runs != nil && !v.Runs(info, params) || tooMany(v.Groups(params)) {
			continue
		}
		if preferred < 0 && (v.Prefers == nil || v.Prefers(info, params)) {
			preferred = len(candidates)
		}
		candidates = append(candidates, v)
	}
	if preferred < 0 {
		panic(fmt.Sprintf("tensor: kernel %s has no variant for %v with %+v", k.Name, info, params))
	}
	chosen := candidates[preferred]
	return append([]*Variant{chosen}, slices.Delete(candidates, preferred, preferred+1)...)
}

// preferred says whether one of the variants is likely worth while on a device.
func (k *Kernel) preferred(info gpu.Info, params any) bool {
	return slices.ContainsFunc(k.Variants, func(v Variant) bool {
		return (v.Runs == nil || v.Runs(info, params)) && (v.Prefers == nil || v.Prefers(info, params))
	})
}

// tooMany workgroups for WebGPU.
func tooMany(groups [3]int) bool { return slices.Max(groups[:]) > mostGroups }

// key is the kernel with parameters in gpu.Info.Tuned. It changes with the source of any variant, since what was measured may then no
// longer hold.
func (k *Kernel) key(floats numbers, params any) string {
	interned.Lock()
	defer interned.Unlock()
	version, ok := interned.versions[k]
	if !ok {
		h := fnv.New32a()
		for _, v := range k.Variants {
			fmt.Fprintf(h, "%s\x00%s\x00%s\x00", v.Name, v.Entry, v.Source)
		}
		version = h.Sum32()
		interned.versions[k] = version
	}
	return fmt.Sprintf("%s%s %08x %v", k.Name, floats.suffix(), version, params)
}

// Alternatives are the dispatches of one run with equal kernels and parameters, where several variants can compute them.
type Alternatives struct {
	Key        string // in gpu.Info.Tuned
	Dispatches int
	Params     any
	Arguments  []gpu.BufferSpec // what a dispatch is given
	Variants   []Alternative    // first the one that is chosen where nothing was measured
}

// Alternative is one variant, for parameters.
type Alternative struct {
	Variant string // its name
	Program *gpu.Program
	Groups  [3]int
}

// Alternatives lists those of one run, without what depends on parameters alone: for who measures which is the fastest. Keys differ.
func (p *Plan) Alternatives() []Alternatives {
	var all []Alternatives
	at := map[string]int{}
	for _, n := range p.nodes {
		if n.kernel == nil {
			continue
		}
		variants := n.kernel.candidates(p.device.Info(), n.params)
		if len(variants) == 1 {
			continue
		}
		key := n.kernel.key(p.numbers(&n), n.params)
		i, ok := at[key]
		if !ok {
			i = len(all)
			at[key] = i
			a := Alternatives{Key: key, Params: n.params}
			for _, s := range n.arguments {
				a.Arguments = append(a.Arguments, gpu.BufferSpec{Label: s.label, Type: s.kind, Elements: s.elements})
			}
			for _, v := range variants {
				a.Variants = append(a.Variants, Alternative{v.Name, n.kernel.specialise(v, p.numbers(&n), n.params), v.Groups(n.params)})
			}
			all = append(all, a)
		}
		all[i].Dispatches++
	}
	return all
}
