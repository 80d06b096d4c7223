/** Used share of the capacity, 0 if there is no capacity. Amounts are decimals as text. */
export function utilisation(used: string, capacity: string): number {
  const whole = Number(capacity)
  return whole === 0 ? 0 : Number(used) / whole
}
