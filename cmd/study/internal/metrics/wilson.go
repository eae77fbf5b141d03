package metrics

import (
	"fmt"
	"math"
)

// Wilson is the 95 % interval of a share, 0..1, that was observed in successes of n trials (Wilson
// 1927, without continuity correction). It is NaN for n = 0.
func Wilson(successes, n int) (low, high float64) {
	if successes < 0 || successes > n {
		panic(fmt.Sprintf("metrics: Wilson: %d of %d", successes, n))
	}
	const z = 1.959963984540054 // the normal distribution's 97.5 percentile
	all, share := float64(n), float64(successes)/float64(n)
	middle := (share + z*z/(2*all)) / (1 + z*z/all)
	half := z / (1 + z*z/all) * math.Sqrt(share*(1-share)/all+z*z/(4*all*all))
	low, high = max(0, middle-half), min(1, middle+half)
	switch { // exactly 0 and 1 by the formula, but for rounding
	case n == 0:
	case successes == 0:
		low = 0
	case successes == n:
		high = 1
	}
	return low, high
}
