/** Null counts as not given, in the fields of an input; not within them. */
export function withoutNulls<Input>(input: Input): Input {
  if (typeof input !== 'object' || input === null) return input
  const given = Object.entries(input).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(given) as Input
}
