// What cmd/bundle fills in: the program's version, of each model that ships the limits that its
// card names, shortened, and the SHA-256 of each script of the worker.
export const version = "/*VERSION*/";
export const limits = /*LIMITS*/{};
export const scripts = /*SCRIPTS*/{};
