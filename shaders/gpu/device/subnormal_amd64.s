#include "textflag.h"

// func exchangeControl(control uint32) (before uint32)
TEXT ·exchangeControl(SB), NOSPLIT, $8-12
	STMXCSR saved-8(SP)
	MOVL    saved-8(SP), AX
	MOVL    AX, before+8(FP)
	LDMXCSR control+0(FP)
	RET
