/** In the fields of an input, null counts as missing; not inside their values. */
export function withoutNulls<Input>(input: Input): Input {
  if (typeof input !== 'object' || input === null) return input
  const given = Object.entries(input).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(given) as Input
}
