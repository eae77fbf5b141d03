package gpu

import (
	"fmt"
	"math"
)

// Every backend makes these checks before it calls its library. On invalid arguments some libraries
// abort the process, and others return nothing. A failed check is an ErrValidation; an allocation
// beyond the limits is an ErrOutOfMemory.

// Validate checks that a device with these limits can hold the buffer.
func (s BufferSpec) Validate(limits Limits) error {
	if s.Elements < 1 || s.Type > F16 {
		return fmt.Errorf("%w: buffer %q: %d elements of type %d", ErrValidation, s.Label, s.Elements, s.Type)
	}
	if s.Elements > math.MaxInt/4 || uint64(s.Bytes()) > min(limits.BufferSize, limits.StorageBinding) {
		return fmt.Errorf("%w: buffer %q: %d elements of %s exceed the %d bytes a binding may have",
			ErrOutOfMemory, s.Label, s.Elements, s.Type, min(limits.BufferSize, limits.StorageBinding))
	}
	return nil
}

// ValidateWrite checks that n bytes can be written from element offset on. Devices write whole
// 32-bit words: I8 ranges begin and end at a multiple of four elements, F16 ranges of two. Either
// may also end at the end of the buffer.
func (s BufferSpec) ValidateWrite(offset, n int) error {
	if err := s.ValidateRead(offset, n); err != nil {
		return err
	}
	size := s.Type.Size()
	if offset*size%4 != 0 || n%4 != 0 && offset*size+n != s.Elements*size {
		return fmt.Errorf("%w: buffer %q: write of elements [%d, %d) of %s does not cover whole 32-bit words",
			ErrValidation, s.Label, offset, offset+n/size, s.Type)
	}
	return nil
}

// ValidateRead checks that n bytes can be read from element offset on.
func (s BufferSpec) ValidateRead(offset, n int) error {
	size := s.Type.Size()
	if n%size != 0 || offset < 0 || offset > s.Elements || n/size > s.Elements-offset {
		return fmt.Errorf("%w: buffer %q: %d bytes at element %d exceed %d elements of %s",
			ErrValidation, s.Label, n, offset, s.Elements, s.Type)
	}
	return nil
}

// Validate checks that a device with these limits can prepare the program.
func (p *Program) Validate(limits Limits) error {
	if p == nil || p.Entry == "" || p.Body == nil || p.Source == "" {
		return fmt.Errorf("%w: program %+v lacks source, entry point or body", ErrValidation, p)
	}
	if len(p.Arguments) > int(limits.StorageBuffersAStage) {
		return fmt.Errorf("%w: program %s has %d storage arguments, the device allows %d",
			ErrValidation, p.Name, len(p.Arguments), limits.StorageBuffersAStage)
	}
	return nil
}

// Validate checks that the command can be recorded: number of arguments, workgroups, parameters,
// and no two arguments that exclude each other.
func (c Command) Validate(limits Limits) error {
	if c.Program == nil {
		if c.Clear == nil {
			return fmt.Errorf("%w: a command with neither program nor buffer to clear", ErrValidation)
		}
		return nil
	}
	name := c.Program.Name
	if c.Clear != nil {
		return fmt.Errorf("%w: %s: a dispatch cannot also clear a buffer", ErrValidation, name)
	}
	if len(c.Arguments) != len(c.Program.Arguments) {
		return fmt.Errorf("%w: %s: %d arguments, the program takes %d", ErrValidation, name, len(c.Arguments), len(c.Program.Arguments))
	}
	for axis, n := range c.Groups {
		if n < 1 || n > int(limits.WorkgroupsADimension) {
			return fmt.Errorf("%w: %s: %d workgroups on axis %d, want 1 to %d", ErrValidation, name, n, axis, limits.WorkgroupsADimension)
		}
	}
	for i, b := range c.Arguments {
		if b == nil {
			return fmt.Errorf("%w: %s: argument %d is nil", ErrValidation, name, i)
		}
		for j := range i {
			if conflict(c.Arguments[j], b, c.Program.Arguments[j], c.Program.Arguments[i]) {
				return fmt.Errorf("%w: %s: arguments %d and %d, %q and %q, are of one buffer, and one of them writes what the other uses",
					ErrValidation, name, j, i, c.Arguments[j].Spec().Label, b.Spec().Label)
			}
		}
	}
	if _, err := EncodeParams(c.Params); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrValidation, name, err)
	}
	return nil
}
