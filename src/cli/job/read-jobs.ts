import { readFileSync } from 'node:fs'
import type { CreateSessionInput } from '../../client/node/index.ts'
import { messageOf } from '../../observability/error-message.ts'
import { SESSION_INPUT_FIELDS } from '../options/api-enums.generated.ts'
import { gpus, mounts } from '../options/session-options.ts'
import { future, type JobArray, jobArray, seconds } from '../options/values.ts'
import { UsageError } from '../present-error.ts'

/** A job in a file: fields of `CreateSessionInput`, and the array of sessions to create from it. */
export interface Job {
  /** Position in the file, for messages. */
  place: string
  fields: Partial<CreateSessionInput>
  /** Numbers that replace `{i}`; undefined for a single session, in which `{i}` is kept. */
  array: JobArray | undefined
}

type Entry = Readonly<Record<string, unknown>>
type Parse = (value: unknown) => unknown

type Field = keyof typeof SESSION_INPUT_FIELDS

/** Parsers of those fields for which people may write something else than the API takes. */
const FIELDS: Readonly<Partial<Record<Field, Parse>>> = {
  command: (value) => (typeof value === 'string' ? ['sh', '-c', value] : list(value)),
  environ: (value) => entries(value, 'name', 'value'),
  secretEnviron: (value) => entries(value, 'name', 'value'),
  labels: (value) => entries(value, 'key', 'value'),
  agentLabels: (value) => entries(value, 'key', 'value'),
  executorOptions: (value) => entries(value, 'key', 'value'),
  mounts: mountList,
  outputs: (value) => (Array.isArray(value) ? { paths: list(value) } : value),
  gpus: gpusOf,
  resourceSlots: (value) => entries(value, 'slot', 'amount'),
  startsAt: (value) => future(String(value instanceof Date ? value.toISOString() : value)),
  allowAgents: list,
  avoidAgents: list,
  excludeAgents: list,
  clusterMode: word,
  sessionType: word,
  dependsOn: list,
}

/** Parsers by the type of a field. Numbers with a fraction are durations in seconds, which may be written like `5m`. */
const TYPES: Readonly<Record<string, Parse>> = {
  String: text,
  Float: (value) => (typeof value === 'string' ? seconds(value) : value),
}

function parserOf(name: string): Parse | undefined {
  if (!Object.hasOwn(SESSION_INPUT_FIELDS, name)) return undefined
  const field = name as Field
  return FIELDS[field] ?? TYPES[SESSION_INPUT_FIELDS[field]] ?? asItIs
}

/** Takes `2` and `a100:2` as `--gpus` does. */
function gpusOf(value: unknown): unknown {
  if (typeof value !== 'number' && typeof value !== 'string') return value
  const { count, model } = gpus(String(value))
  return { count: Number(count), model }
}

/** Reads the jobs of a file. @throws UsageError */
export async function readJobs(path: string): Promise<Job[]> {
  return (await readEntries(path, { source: `--file ${path}`, what: 'jobs' })).map(({ place, value }) =>
    jobOf(value, `${path}:${place}`),
  )
}

/**
 * Reads the entries of a file, as JSON Lines or YAML depending on its name; `-` is standard input with JSON Lines.
 * @throws UsageError that begins with `source`
 */
export async function readEntries(
  path: string,
  { source: from, what }: { source: string; what: string },
): Promise<PlacedEntry[]> {
  const told = (error: unknown) => new UsageError(`${from}: ${messageOf(error)}`)
  let source: string
  try {
    source = readFileSync(path === '-' ? 0 : path, 'utf8')
  } catch (error) {
    throw told(error)
  }
  const read = /\.ya?ml$/i.test(path) ? yamlEntries : jsonEntries
  const found = await read(source).catch((error: unknown) => Promise.reject(told(error)))
  if (found.length === 0) throw told(new Error(`it has no ${what}`))
  return found
}

export interface PlacedEntry {
  /** Number of the line or of the entry. */
  place: number
  value: unknown
}

async function jsonEntries(source: string): Promise<PlacedEntry[]> {
  if (/^\s*\[/.test(source)) return (JSON.parse(source) as unknown[]).map((value, at) => ({ place: at + 1, value }))
  return source.split('\n').flatMap((line, at): PlacedEntry[] => {
    if (line.trim() === '') return []
    try {
      return [{ place: at + 1, value: JSON.parse(line) as unknown }]
    } catch (error) {
      throw new Error(`line ${at + 1}: ${messageOf(error)}`, { cause: error })
    }
  })
}

/** Reads a list of jobs, or documents of one job each. */
async function yamlEntries(source: string): Promise<PlacedEntry[]> {
  const { parseAllDocuments } = await import('yaml')
  const values = [...parseAllDocuments(source)].flatMap((document) => {
    const [error] = 'errors' in document ? document.errors : []
    if (error) throw error
    return document.toJS() as unknown
  })
  return values.filter((value) => value !== null).map((value, at) => ({ place: at + 1, value }))
}

function jobOf(value: unknown, place: string): Job {
  if (!isEntry(value)) throw new UsageError(`${place}: it must be an object`)
  const { array, ...given } = value
  const fields: Record<string, unknown> = {}
  try {
    for (const [name, content] of Object.entries(given)) {
      const parse = parserOf(name)
      if (!parse)
        throw new Error(`there is no field ${name}, but ${Object.keys(SESSION_INPUT_FIELDS).join(', ')} and array`)
      fields[name] = parse(content)
    }
    return {
      place,
      fields,
      array: array === undefined ? undefined : jobArray(typeof array === 'string' ? array : JSON.stringify(array)),
    }
  } catch (error) {
    throw new UsageError(`${place}: ${messageOf(error)}`)
  }
}

export function isEntry(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Parses volumes, written like `data:/data:ro` or as in the API. */
function mountList(value: unknown): unknown {
  if (!Array.isArray(value)) return value
  return value.map((each: unknown) => (typeof each === 'string' ? mounts(each)[0] : each))
}

function asItIs(value: unknown): unknown {
  return value
}

function text(value: unknown): string {
  return String(value)
}

function word(value: unknown): string {
  return String(value).toUpperCase().replaceAll('-', '_')
}

function list(value: unknown): string[] {
  if (!Array.isArray(value)) throw new Error(`${JSON.stringify(value)} is not a list`)
  return value.map(String)
}

/** Parses a list in the form of the API, or an object with names and values. */
function entries(value: unknown, key: string, content: string): unknown {
  if (!isEntry(value)) return value
  return Object.entries(value).map(([name, amount]) => ({ [key]: name, [content]: String(amount) }))
}
