package main

import (
	"encoding/binary"
	"math"
)

// code is a sequence of WebAssembly instructions. A value is code that leaves one number.
type code []byte

type value interface{ code() code }

func (c code) code() code { return c }

// variable is a parameter or a local of a function.
type variable struct {
	f     *function
	index int
}

func (v *variable) code() code { return append(code{0x20}, unsigned(v.index)...) }

func (v *variable) set(to value) {
	v.f.emit(to.code(), append(code{0x21}, unsigned(v.index)...))
}

// The types of numbers.
const (
	i32  = 0x7F
	f32  = 0x7D
	v128 = 0x7B
)

// module is a list of functions that work on an imported memory.
type module struct {
	relaxed   bool // with relaxed_madd
	functions []*function
}

// function is an exported function.
type function struct {
	*module
	name       string
	parameters []byte // types
	result     []byte
	locals     []byte
	body       code
}

func (m *module) function(name string, result ...byte) *function {
	f := &function{module: m, name: name, result: result}
	m.functions = append(m.functions, f)
	return f
}

// parameter adds a parameter. Parameters come before all locals.
func (f *function) parameter(kind byte) *variable {
	f.parameters = append(f.parameters, kind)
	return &variable{f, len(f.parameters) - 1}
}

func (f *function) local(kind byte) *variable {
	f.locals = append(f.locals, kind)
	return &variable{f, len(f.parameters) + len(f.locals) - 1}
}

func (f *function) emit(parts ...code) {
	for _, p := range parts {
		f.body = append(f.body, p...)
	}
}

const end = 0x0B

// when writes code that runs if the condition holds.
func (f *function) when(condition value, do func()) {
	f.emit(condition.code(), code{0x04, 0x40}) // if
	do()
	f.emit(code{end})
}

// otherwise follows when, for the other case.
func (f *function) otherwise(do func()) {
	f.body[len(f.body)-1] = 0x05 // else, for when's end
	do()
	f.emit(code{end})
}

// while writes a loop that runs as long as the condition holds. The condition is tested before the
// loop and at the end of every turn.
func (f *function) while(condition value, do func()) {
	f.when(condition, func() {
		f.emit(code{0x03, 0x40}) // loop
		do()
		f.emit(condition.code(), code{0x0D, 0, end}) // branch to the loop's beginning, if
	})
}

// repeat writes a loop that ends when count is 0. Every turn takes step from count.
func (f *function) repeat(count *variable, step int, do func()) {
	f.while(count, func() {
		do()
		count.set(minus(count, integer(step)))
	})
}

// apply is the code of the operands, and then the instruction.
func apply(instruction code, on ...value) code {
	var all code
	for _, v := range on {
		all = append(all, v.code()...)
	}
	return append(all, instruction...)
}

// Single numbers.
func integer(v int) code            { return append(code{0x41}, signed(v)...) }
func plus(a, b value) code          { return apply(code{0x6A}, a, b) }
func minus(a, b value) code         { return apply(code{0x6B}, a, b) }
func leftBy(a value, bits int) code { return apply(code{0x74}, a, integer(bits)) }
func times(a, b value) code         { return apply(code{0x6C}, a, b) }
func quarter(a value) code          { return apply(code{0x75}, a, integer(2)) }
func toFloat(a value) code          { return apply(code{0xB2}, a) }
func equal(a, b value) code         { return apply(code{0x46}, a, b) }
func atLeast(a, b value) code       { return apply(code{0x4E}, a, b) }

// vector is an instruction of SIMD128.
func vector(number int) code { return append(code{0xFD}, unsigned(number)...) }

// access is an instruction on memory at an address plus offset.
func access(number, offset int) code {
	const alignment = 2 // logarithm of the alignment of float32
	return append(append(vector(number), unsigned(alignment)...), unsigned(offset)...)
}

// load loads four float32. splat loads one into all lanes. alone loads one into the first lane, and
// 0 into the others.
func load(from value, offset int) code  { return apply(access(0x00, offset), from) }
func splat(from value, offset int) code { return apply(access(0x09, offset), from) }
func alone(from value) code             { return apply(access(0x5C, 0), from) }

func (f *function) store(to value, offset int, v value) {
	f.emit(apply(access(0x0B, offset), to, v))
}

// storeFirst stores the first lane.
func (f *function) storeFirst(to value, v value) {
	f.emit(apply(append(access(0x5A, 0), 0), to, v))
}

// constant and integers have a number in every lane.
func constant(v float64) code { return integers(math.Float32bits(float32(v))) }

func integers(v uint32) code {
	all := vector(0x0C)
	for range 4 {
		all = binary.LittleEndian.AppendUint32(all, v)
	}
	return all
}

// Float32 in every lane.
func everywhere(a value) code      { return apply(vector(0x13), a) }
func add(a, b value) code          { return apply(vector(0xE4), a, b) }
func sub(a, b value) code          { return apply(vector(0xE5), a, b) }
func mul(a, b value) code          { return apply(vector(0xE6), a, b) }
func div(a, b value) code          { return apply(vector(0xE7), a, b) }
func squareRoot(a value) code      { return apply(vector(0xE3), a) }
func absolute(a value) code        { return apply(vector(0xE0), a) }
func less(a, b value) code         { return apply(vector(0x43), a, b) }
func choose(a, b, mask value) code { return apply(vector(0x52), a, b, mask) }

// larger is b where b > a or b is NaN, and otherwise a.
func larger(a, b value) code { return choose(b, a, or(less(a, b), apply(vector(0x42), b, b))) }

// raise is b where a < b, and otherwise a. lower is b where b < a, and otherwise a. A NaN in a
// stays.
func raise(a, b value) code { return apply(vector(0xEB), a, b) }
func lower(a, b value) code { return apply(vector(0xEA), a, b) }

// Int32 in every lane.
func addInt(a, b value) code         { return apply(vector(0xAE), a, b) }
func leftInt(a value, bits int) code { return apply(vector(0xAB), a, integer(bits)) }

func subInt(a, b value) code      { return apply(vector(0xB1), a, b) }
func mostInt(a, b value) code     { return apply(vector(0xB8), a, b) }
func rightInt(a, bits value) code { return apply(vector(0xAC), a, bits) }

// dot multiplies and adds up pairs of 16-bit integers.
func dot(a, b value) code { return apply(vector(0xBA), a, b) }

// Bytes in every lane. dotBytes adds a times b to the integers c. All of b must be 0 … 127.
func opposite(a value) code       { return apply(vector(0x61), a) }
func subBytes(a, b value) code    { return apply(vector(0x71), a, b) }
func mostBytes(a, b value) code   { return apply(vector(0x78), a, b) }
func or(a, b value) code          { return apply(vector(0x50), a, b) }
func signs(a value) code          { return apply(vector(0x64), a) } // one bit for each lane
func dotBytes(a, b, c value) code { return apply(vector(0x113), a, b, c) }

// Between integers and float32. toInts takes whole numbers below 2³¹. The result of a NaN is
// undefined.
func toFloats(a value) code { return apply(vector(0xFA), a) }
func nearest(a value) code  { return apply(vector(0x6A), a) }

func (m *module) toInts(a value) code {
	if m.relaxed {
		return apply(vector(0x101), a)
	}
	return apply(vector(0xF8), a)
}

// eightBytes loads int8 as 16-bit integers, and fourBytes loads int8 as float32.
func eightBytes(from value) code { return apply(access(0x01, 0), from) }

func fourBytes(from value) code {
	return toFloats(apply(append(vector(0x87), vector(0xA7)...), alone(from)))
}

// narrow converts 32-bit integers to int8 and clamps them.
func narrow(a, b, c, d value) code {
	return apply(vector(0x65), apply(vector(0x85), a, b), apply(vector(0x85), c, d))
}

// loadLane is v with the float32 at an address plus offset in one lane.
func loadLane(from value, offset int, v value, number int) code {
	return apply(append(access(0x56, offset), byte(number)), from, v)
}

// lane is a single float32 of a vector. together is the sum of all four.
func lane(a value, number int) code { return apply(append(vector(0x1F), byte(number)), a) }

func together(a value) code {
	sum := func(a, b value) code { return apply(code{0x92}, a, b) }
	return sum(sum(lane(a, 0), lane(a, 1)), sum(lane(a, 2), lane(a, 3)))
}

// madd is a b + c.
func (m *module) madd(a, b, c value) code {
	if m.relaxed {
		return apply(vector(0x105), a, b, c)
	}
	return add(mul(a, b), c)
}
