// Package sharing changes a Go program for WebAssembly so that threads can share its memory. Go's
// linker cannot do that. See site/worker/vectors.js.
package sharing

import (
	"encoding/binary"
	"errors"
	"slices"
)

// ErrNotGo says that Go's linker did not write the program.
var ErrNotGo = errors.New("sharing: not a WebAssembly program with a memory of its own, without a limit")

const (
	header        = 8
	memorySection = 5
	shared        = 3 // a shared memory with a limit
	mostPages     = 65536
)

// Share returns the program with a shared memory of at most 4 GiB. It changes nothing in a program
// whose memory is shared already.
func Share(program []byte) ([]byte, error) {
	for at := header; at < len(program); {
		begin := at
		length, size := binary.Uvarint(program[at+1:])
		at += 1 + size + int(length)
		if size <= 0 || at > len(program) || at <= begin {
			break
		}
		if program[begin] != memorySection {
			continue
		}
		content := program[begin+1+size : at] // one memory, its flags, its least size
		if len(content) < 3 || content[0] != 1 {
			break
		}
		switch content[1] {
		case shared:
			return program, nil
		case 0:
			limits := binary.AppendUvarint(append([]byte{1, shared}, content[2:]...), mostPages)
			section := append([]byte{memorySection, byte(len(limits))}, limits...)
			return slices.Concat(program[:begin], section, program[at:]), nil
		}
		break
	}
	return nil, ErrNotGo
}
