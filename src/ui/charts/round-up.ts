/** To 1, 2 or 5 times a power of ten. */
export function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value))
  return power * (value <= power ? 1 : value <= 2 * power ? 2 : value <= 5 * power ? 5 : 10)
}
