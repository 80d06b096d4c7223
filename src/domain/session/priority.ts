/** From 0 to 100; the higher is placed first. */
export const PRIORITY_DEFAULT = 10
