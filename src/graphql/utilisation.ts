/** Share that is in use, of decimals as text; 0 where there is nothing. */
export function utilisation(used: string, capacity: string): number {
  const whole = Number(capacity)
  return whole === 0 ? 0 : Number(used) / whole
}
