package tensor

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"

	"mrprism/shaders/gpu"
)

// Role says what a variable is for.
type Role uint8

// Roles of variables.
const (
	Parameter Role = iota // learned; saved with the weights
	Statistic             // running statistics of batch norm; saved with the weights
	Moment                // the optimiser's state; saved in checkpoints
	Shared                // passed from plan to plan: features, estimates
)

// learned says that a variable is part of a model's weights.
func (r Role) learned() bool { return r == Parameter || r == Statistic }

// Variable is a tensor that outlasts plans.
type Variable struct {
	Name  string
	Shape []int
	Type  gpu.ElementType
	Role  Role

	Initial Initialiser // draws one element's first value; nil: zero
	Rate    float64     // multiplies a parameter's learning rate; 0: as 1

	block   *Variable // the block in which it lies, from element first on; nil: it lies alone
	first   int
	members []*Variable // of a block
}

// Initialiser draws the first value of element i.
type Initialiser func(i int, r *rand.Rand) float64

// values draws the first values of all elements. They depend on the seed and the name, not on other
// variables.
func (v *Variable) values(seed uint64) []float32 {
	h := fnv.New64a()
	_, _ = io.WriteString(h, v.Name)
	r := rand.New(rand.NewPCG(seed, h.Sum64()))
	out := make([]float32, v.Elements())
	for i := range out {
		out[i] = float32(v.Initial(i, r))
	}
	return out
}

// Elements is the number of elements.
func (v *Variable) Elements() int { return elements(v.Shape) }

// Set holds variables by name, in the order in which they were made, and their buffers on one
// device.
type Set struct {
	floats  gpu.ElementType // of float variables
	order   []*Variable
	names   map[string]*Variable
	device  gpu.Device
	buffers map[*Variable]gpu.Buffer
	version int // grows when a learned variable is written
}

// NewSet returns an empty set.
func NewSet() *Set {
	return &Set{names: map[string]*Variable{}, buffers: map[*Variable]gpu.Buffer{}}
}

// Floats is the type in which the set stores float variables: F32, unless Store has changed it.
func (s *Set) Floats() gpu.ElementType { return s.floats }

// Store makes F32 or F16 the type of all float variables, present and future. It returns an error
// if variables have memory of another type.
func (s *Set) Store(floats gpu.ElementType) error {
	if floats != s.floats && len(s.buffers) > 0 {
		return fmt.Errorf("tensor: the variables are stored as %s already, and cannot be as %s", s.floats, floats)
	}
	s.floats = floats
	for _, v := range s.order {
		if v.Type.IsFloat() {
			v.Type = floats
		}
	}
	return nil
}

// Variable makes a float variable, or returns the variable of that name. It panics if that variable
// has another shape or role.
func (s *Set) Variable(role Role, name string, shape ...int) *Variable {
	if v := s.names[name]; v != nil {
		if !slices.Equal(v.Shape, shape) || v.Role != role {
			panic(fmt.Sprintf("tensor: variable %s is %v, asked for as %v", name, v.Shape, shape))
		}
		return v
	}
	elements(shape)
	v := &Variable{Name: name, Shape: slices.Clone(shape), Type: s.floats, Role: role}
	s.names[name] = v
	s.order = append(s.order, v)
	return v
}

// Lookup is the variable of that name, or nil.
func (s *Set) Lookup(name string) *Variable { return s.names[name] }

// Variables lists those of the given roles, or all, in the order in which they were made.
func (s *Set) Variables(roles ...Role) []*Variable {
	var out []*Variable
	for _, v := range s.order {
		if len(roles) == 0 || slices.Contains(roles, v.Role) {
			out = append(out, v)
		}
	}
	return out
}

// Initialise writes first values to all variables that have an initialiser; call it after Allocate.
func (s *Set) Initialise(seed uint64) error {
	for _, v := range s.order {
		if v.Initial != nil {
			if err := s.Write(v, v.values(seed)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Allocate gives every variable that has none a zeroed buffer on the device.
func (s *Set) Allocate(ctx context.Context, device gpu.Device) error {
	if s.device != nil && s.device != device {
		return fmt.Errorf("tensor: the variables are on %v already", s.device.Info())
	}
	var missing []*Variable
	var specs []gpu.BufferSpec
	for _, v := range s.placed() {
		if s.buffers[v] == nil {
			missing = append(missing, v)
			specs = append(specs, gpu.BufferSpec{Label: v.Name, Type: v.Type, Elements: v.Elements()})
		}
	}
	if len(missing) == 0 {
		return nil
	}
	buffers, err := device.Allocate(ctx, specs)
	if err != nil {
		return fmt.Errorf("allocating memory for %d variables: %w", len(missing), err)
	}
	s.device = device
	for i, v := range missing {
		s.buffers[v] = buffers[i]
		for _, m := range v.members {
			s.buffers[m] = gpu.NewView(m.Name, buffers[i], m.first, m.Elements())
		}
	}
	return nil
}

// placed lists the variables with buffers of their own: blocks, and variables outside blocks.
func (s *Set) placed() []*Variable {
	var out []*Variable
	seen := map[*Variable]bool{}
	for _, v := range s.order {
		if v.block != nil {
			v = v.block
		}
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// Buffer is the variable's memory; nil before Allocate.
func (s *Set) Buffer(v *Variable) gpu.Buffer { return s.buffers[v] }

// Write replaces the value of a float variable on the device.
func (s *Set) Write(v *Variable, values []float32) error {
	if len(values) != v.Elements() {
		return fmt.Errorf("tensor: %s takes %d values, got %d", v.Name, v.Elements(), len(values))
	}
	b, err := encode(v.Name, v.Type, values)
	if err != nil {
		return err
	}
	if v.Role.learned() {
		s.version++
	}
	return s.device.Write(s.buffers[v], 0, b)
}

// Read returns the values of float variables from the device.
func (s *Set) Read(ctx context.Context, variables ...*Variable) ([][]float32, error) {
	buffers := make([]gpu.Buffer, len(variables))
	lengths := make([]int, len(variables))
	for i, v := range variables {
		buffers[i], lengths[i] = s.buffers[v], v.Elements()
	}
	return readFloats(ctx, s.device, buffers, lengths)
}

// Bytes is the memory of all variables on a device.
func (s *Set) Bytes() int64 {
	var n int64
	for _, v := range s.placed() {
		n += int64(gpu.BufferSpec{Type: v.Type, Elements: v.Elements()}.Bytes())
	}
	return n
}

// Release returns the buffers.
func (s *Set) Release() {
	for _, b := range s.buffers {
		b.Release()
	}
	clear(s.buffers)
	s.device = nil
}
