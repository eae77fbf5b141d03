package masks

// Floats are formats of the programs alone.
var Floats []Format
