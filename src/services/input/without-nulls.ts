type WithoutNulls<Input> = Input extends object ? { [Name in keyof Input]?: NonNullable<Input[Name]> } : Input

/** Removes fields that are null, which counts as missing; their values are left as they are. */
export function withoutNulls<Input>(input: Input): WithoutNulls<Input> {
  if (typeof input !== 'object' || input === null) return input as WithoutNulls<Input>
  const given = Object.entries(input).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(given) as WithoutNulls<Input>
}
