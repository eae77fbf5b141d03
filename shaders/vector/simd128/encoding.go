package main

import "encoding/binary"

// unsigned and signed are WebAssembly's integers of variable length.
func unsigned(v int) code { return binary.AppendUvarint(nil, uint64(v)) }

func signed(v int) code {
	var all code
	for {
		b := byte(v & 0x7F)
		v >>= 7
		if v == 0 && b&0x40 == 0 || v == -1 && b&0x40 != 0 {
			return append(all, b)
		}
		all = append(all, b|0x80)
	}
}

// list is a vector in WebAssembly's sense. sized is content with its length before it.
func list(items []code) code {
	all := unsigned(len(items))
	for _, i := range items {
		all = append(all, i...)
	}
	return all
}

func sized(c code) code     { return append(unsigned(len(c)), c...) }
func text(name string) code { return sized(code(name)) }

func section(number byte, items ...code) code { return append(code{number}, sized(list(items))...) }

// bytes returns the module in binary.
func (m *module) bytes() []byte {
	var types, indices, exports, bodies []code
	for i, f := range m.functions {
		types = append(types, append(append(code{0x60}, sized(f.parameters)...), sized(f.result)...))
		indices = append(indices, unsigned(i))
		exports = append(exports, append(append(text(f.name), 0x00), unsigned(i)...))
		var locals []code
		for _, kind := range f.locals {
			locals = append(locals, code{1, kind})
		}
		bodies = append(bodies, sized(append(append(list(locals), f.body...), end)))
	}
	all := []byte("\x00asm\x01\x00\x00\x00")
	// A memory of any size. shaders/vector replaces this declaration by that of a shared memory,
	// which has as many bytes.
	memory := append(append(text("env"), text("mem")...), 0x02, 0x00, 0x80, 0x80, 0x80, 0x00)
	for _, s := range []code{
		section(1, types...), section(2, memory), section(3, indices...), section(7, exports...), section(10, bodies...),
	} {
		all = append(all, s...)
	}
	return all
}
