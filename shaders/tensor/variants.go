package tensor

import (
	"fmt"
	"slices"

	"mrprism/shaders/gpu"
)

// Chooser is a device that chooses among the variants of a kernel that run on it. Tests implement
// it to run each of them; every other device runs the preferred one.
type Chooser interface {
	// Choose returns the index of the program to run. The preferred variant's is the first.
	Choose(programs []*gpu.Program) int
}

// program returns the interned program and the workgroups of the variant that computes a node.
func (p *Plan) program(n *node) (*gpu.Program, [3]int) {
	k, floats := n.kernel, p.numbers(n)
	candidates := k.candidates(p.device.Info(), n.params)
	v := candidates[0]
	if c, ok := p.device.(Chooser); ok {
		programs := make([]*gpu.Program, len(candidates))
		for i, v := range candidates {
			programs[i] = k.specialise(v, floats, n.fresh, n.params)
		}
		v = candidates[c.Choose(programs)]
	}
	return k.specialise(v, floats, n.fresh, n.params), v.Groups(n.params)
}

// Program returns the program and the workgroups of the preferred variant on a device, in plans
// whose floats are stored as F32 or F16. Tests ask for it.
func (k *Kernel) Program(info gpu.Info, floats gpu.ElementType, params any) (*gpu.Program, [3]int) {
	stored := full
	if floats == gpu.F16 {
		stored = short
	}
	v := k.candidates(info, params)[0]
	return k.specialise(v, stored, false, params), v.Groups(params)
}

// candidates are the variants that run on a device, the preferred one first.
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

// Preferred says whether a device prefers one of the kernel's variants.
func (k *Kernel) Preferred(info gpu.Info, params any) bool {
	return slices.ContainsFunc(k.Variants, func(v Variant) bool {
		return (v.Runs == nil || v.Runs(info, params)) && (v.Prefers == nil || v.Prefers(info, params))
	})
}

// tooMany says whether there are more workgroups than WebGPU allows.
func tooMany(groups [3]int) bool { return slices.Max(groups[:]) > mostGroups }
