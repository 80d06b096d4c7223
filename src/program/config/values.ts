import { z } from 'zod'
import { isIP } from 'node:net'
import { FOREVER, parseRetention, type Retention } from '../../domain/retention.ts'
import { AGENT_VOLUMES_MAX, NAME_LENGTH_MAX, VOLUME_PROJECTS_MAX } from '../../domain/limits.ts'
import { VOLUME_NAME, VOLUME_NAME_RULE } from '../../domain/session/mounts.ts'
import { parseAmount } from '../../domain/amounts.ts'

export interface Documentation {
  name: `REPRISE_${string}` | `OTEL_${string}` | `AWS_${string}`
  /** The default, as written in the documentation. */
  default: string
  meaning: string
  /** Null if the value is not a quantity. */
  unit: string | null
}

export interface Variable<T> extends Documentation {
  schema: z.ZodType<T>
}

export function variable<T>(options: Variable<T>): Variable<T> {
  return options
}

export function oneOf(words: readonly string[]): string {
  return words.map((word) => `\`${word}\``).join(', ')
}

export function wholeNumber(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`
  return z
    .string()
    .regex(/^\d+$/, { error, abort: true })
    .transform(Number)
    .pipe(z.number().min(min, { error }).max(max, { error }))
}

export function yesOrNo() {
  return z.enum(['true', 'false']).transform((text) => text === 'true')
}

export function collector() {
  return z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' })
}

export function list<T extends string>(item: z.ZodType<T, string>) {
  const split = (text: string) => [...new Set(text.split(',').map((part) => part.trim()))]
  return z.string().transform(split).pipe(z.array(item))
}

export function retention() {
  const error = 'must be like `90d`, `100000`, `90d,100000` or `forever`'
  return z.string().transform((text, context): Retention => {
    const parsed = parseRetention(text)
    if (!parsed) context.addIssue(error)
    return parsed ?? FOREVER
  })
}

export function network() {
  return z.string().refine(isNetwork, { error: ({ input }) => `\`${String(input)}\` is not like 10.1.0.0/16` })
}

export function labels() {
  return z.string().transform(parseLabels)
}

export function slots() {
  return z.string().transform(parseSlots)
}

const GPU_UUID = /^(?:GPU|MIG)-[A-Za-z0-9-]{1,64}$|^card\d+$/

/** An agent within a kernel finds the kernel's own GPUs in its environment, as JSON. */
export function gpus() {
  const error = 'must be `auto`, `off`, or UUIDs like `GPU-5d5ba0d6-0000-1111-2222-333344445555`'
  return z.string().transform((text, context): 'auto' | 'off' | string[] => {
    if (text === 'auto' || text === 'off') return text
    const uuids = text.startsWith('[') ? uuidsIn(text) : text.split(',').map((part) => part.trim())
    if (uuids === null || !uuids.every((uuid) => GPU_UUID.test(uuid))) context.addIssue(error)
    return uuids === null || uuids.length === 0 ? 'off' : uuids
  })
}

function uuidsIn(json: string): string[] | null {
  try {
    return z
      .array(z.object({ uuid: z.string() }))
      .parse(JSON.parse(json))
      .map(({ uuid }) => uuid)
  } catch {
    return null
  }
}

export function bytesOrNone() {
  const error = 'must be like 64g, or none'
  return z.string().transform((text, context): number | null => {
    if (text === 'none') return null
    const bytes = Number(parseAmount('mem', text))
    if (!Number.isSafeInteger(bytes) || bytes === 0) context.addIssue(error)
    return bytes
  })
}

export function byteAmount(max: number, min = 1) {
  const error = 'must be like 64m, and not too large'
  return z.string().transform((text, context): number => {
    const amount = Number(parseAmount('mem', text))
    if (!Number.isSafeInteger(amount) || amount < min || amount > max) context.addIssue(error)
    return amount
  })
}

export function countOrNone(max: number) {
  return z.union([z.literal('none').transform(() => null), wholeNumber(1, max)], {
    error: `must be a whole number from 1 to ${max}, or none`,
  })
}

/** Parses a range of user ids. They are positive, because 0 is root. */
export function uidRange() {
  const error = 'must be like 100000-165535'
  return z.string().transform((text, context) => {
    const [, first, last] = /^(\d{1,10})-(\d{1,10})$/.exec(text)?.map(Number) ?? []
    const fits = first !== undefined && last !== undefined && first > 0 && first <= last && last < 2 ** 31
    if (!fits) context.addIssue(error)
    return { first: first ?? 0, last: last ?? 0 }
  })
}

export function jsonOf<Schema extends z.ZodType>(schema: Schema) {
  return z
    .string()
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text)
      } catch {
        context.addIssue('must be JSON')
        return z.NEVER
      }
    })
    .pipe(schema)
}

export function absolutePaths() {
  const split = (text: string) => text.split(':').filter(Boolean)
  const error = 'must be absolute paths, separated by colons'
  return z
    .string()
    .transform(split)
    .pipe(z.array(z.string().startsWith('/', { error })))
}

function isNetwork(text: string): boolean {
  const [, address = '', prefix = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? []
  const version = isIP(address)
  return version !== 0 && Number(prefix) <= (version === 4 ? 32 : 128)
}

function parseLabels(text: string, context: z.RefinementCtx<string>): Record<string, string> {
  const read: Record<string, string> = {}
  for (const part of text.split(',')) {
    const [, key, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(part) ?? []
    if (key === undefined) context.addIssue(`\`${part}\` is not like zone=a`)
    else read[key] = value!
  }
  return read
}

function parseSlots(text: string, context: z.RefinementCtx<string>): Record<string, string> {
  const read: Record<string, string> = {}
  for (const part of text.split(',')) {
    const [, slot, written] = /^\s*([\w.-]+)\s*=\s*(\S+)\s*$/.exec(part) ?? []
    const amount = slot === undefined ? undefined : parseAmount(slot, written!)
    if (amount === undefined) context.addIssue(`\`${part}\` is not like cpu=4 or mem=8g`)
    else read[slot!] = amount
  }
  return read
}

/** Directories of this machine that kernels can have, by name. */
export function volumes() {
  const volume = z.strictObject({
    source: z.string().regex(/^(\/[^/,:\p{Cc}]+)+$/u, 'must be an absolute path'),
    readOnly: z.boolean().default(false),
    projects: z.array(z.string().min(1).max(NAME_LENGTH_MAX)).max(VOLUME_PROJECTS_MAX).nullable().default(null),
  })
  const byName = z
    .record(z.string().regex(VOLUME_NAME, VOLUME_NAME_RULE), volume)
    .refine((all) => Object.keys(all).length <= AGENT_VOLUMES_MAX, `must be at most ${AGENT_VOLUMES_MAX}`)
  return jsonOf(byName).transform((all) => Object.entries(all).map(([name, each]) => ({ name, ...each })))
}
