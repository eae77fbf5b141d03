// Values that cmd/bundle fills in: the program's version, the shortened limits of each shipped
// model from its card, and the SHA-256 of each script of the worker.
export const version = "/*VERSION*/";
export const limits = /*LIMITS*/ {};
export const scripts = /*SCRIPTS*/ {};
