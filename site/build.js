// What site/bundle fills in: the program's version, and of each model that ships the limits that its
// card names, shortened.
export const version = "/*VERSION*/";
export const limits = /*LIMITS*/{};
