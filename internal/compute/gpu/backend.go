package gpu

import "fmt"

// What the backends on WebGPU have in common. B is a backend's own type of buffer.

// Own returns the device's buffer behind a buffer or view, and the byte of it at which that begins.
// state says whether the buffer is the device's, and whether it was released.
func Own[B Buffer](b Buffer, state func(B) (mine, released bool)) (own B, from int, err error) {
	whole, first := Whole(b)
	own, ok := whole.(B)
	mine, released := false, false
	if ok {
		mine, released = state(own)
	}
	switch {
	case !mine:
		return own, 0, fmt.Errorf("%w: a buffer of another device", ErrValidation)
	case released:
		return own, 0, fmt.Errorf("%w: buffer %q was released", ErrValidation, own.Spec().Label)
	}
	return own, first * own.Spec().Type.Size(), nil
}

// CheckCommands checks commands before they are recorded. It returns the uniform parameters of the
// dispatches among them, ParamsStride bytes for each, and how many of these bytes each dispatch
// has.
func CheckCommands[B Buffer](
	commands []Command, limits Limits, prepared func(*Program) bool, own func(Buffer) (B, int, error),
) (params []byte, sizes []int, err error) {
	for i, c := range commands {
		if err := c.Validate(limits); err != nil {
			return nil, nil, fmt.Errorf("command %d: %w", i, err)
		}
		if c.Program == nil {
			if _, _, err := own(c.Clear); err != nil {
				return nil, nil, fmt.Errorf("command %d: %w", i, err)
			}
			continue
		}
		if !prepared(c.Program) {
			return nil, nil, fmt.Errorf("%w: command %d: %s was recorded but never prepared", ErrValidation, i, c.Program.Name)
		}
		for at, b := range c.Arguments {
			if _, _, err := own(b); err != nil {
				return nil, nil, fmt.Errorf("command %d: %s: argument %d: %w", i, c.Program.Name, at, err)
			}
		}
		encoded, err := EncodeParams(c.Params)
		if err != nil {
			return nil, nil, err
		}
		sizes = append(sizes, len(encoded))
		params = append(append(params, encoded...), make([]byte, ParamsStride-len(encoded))...)
	}
	return params, sizes, nil
}

// Piece is one copy of a read: bytes [From, From+Size) of a buffer, both multiples of four. Dst
// takes the bytes from Skip on.
type Piece[B Buffer] struct {
	Buffer           B
	From, Size, Skip int
	Dst              []byte
}

// Pieces checks ranges and cuts them into pieces of up to most bytes.
func Pieces[B Buffer](ranges []Range, most int, own func(Buffer) (B, int, error)) (pieces []Piece[B], err error) {
	for _, r := range ranges {
		b, begin, err := own(r.Buffer)
		if err != nil {
			return nil, err
		}
		spec := r.Buffer.Spec()
		if err := spec.ValidateRead(r.Offset, len(r.Dst)); err != nil {
			return nil, err
		}
		for from, dst := begin+r.Offset*spec.Type.Size(), r.Dst; len(dst) > 0; {
			skip := from % 4
			n := min(len(dst), most-skip)
			pieces = append(pieces, Piece[B]{Buffer: b, From: from - skip, Size: (skip + n + 3) / 4 * 4, Skip: skip, Dst: dst[:n]})
			from, dst = from+n, dst[n:]
		}
	}
	return pieces, nil
}

// Batch returns the number of the first pieces that together have up to most bytes, and their
// bytes.
func Batch[B Buffer](pieces []Piece[B], most int) (n, total int) {
	for n < len(pieces) && total+pieces[n].Size <= most {
		total += pieces[n].Size
		n++
	}
	return n, total
}

// Deliver copies bytes, which hold one piece after the other, to the pieces' destinations.
func Deliver[B Buffer](pieces []Piece[B], bytes []byte) {
	for _, p := range pieces {
		copy(p.Dst, bytes[p.Skip:p.Size])
		bytes = bytes[p.Size:]
	}
}

// WholeWords returns src with zeros up to the next 32-bit word. Only a write of I8 up to the end of
// a buffer needs them: the buffer has padding there.
func WholeWords(src []byte) []byte {
	if n := len(src) % 4; n != 0 {
		return append(append([]byte(nil), src...), make([]byte, 4-n)...)
	}
	return src
}
