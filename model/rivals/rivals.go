// Package rivals has other ways to learn from several raters, each on the paper's encoder and
// decoder, which package model has. A file is a method: its comment names the paper and what
// differs from it. parts.go has what several of them use. A program that imports the package knows
// the methods (model.Methods).
package rivals

import "mrprism/model"

func init() {
	model.Methods = []*model.Method{
		&wdNet, &crowdLayer, &aggNet, &confusion, &pixelConfusion, &maxMIG, &diagnosisFirst, &mrNet, &randomRater, &hypotheses, &pionono, &padl, &tab,
		&agNet, &beal, &pOSAL,
	}
}
