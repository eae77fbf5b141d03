package metric

import "math"

// BlandAltman is the mean difference of two readers over several units, such as patients, with its
// 95 % interval by Student's t, and the 95 % limits of agreement: the mean less and plus 1.96
// standard deviations of a single difference (Bland and Altman 1986). A unit has one difference or
// more; the variance is the sum of that between units and that within them (Bland and Altman 2007).
// Fewer than two units have neither interval nor limits, and without a unit the mean is NaN.
func BlandAltman(units [][]float64) (bias Interval, limits []float64) {
	var means []float64
	n, all, squares, within, grand, between := float64(len(units)), 0., 0., 0., 0., 0.
	for _, values := range units {
		m, mean := float64(len(values)), Mean(values)
		means, all, squares, grand = append(means, mean), all+m, squares+m*m, grand+m*mean
		for _, v := range values {
			within += square(v - mean)
		}
	}
	bias = Interval{Mean: Mean(means), N: len(units)}
	if n < 2 {
		return bias, nil
	}
	for i, values := range units {
		between += float64(len(values)) * square(means[i]-grand/all) / (n - 1)
	}
	if all > n {
		within /= all - n
	}
	spread := 1.96 * math.Sqrt(within+max(0, (between-within)*(n-1)*all/(all*all-squares)))
	half := StudentQuantile(.975, n-1) * Deviation(means) / math.Sqrt(n)
	bias.Low, bias.High = new(bias.Mean-half), new(bias.Mean+half)
	return bias, []float64{bias.Mean - spread, bias.Mean + spread}
}
