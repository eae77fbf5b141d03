package vector

import "golang.org/x/sys/cpu"

func levels() (all []*Level) {
	x := &cpu.X86
	if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL {
		all = append(all, avx512)
	}
	if x.HasAVX2 && x.HasFMA {
		all = append(all, avx2)
	}
	return all
}

type assembled = func(k int, a *float32, row, step int, b, c *float32, stride int, add bool)

var (
	avx512 = &Level{Name: "AVX-512", rows: 12, columns: 32, most: 12, terms: terms, elements: true, product: assembly([]assembled{
		productAVX512x1, productAVX512x2, productAVX512x3, productAVX512x4, productAVX512x5, productAVX512x6,
		productAVX512x7, productAVX512x8, productAVX512x9, productAVX512x10, productAVX512x11, productAVX512x12,
	})}
	avx2 = &Level{Name: "AVX2", rows: 6, columns: 16, most: 6, terms: terms, elements: true, product: assembly([]assembled{
		productAVX2x1, productAVX2x2, productAVX2x3, productAVX2x4, productAVX2x5, productAVX2x6,
	})}
)

// assembly chooses the product for a number of rows.
func assembly(products []assembled) func(k int, a []float32, row, step int, b, c []float32, stride, rows int, add bool) {
	return func(k int, a []float32, row, step int, b, c []float32, stride, rows int, add bool) {
		products[rows-1](k, &a[0], row, step, &b[0], &c[0], stride, add)
	}
}
