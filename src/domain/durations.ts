import { z } from 'zod'

/** From the longest to the shortest, which is the order in a compound duration. */
const UNITS = { d: 86_400, h: 3_600, m: 60, s: 1, ms: 0.001 } as const
const AMOUNT = String.raw`(\d{1,10}(?:\.\d{1,10})?)\s*`
const COMPOUND = new RegExp(
  `^${Object.keys(UNITS)
    .map((unit) => `(?:${AMOUNT}${unit}\\s*)?`)
    .join('')}$`,
)
const PLAIN = new RegExp(`^${AMOUNT}$`)
const WANTED = 'must be seconds, or text like 90s, 5m, 2h, 1d or 1h30m'

/** Parses `90`, `90s`, `1.5m`, `2h`, `1d` or `1h30m` to seconds; undefined for any other text. */
export function parseDuration(text: string): number | undefined {
  const written = text.trim()
  const plain = PLAIN.exec(written)
  if (plain) return Number(plain[1])
  const [, ...amounts] = COMPOUND.exec(written) ?? []
  if (amounts.every((amount) => amount === undefined)) return undefined
  const sum = Object.values(UNITS).reduce((total, unit, at) => total + Number(amounts[at] ?? 0) * unit, 0)
  // Sums of binary fractions have a rest: 1.1 + 0.002 is not 1.102.
  return Number(sum.toFixed(6))
}

const DURATIONS = new WeakSet<z.ZodType>()

/** Whether it is a schema that `duration` has made. */
export function isDuration(schema: z.ZodType): boolean {
  return DURATIONS.has(schema)
}

const given = z.union([z.number(), z.string()], WANTED)

/** The schema of a number of seconds with these bounds that may also be given as text, such as `90s` or `1h30m`. */
export function duration(bounds: z.ZodNumber): z.ZodType<number, number | string> {
  const { $schema: _, type: __, ...described } = z.toJSONSchema(bounds)
  const read = given.transform((written, context) => {
    const value = typeof written === 'string' ? parseDuration(written) : written
    if (value !== undefined) return value
    context.addIssue({ code: 'custom', message: WANTED })
    return z.NEVER
  })
  // JSON Schema describes what may be given by the first part of a pipe, which has no bounds.
  const schema = read.pipe(bounds).meta(described)
  DURATIONS.add(schema)
  return schema
}
